package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var sliceRows = []row{{"Slice", one(slice)}, {"StridedSlice", one(stridedSlice)}, {"TensorStridedSliceUpdate", one(sliceUpdate)}}

// slice takes size elements from begin on; -1 is all that are left.
func slice(c *call) *graph.Value {
	x, size := c.X(0), c.KnownInts(2, "the sizes")
	if c.X(1).Value() == nil {
		return c.sliceAt(x, c.X(1), size)
	}
	begin := c.KnownInts(1, "the beginning")
	if len(begin) != x.Type.Rank() || len(size) != x.Type.Rank() {
		compose.Fail("begin %v and size %v of %s", begin, size, x.Type)
	}
	for k, b := range begin {
		end := b + size[k]
		if size[k] < 0 {
			end = x.Type.Shape[k]
		}
		if b < 0 || end > x.Type.Shape[k] || b > end {
			compose.Fail("elements %d to %d of axis %d of %s", b, end, k, x.Type)
		}
		x = c.Slice(x, k, b, end)
	}
	return x
}

// sliceAt takes sizes that are known from places that are not.
func (c *call) sliceAt(x, begin *graph.Value, size []int) *graph.Value {
	if begin.Type.Elements() != len(size) || len(size) != x.Type.Rank() {
		compose.Fail("begin %s and size %v of %s", begin.Type, size, x.Type)
	}
	for k, n := range size {
		switch {
		case n < 0:
			compose.Fail("what begin leaves of axis %d depends on data, which is not supported", k)
		case n == x.Type.Shape[k]:
			continue
		}
		at := c.Do(ops.Add, c.At(begin, 0, k), c.Cast(c.Arange(n), begin.Type.DType))
		x = c.Apply(ops.Take, ops.TakeAttrs{Axis: k}, x, at)
	}
	return x
}

// A cut is what a strided slice takes of each axis, and the shape of the result.
type cut struct {
	ops.StridedSliceAttrs
	shape []int
	at    []*graph.Value // per axis, an element whose place depends on data
}

// stridedSlice is numpy's x[begin:end:stride, ..., newaxis, i]: each entry of begin, end and strides is one of these by a bit of a mask.
func stridedSlice(c *call) *graph.Value {
	x := c.X(0)
	r := c.cut(x)
	for k, at := range r.at {
		if at != nil {
			x = c.Apply(ops.Take, ops.TakeAttrs{Axis: k}, x, c.Reshape(at, 1))
		}
	}
	return c.Reshape(c.Apply(ops.StridedSlice, r.StridedSliceAttrs, x), r.shape...)
}

// cut reads begin, end and strides from operands 1 to 3, and the masks.
func (c *call) cut(x *graph.Value) cut {
	mask := func(name string) func(i int) bool {
		m := c.Int(name, 0)
		return func(i int) bool { return i < 31 && m>>i&1 != 0 }
	}
	noBegin, noEnd, ellipsis, added, single := mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")
	strides := c.KnownInts(3, "the strides")
	n := len(strides)
	var begin, end []int
	dynamic := c.X(1).Value() == nil
	if dynamic { // only single elements may be anywhere
		for i := range n {
			if !single(i) && !(noBegin(i) && noEnd(i)) && !ellipsis(i) && !added(i) {
				begin, end = c.KnownInts(1, "the beginning"), c.KnownInts(2, "the end")
			}
		}
		if begin == nil {
			begin, end = make([]int, n), make([]int, n)
		}
	} else {
		begin = c.KnownInts(1, "the beginning")
		end = begin
		for i := range n {
			if !single(i) && !noEnd(i) && !ellipsis(i) && !added(i) {
				end = c.KnownInts(2, "the end")
			}
		}
	}
	if len(begin) != n || len(end) != n || c.X(1).Type.Elements() != n {
		compose.Fail("begin %v, end %v, strides %v", begin, end, strides)
	}
	given := 0
	for i := range n {
		if !ellipsis(i) && !added(i) {
			given++
		}
	}
	r := cut{at: make([]*graph.Value, x.Type.Rank())}
	axis := 0
	whole := func() {
		n := x.Type.Shape[axis]
		r.Begin, r.End, r.Strides = append(r.Begin, 0), append(r.End, n), append(r.Strides, 1)
		r.shape = append(r.shape, n)
		axis++
	}
	seen := false
	for i := range n {
		switch {
		case ellipsis(i) && !seen:
			seen = true
			for range x.Type.Rank() - given {
				whole()
			}
		case ellipsis(i):
		case added(i):
			r.shape = append(r.shape, 1)
		case axis >= x.Type.Rank():
			compose.Fail("more places than %s has axes", x.Type)
		case dynamic && single(i):
			r.at[axis] = c.At(c.X(1), 0, i)
			r.Begin, r.End, r.Strides = append(r.Begin, 0), append(r.End, 1), append(r.Strides, 1)
			axis++
		default:
			s := sliceRange(begin[i], end[i], strides[i], x.Type.Shape[axis], noBegin(i), noEnd(i), single(i))
			r.Begin, r.End, r.Strides = append(r.Begin, s.begin), append(r.End, s.end), append(r.Strides, s.stride)
			if !single(i) {
				r.shape = append(r.shape, s.count)
			}
			axis++
		}
	}
	for axis < x.Type.Rank() {
		whole()
	}
	return r
}

type span struct{ begin, end, stride, count int }

// sliceRange is Python's range of an axis with n elements.
func sliceRange(begin, end, stride, n int, noBegin, noEnd, single bool) span {
	if stride == 0 {
		compose.Fail("a stride is 0")
	}
	wrap := func(i, lo, hi int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	if single {
		i := begin
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			compose.Fail("element %d of %d", begin, n)
		}
		return span{i, i + 1, 1, 1}
	}
	lo, hi, first, last, sign := 0, n, 0, n, 1
	if stride < 0 {
		lo, hi, first, last, sign = -1, n-1, n-1, -1, -1
	}
	b, e := wrap(begin, lo, hi), wrap(end, lo, hi)
	if noBegin {
		b = first
	}
	if noEnd {
		e = last
	}
	count := max(0, (e-b+stride-sign)/stride)
	if count == 0 {
		return span{0, 0, 1, 0}
	}
	return span{b, e, stride, count}
}

// sliceUpdate is operand 0 with operand 4 in place of a slice, whose strides are 1.
func sliceUpdate(c *call) *graph.Value {
	x := c.X(0)
	r := c.cut(x)
	y := c.Reshape(c.BroadcastTo(c.X(4), r.shape...), spans(r.StridedSliceAttrs)...)
	for k := x.Type.Rank() - 1; k >= 0; k-- { // around the update, what was there
		if r.Strides[k] != 1 || r.at[k] != nil {
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
