package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var sliceRows = []row{{"Slice", shared(tfops.Slice)}, {"StridedSlice", shared(tfops.StridedSlice)}, {"TensorStridedSliceUpdate", one(sliceUpdate)}}

// sliceUpdate is operand 0 with operand 4 in place of a slice, whose strides are 1.
func sliceUpdate(c *call) *graph.Value {
	x := c.X(0)
	r := tfops.CutOf(c.Call)
	y := c.Reshape(c.BroadcastTo(c.X(4), r.Shape...), spans(r.StridedSliceAttrs)...)
	for k := x.Type.Rank() - 1; k >= 0; k-- { // around the update, what was there
		if r.Strides[k] != 1 || r.At[k] != nil {
			compose.Fail("strides %v are not supported", r.Strides)
		}
		around := x
		for j := range k {
			around = c.Slice(around, j, r.Begin[j], r.End[j])
		}
		n := x.Type.Shape[k]
		parts := values{y}
		if r.Begin[k] > 0 {
			parts = values{c.Slice(around, k, 0, r.Begin[k]), y}
		}
		if r.End[k] < n {
			parts = append(parts, c.Slice(around, k, r.End[k], n))
		}
		y = c.Concat(k, parts...)
	}
	return y
}

// spans are the extents of what is cut.
func spans(a ops.StridedSliceAttrs) []int {
	out := make([]int, len(a.Begin))
	for k := range out {
		out[k] = a.End[k] - a.Begin[k]
	}
	return out
}
