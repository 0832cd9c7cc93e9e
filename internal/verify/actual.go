package verify

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Actual cuts reference values to their actual extents, for comparison with the outputs of a compiled model. value gives
// the reference value of an extent.
func Actual(want *tensor.Tensor, axes []*graph.Value, value func(*graph.Value) *tensor.Tensor) *tensor.Tensor {
	for k, count := range axes {
		if count == nil {
			continue
		}
		shape := append([]int{}, want.Shape...)
		shape[k] = int(value(count).Int(0))
		cut := tensor.New(want.DType, shape...)
		row := types.Count(want.Shape[k+1:]) * want.DType.Size()
		for o := range types.Count(want.Shape[:k]) {
			copy(cut.Bytes()[o*shape[k]*row:(o+1)*shape[k]*row], want.Bytes()[o*want.Shape[k]*row:])
		}
		want = cut
	}
	return want
}

// actualResult is result i of a node cut to its actual extent; out are all results.
func actualResult(n *graph.Node, out []*tensor.Tensor, i int) *tensor.Tensor {
	axes := make([]*graph.Value, len(out[i].Shape))
	for _, d := range ops.DynamicResults(n.Op, n.Attrs) {
		if d.Result == i {
			axes[d.Axis] = n.Out[d.Count]
		}
	}
	return Actual(out[i], axes, func(v *graph.Value) *tensor.Tensor { return out[v.Index] })
}
