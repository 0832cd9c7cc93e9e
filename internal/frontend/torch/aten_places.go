package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// places are the indices of an advanced index, nil for axes that stay.
func (c *call) places() []*graph.Value {
	parts, _ := items(c.args["indices"])
	out := make([]*graph.Value, len(parts))
	for i, p := range parts {
		switch t := p.(type) {
		case nil:
		case *tensor:
			if out[i] = c.get(t); out[i].Type.DType != types.Bool && out[i].Type.DType != types.U8 {
				out[i] = c.asIndices(out[i])
			}
		case int64:
			out[i] = whole(t)
		default:
			fail("an index that is %s", kind(p))
		}
	}
	return out
}

// picked is x[places]: indices broadcast to one another, and their axes replace those that they index; where these are not neighbours, in
// front of all others. A mask counts as the indices of its true elements.
func (m *machine) picked(x *graph.Value, at []*graph.Value) *graph.Value {
	at = m.unmasked(x, at)
	var axes []int
	var shape []int
	for k, v := range at {
		if v != nil {
			axes = append(axes, k)
			shape = compose.BroadcastShape(shape, v.Type.Shape)
		}
	}
	switch len(axes) {
	case 0:
		return x
	case 1:
		return m.Apply(ops.Take, ops.TakeAttrs{Axis: axes[0]}, x, at[axes[0]])
	}
	order := slices.Clone(axes)
	for k := range x.Type.Rank() {
		if !slices.Contains(axes, k) {
			order = append(order, k)
		}
	}
	y := m.Apply(ops.GatherND, ops.GatherNDAttrs{}, m.Transpose(x, order...), m.coordinates(x, at, axes, shape))
	if axes[len(axes)-1]-axes[0] != len(axes)-1 || axes[0] == 0 {
		return y
	}
	var back []int // the axes of the indices behind those before the first indexed one
	for k := range axes[0] {
		back = append(back, len(shape)+k)
	}
	for k := range shape {
		back = append(back, k)
	}
	for k := len(shape) + axes[0]; k < y.Type.Rank(); k++ {
		back = append(back, k)
	}
	return m.Transpose(y, back...)
}

// coordinates joins indices along a new last axis, those from the end counted from the front.
func (m *machine) coordinates(x *graph.Value, at []*graph.Value, axes, shape []int) *graph.Value {
	parts := make([]*graph.Value, len(axes))
	for i, k := range axes {
		v := at[k]
		n := x.Type.Shape[k]
		v = m.Do(ops.Where, m.Do(ops.Less, v, like(v, 0)), m.Do(ops.Add, v, like(v, float64(n))), v)
		parts[i] = m.BroadcastTo(v, shape...)
	}
	return m.Stack(len(shape), parts...)
}

// unmasked gives masks as indices.
func (m *machine) unmasked(x *graph.Value, at []*graph.Value) []*graph.Value {
	var out []*graph.Value
	for _, v := range at {
		if v == nil || v.Type.DType != types.Bool && v.Type.DType != types.U8 {
			out = append(out, v)
			continue
		}
		if len(out)+v.Type.Rank() > x.Type.Rank() {
			fail("a mask %s of %s", v.Type, x.Type)
		}
		if t := hostValue(v); t != nil {
			for _, list := range trueAt(t) {
				out = append(out, compose.Ints(list...))
			}
			continue
		}
		rows := m.Results(ops.ArgWhere, op.None{}, v)[0]
		for k := range v.Type.Rank() {
			out = append(out, m.At(rows, 1, k))
		}
	}
	return out
}

// hostValue is the value of a constant of any size, or nil.
func hostValue(v *graph.Value) *hosttensor.Tensor {
	if v.Const != nil {
		return v.Const
	}
	return v.Value()
}

// trueAt lists the coordinates of what is not 0, axis by axis.
func trueAt(t *hosttensor.Tensor) [][]int {
	out := make([][]int, len(t.Shape))
	for i := range t.Len() {
		if t.Int(i) == 0 {
			continue
		}
		rest := i
		for k := len(t.Shape) - 1; k >= 0; k-- {
			out[k] = append(out[k], rest%t.Shape[k])
			rest /= t.Shape[k]
		}
	}
	return out
}

// indexPut writes x[places].
func indexPut(c *call) any {
	x, at := c.x("self"), c.places()
	v := c.operand(c.args["values"], x.Type.DType)
	reduction := "none"
	if c.bool("accumulate", false) {
		reduction = "add"
	}
	if len(at) == 1 && at[0] != nil && at[0].Type.DType == types.Bool && v.Type.Elements() == 1 && reduction == "none" {
		mask := at[0]
		for mask.Type.Rank() < x.Type.Rank() {
			mask = c.ExpandDims(mask, mask.Type.Rank())
		}
		return c.Do(ops.Where, mask, c.Reshape(v), x)
	}
	at = c.unmasked(x, at)
	var axes, shape []int
	for k, p := range at {
		if p != nil {
			axes = append(axes, k)
			shape = compose.BroadcastShape(shape, p.Type.Shape)
		}
	}
	if len(axes) == 0 {
		return c.BroadcastTo(v, x.Type.Shape...)
	}
	order, rest := slices.Clone(axes), []int{}
	for k := range x.Type.Rank() {
		if !slices.Contains(axes, k) {
			order, rest = append(order, k), append(rest, x.Type.Shape[k])
		}
	}
	first := axes[0]
	if axes[len(axes)-1]-axes[0] != len(axes)-1 {
		first = 0
	}
	// Values have the indices' axes where x[places] has them; the operator wants them first.
	var before []int
	for k := range first {
		before = append(before, x.Type.Shape[k])
	}
	v = c.BroadcastTo(v, slices.Concat(before, shape, rest[min(first, len(rest)):])...)
	var front []int
	for k := range shape {
		front = append(front, first+k)
	}
	for k := range v.Type.Rank() {
		if k < first || k >= first+len(shape) {
			front = append(front, k)
		}
	}
	y := c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: reduction}, c.Transpose(x, order...), c.coordinates(x, at, axes, shape), c.Transpose(v, front...))
	back := make([]int, len(order))
	for k, from := range order {
		back[from] = k
	}
	return c.Transpose(y, back...)
}
