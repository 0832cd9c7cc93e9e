package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A tensor is a reference to a value of the graph, which operators in place replace. A view reads a part of its base: it is read again
// when the base has changed, and writing it replaces that part of the base.
type tensor struct {
	v       *graph.Value
	changes int
	base    *tensor // of a view, or nil
	seen    int     // changes of base when v was read
	read    func(base *graph.Value) *graph.Value
	write   func(base, v *graph.Value) *graph.Value
	strided bool   // its elements do not lie in the order of its axes, so that a reshape of it is a copy
	quant   *quant // where v holds the integers of a quantised tensor
	complex bool   // the last axis of v is real and imaginary part
	number  bool   // a Python number that depends on data
	born    int    // when it was made: see machine.regions
}

// A quant says which real numbers integers stand for: (v - zero) * scale, with one scale and zero for each index of axis, or one for all.
type quant struct {
	scales []float64
	zeros  []int64
	axis   int // -1: one for all
}

// get is the value of a tensor now.
func (m *machine) get(t *tensor) *graph.Value {
	if t.base == nil {
		return t.v
	}
	base := m.get(t.base)
	if t.seen != t.base.changes && t.born < m.region {
		return t.read(base) // a value of the region, which is none outside
	}
	if t.seen != t.base.changes {
		t.v, t.seen = t.read(base), t.base.changes
		t.changes++
	}
	return t.v
}

// set replaces the value of a tensor, and what views of it and its base share with it.
func (m *machine) set(t *tensor, v *graph.Value) {
	if t.born < m.region {
		fail("a tensor from outside is changed in place where the data decide whether code runs, which is not supported")
	}
	if t.base != nil {
		base := m.get(t.base)
		m.set(t.base, t.write(base, v))
		t.seen = t.base.changes
	}
	t.v = v
	t.changes++
}

// fresh is a tensor of its own.
func (m *machine) fresh(v *graph.Value) *tensor {
	m.births++
	return &tensor{v: v, born: m.births}
}

// view is a view of t. write gives the base with the view's elements replaced by v.
func (m *machine) view(t *tensor, strided bool, read func(base *graph.Value) *graph.Value, write func(base, v *graph.Value) *graph.Value) *tensor {
	m.births++
	out := &tensor{base: t, read: read, write: write, strided: strided, quant: t.quant, complex: t.complex, born: m.births}
	out.v, out.seen = read(m.get(t)), t.changes
	return out
}

// reshaped is a view of a shape with as many elements, or a copy where the elements lie otherwise.
func (m *machine) reshaped(t *tensor, shape []int) *tensor {
	shape = slices.Clone(shape)
	if t.complex {
		shape = append(shape, 2)
	}
	if t.strided {
		out := m.fresh(m.Reshape(m.get(t), shape...))
		out.quant, out.complex = t.quant, t.complex
		return out
	}
	return m.shaped(t, shape)
}

// viewed is a view of a shape, of elements that lie so that there is one: PyTorch refuses the program else.
func (m *machine) viewed(t *tensor, shape []int) *tensor {
	if t.complex {
		shape = append(slices.Clone(shape), 2)
	}
	return m.shaped(t, shape)
}

func (m *machine) shaped(t *tensor, shape []int) *tensor {
	return m.view(t, t.strided, func(base *graph.Value) *graph.Value { return m.Reshape(base, shape...) },
		func(base, v *graph.Value) *graph.Value { return m.Reshape(v, base.Type.Shape...) })
}

// permuted is a view with axis k of the result being axis order[k] of t.
func (m *machine) permuted(t *tensor, order []int) *tensor {
	if t.quant != nil && t.quant.axis >= 0 {
		fail("axes of a tensor that is quantised by channel are moved, which is not supported")
	}
	order = slices.Clone(order)
	if t.complex {
		order = append(order, len(order))
	}
	back := make([]int, len(order))
	for k, from := range order {
		back[from] = k
	}
	return m.view(t, t.strided || !slices.IsSorted(order),
		func(base *graph.Value) *graph.Value { return m.Transpose(base, order...) },
		func(_, v *graph.Value) *graph.Value { return m.Transpose(v, back...) })
}

