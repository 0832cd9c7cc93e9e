package evaltest

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Actual is the reference's outputs of g, cut to the extents that depend on data.
func Actual(g *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	extents, err := compose.ExtentsOf(g)
	if err != nil {
		return nil, err
	}
	counts := map[*graph.Value]int{}
	outs, err := grapheval.Watch(g, in, func(n *graph.Node, _, out []*tensor.Tensor) error {
		for _, d := range compose.DynamicResults(n) {
			counts[n.Out[d.Count]] = int(out[d.Count].Int(0))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, v := range g.Outputs {
		for k, count := range extents[v] {
			if count != nil {
				outs[i] = first(outs[i], k, counts[count])
			}
		}
	}
	return outs, nil
}

// first is the first n elements of an axis.
func first(x *tensor.Tensor, axis, n int) *tensor.Tensor {
	shape := slices.Clone(x.Shape)
	shape[axis] = n
	y := tensor.New(x.DType, shape...)
	row := types.Count(shape[axis+1:]) * x.DType.Size()
	for i := range types.Count(shape[:axis]) {
		copy(y.Bytes()[i*n*row:(i+1)*n*row], x.Bytes()[i*x.Shape[axis]*row:])
	}
	return y
}
