package winograd

import (
	"errors"
	"slices"
	"sync"

	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// transformedWeight is the constant that ops.WinogradWeight gives of a constant weight, or of that of its phases, evaluated by so many goroutines.
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
	u := tensor.NewOf(t[0])
	kernels := t[0].Shape[1] * t[0].Shape[2]
	parts := max(1, min(workers, kernels))
	var wg sync.WaitGroup
	errs := make([]error, parts)
	for p := range parts {
		wg.Go(func() {
			errs[p] = fault.Guard(func() error {
				of.Weights(u, weight, kernels*p/parts, kernels*(p+1)/parts)
				return nil
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return graph.NewConst(w.Name, u), nil
}