// sliced is a view of the elements [begin, end) of an axis, every step of them.
func (m *machine) sliced(t *tensor, axis, begin, end, step int) *tensor {
	read := func(base *graph.Value) *graph.Value {
		x := m.Slice(base, axis, begin, end)
		if step > 1 && x.Type.Shape[axis] > 1 {
			x = m.Every(x, axis, step)
		}
		return x
	}
	write := func(base, v *graph.Value) *graph.Value {
		if step > 1 {
			return m.interleaved(base, v, axis, begin, step)
		}
		var parts []*graph.Value
		for _, part := range []*graph.Value{m.Slice(base, axis, 0, begin), v, m.Slice(base, axis, max(begin, end), base.Type.Shape[axis])} {
			if part.Type.Shape[axis] > 0 {
				parts = append(parts, part)
			}
		}
		if parts == nil {
			return base
		}
		return m.Concat(axis, parts...)
	}
	outer := types.Count(m.get(t).Type.Shape[:axis])
	return m.view(t, t.strided || outer > 1 || step > 1, read, write)
}

// interleaved is base with every step'th element of an axis replaced by those of v.
func (m *machine) interleaved(base, v *graph.Value, axis, begin, step int) *graph.Value {
	n := base.Type.Shape[axis]
	from, taken := m.Zeros(types.I64, n), m.Zeros(types.Bool, n)
	for i := range v.Type.Shape[axis] {
		from.SetInt(begin+i*step, int64(i))
		taken.SetInt(begin+i*step, 1)
	}
	shape := slices.Repeat([]int{1}, base.Type.Rank())
	shape[axis] = n
	spread := m.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, v, compose.Const(from))
	return m.Do(ops.Where, compose.Const(taken.Reshape(shape...)), spread, base)
}

// selected is a view of one element of an axis, without the axis.
func (m *machine) selected(t *tensor, axis, i int) *tensor {
	one := m.sliced(t, axis, i, i+1, 1)
	shape := slices.Delete(slices.Clone(m.get(t).Type.Shape), axis, axis+1)
	return m.view(one, one.strided,
		func(base *graph.Value) *graph.Value { return m.Reshape(base, shape...) },
		func(base, v *graph.Value) *graph.Value { return m.Reshape(v, base.Type.Shape...) })
}

// selectedAt is selected for an index that depends on data.
func (m *machine) selectedAt(t *tensor, axis int, i *graph.Value) *tensor {
	return m.view(t, true,
		func(base *graph.Value) *graph.Value { return m.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, base, i) },
		func(base, v *graph.Value) *graph.Value {
			n := base.Type.Shape[axis]
			at := m.Do(ops.FloorMod, i, compose.Number(types.I64, float64(n)))
			shape := slices.Repeat([]int{1}, base.Type.Rank())
			shape[axis] = n
			return m.Do(ops.Where, m.Reshape(m.Do(ops.Equal, m.Arange(n), at), shape...), m.ExpandDims(v, axis), base)
		})
}

// expanded is a view in which axes of extent 1 are repeated. Nothing may be written to it.
func (m *machine) expanded(t *tensor, shape []int) *tensor {
	shape = slices.Clone(shape)
	return m.view(t, true, func(base *graph.Value) *graph.Value { return m.BroadcastTo(base, shape...) },
		func(base, v *graph.Value) *graph.Value {
			if !slices.Equal(base.Type.Shape, v.Type.Shape) {
				fail("an expanded tensor is changed in place, which is not supported")
			}
			return v
		})
}

// alias is another name for the same elements.
func (m *machine) alias(t *tensor) *tensor {
	return m.view(t, t.strided, func(base *graph.Value) *graph.Value { return base }, func(_, v *graph.Value) *graph.Value { return v })
}

// rank is the number of axes, of a complex tensor those that PyTorch counts.
func (m *machine) rank(t *tensor) int { return len(m.shape(t)) }

// shape is the shape, of a complex tensor without the parts.
func (m *machine) shape(t *tensor) []int {
	s := m.get(t).Type.Shape
	if t.complex {
		return s[:len(s)-1]
	}
	return s
}
