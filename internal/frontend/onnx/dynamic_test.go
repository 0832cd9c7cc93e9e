package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// evalActual computes g's outputs on the oracle, cut to the extents that depend on data.
func evalActual(g *graph.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	extents, err := compose.ExtentsOf(g)
	if err != nil {
		return nil, err
	}
	counts := map[*graph.Value]int{}
	outputs, err := grapheval.Watch(g, inputs, func(n *graph.Node, _, out []*tensor.Tensor) error {
		for _, d := range compose.DynamicResults(n) {
			counts[n.Out[d.Count]] = int(out[d.Count].Int(0))
		}
		return nil
	})
	for i, o := range g.Outputs {
		for k, count := range extents[o] {
			if count != nil && err == nil {
				outputs[i] = firstOf(outputs[i], k, counts[count])
			}
		}
	}
	return outputs, err
}

// firstOf is the first n elements of x along an axis.
func firstOf(x *tensor.Tensor, axis, n int) *tensor.Tensor {
	shape := slices.Clone(x.Shape)
	shape[axis] = n
	y := tensor.New(x.DType, shape...)
	row := types.Count(shape[axis+1:]) * x.DType.Size()
	for o := range types.Count(shape[:axis]) {
		copy(y.Data[o*n*row:(o+1)*n*row], x.Data[o*x.Shape[axis]*row:])
	}
	return y
}
