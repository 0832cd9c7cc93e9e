package tfops

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Slice takes size elements from begin on; -1 is all that are left.
func Slice(c *frontend.Call) *graph.Value {
	x, size := c.X(0), c.KnownInts(2, "the sizes")
	if c.X(1).Value() == nil {
		return c.Blocks(x, c.X(1), size)
	}
	begin := c.KnownInts(1, "the beginning")
	if len(begin) != x.Type.Rank() || len(size) != x.Type.Rank() {
		compose.Fail("begin %v and size %v of %s", begin, size, x.Type)
	}
	ranges := make([]compose.Range, len(begin))
	for k, b := range begin {
		end := b + size[k]
		if size[k] < 0 {
			end = x.Type.Shape[k]
		}
		if b < 0 || end > x.Type.Shape[k] || b > end {
			compose.Fail("elements %d to %d of axis %d of %s", b, end, k, x.Type)
		}
		ranges[k] = compose.Range{Begin: b, End: end, Step: 1}
	}
	return c.Ranges(x, compose.LastAxes(x, 0), ranges)
}

// A Cut is what a strided slice takes of each axis, and the shape of the result.
type Cut struct {
	ops.StridedSliceAttrs
	Shape []int
	At    []*graph.Value // per axis, an element whose place depends on data
}

// StridedSlice is numpy's x[begin:end:stride, ..., newaxis, i]: each entry of begin, end and strides is one of these by a bit of a mask.
func StridedSlice(c *frontend.Call) *graph.Value {
	x := c.X(0)
	r := CutOf(c)
	for k, at := range r.At {
		if at != nil {
			x = c.Apply(ops.Take, ops.TakeAttrs{Axis: k}, x, c.Reshape(at, 1))
		}
	}
	return c.Reshape(c.Apply(ops.StridedSlice, r.StridedSliceAttrs, x), r.Shape...)
}

// A subscript is entry i of a strided slice.
type subscripts struct {
	begin, end, strides                       []int
	noBegin, noEnd, ellipsis, newAxis, single func(i int) bool
	dynamic                                   bool // begin is not known: single elements may be anywhere
}

func subscriptsOf(c *frontend.Call) (s subscripts) {
	mask := func(name string) func(i int) bool {
		m := c.Int(name, 0)
		return func(i int) bool { return i < 31 && m>>i&1 != 0 }
	}
	s.noBegin, s.noEnd, s.ellipsis, s.newAxis, s.single = mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")
	s.strides = c.KnownInts(3, "the strides")
	n := len(s.strides)
	var needsBegin, needsEnd bool
	for i := range n {
		ranged := !s.single(i) && !s.ellipsis(i) && !s.newAxis(i)
		needsBegin = needsBegin || ranged && !(s.noBegin(i) && s.noEnd(i))
		needsEnd = needsEnd || ranged && !s.noEnd(i)
	}
	s.begin, s.end = make([]int, n), make([]int, n)
	if s.dynamic = c.X(1).Value() == nil && !needsBegin; !s.dynamic {
		s.begin = c.KnownInts(1, "the beginning")
	}
	if needsEnd {
		s.end = c.KnownInts(2, "the end")
		if c.Bool("offset", false) { // it counts from begin
			for i := range min(len(s.end), len(s.begin)) {
				s.end[i] += s.begin[i]
			}
		}
	}
	if c.Ignore("offset"); len(s.begin) != n || len(s.end) != n || c.X(1).Type.Elements() != n {
		compose.Fail("begin %v, end %v, strides %v", s.begin, s.end, s.strides)
	}
	return s
}

// CutOf reads begin, end and strides of operand 0 from operands 1 to 3, and the masks.
func CutOf(c *frontend.Call) Cut {
	x, s := c.X(0), subscriptsOf(c)
	given := 0
	for i := range s.strides {
		if !s.ellipsis(i) && !s.newAxis(i) {
			given++
		}
	}
	r, axis := Cut{At: make([]*graph.Value, x.Type.Rank())}, 0
	take := func(begin, end, stride int) {
		r.Begin, r.End, r.Strides = append(r.Begin, begin), append(r.End, end), append(r.Strides, stride)
		axis++
	}
	whole := func() {
		n := x.Type.Shape[axis]
		take(0, n, 1)
		r.Shape = append(r.Shape, n)
	}
	seen := false
	for i := range s.strides {
		switch {
		case s.ellipsis(i) && !seen:
			seen = true
			for range x.Type.Rank() - given {
				whole()
			}
		case s.ellipsis(i):
		case s.newAxis(i):
			r.Shape = append(r.Shape, 1)
		case axis >= x.Type.Rank():
			compose.Fail("more places than %s has axes", x.Type)
		case s.dynamic && s.single(i):
			r.At[axis] = c.At(c.X(1), 0, i)
			take(0, 1, 1)
		case s.single(i):
			at := compose.Element(s.begin[i], x.Type.Shape[axis])
			take(at, at+1, 1)
		default:
			begin, end, stride, count := compose.Range{Begin: s.begin[i], End: s.end[i], Step: s.strides[i], NoBegin: s.noBegin(i), NoEnd: s.noEnd(i)}.Of(x.Type.Shape[axis])
			take(begin, end, stride)
			r.Shape = append(r.Shape, count)
		}
	}
	for axis < x.Type.Rank() {
		whole()
	}
	return r
}
