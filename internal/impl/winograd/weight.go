package winograd

import (
	"fmt"
	"slices"
	"sync"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// transformedWeight is the constant that ops.WinogradWeight gives of a constant weight, or of that of its phases; so many goroutines
// evaluate it when its elements are asked for.
func transformedWeight(w *graph.Value, a ops.WinogradInputAttrs, workers int) (*graph.Value, error) {
	of, err := ops.WinogradOf(a.TileSize, a.KernelSize, a.Strides, a.Dilation)
	if err != nil {
		return nil, err
	}
	weight := of.PhaseWeight(w.Const.Reshape(slices.Concat(w.Type.Shape[:2], a.KernelSize)...))
	t, err := ops.WinogradWeight.Infer(ops.WinogradWeightAttrs{TileSize: a.TileSize}, []op.Arg{{Tensor: weight.Type()}})
	if err != nil {
		return nil, err
	}
	kernels := t[0].Shape[1] * t[0].Shape[2]
	parts := max(1, min(workers, kernels))
	how := fmt.Sprintf("winograd %v %v %v %v", a.TileSize, a.KernelSize, a.Strides, a.Dilation)
	return graph.NewConst(w.Name, tensor.Later(t[0].DType, t[0].Shape, weight, how, func(out []byte) {
		u := tensor.Over(t[0].DType, t[0].Shape, out)
		var wg sync.WaitGroup
		for p := range parts {
			wg.Go(func() { of.Weights(u, weight, kernels*p/parts, kernels*(p+1)/parts) })
		}
		wg.Wait()
	})), nil
}
