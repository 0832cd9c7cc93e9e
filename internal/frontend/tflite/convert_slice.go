package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var sliceRows = []row{
	{"SLICE", moved(one(slice))}, {"STRIDED_SLICE", moved(one(stridedSlice))}, {"DYNAMIC_UPDATE_SLICE", moved(one(dynamicUpdateSlice))},
}

func ceil(x float64) float64 { return math.Ceil(x) }

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
	a := ops.StridedSliceAttrs{}
	for k, b := range begin {
		end := b + size[k]
		if size[k] < 0 {
			end = x.Type.Shape[k]
		}
		if b < 0 || end > x.Type.Shape[k] || b > end {
			compose.Fail("elements %d to %d of axis %d of %s", b, end, k, x.Type)
		}
		if b == end {
			b, end = 0, 0
		}
		a.Begin, a.End, a.Strides = append(a.Begin, b), append(a.End, end), append(a.Strides, 1)
	}
	return c.Apply(ops.StridedSlice, a, x)
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

// stridedSlice is numpy's x[begin:end:stride, ..., newaxis, i]: each entry of begin, end and strides is one of these by a bit of a mask.
func stridedSlice(c *call) *graph.Value {
	x := c.X(0)
	begin, end, strides := c.KnownInts(1, "the beginning"), c.KnownInts(2, "the end"), c.KnownInts(3, "the strides")
	mask := func(name string) func(i int) bool {
		m := c.Int(name, 0)
		return func(i int) bool { return i < 31 && m>>i&1 != 0 }
	}
	noBegin, noEnd, ellipsis, added, single := mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")
	offset := c.Bool("offset", false)
	if len(begin) != len(end) || len(begin) != len(strides) {
		compose.Fail("begin %v, end %v, strides %v", begin, end, strides)
	}
	given := 0
	for i := range begin {
		if !ellipsis(i) && !added(i) {
			given++
		}
	}
	a := ops.StridedSliceAttrs{}
	var shape []int
	axis := 0
	whole := func() {
		n := x.Type.Shape[axis]
		a.Begin, a.End, a.Strides = append(a.Begin, 0), append(a.End, n), append(a.Strides, 1)
		shape = append(shape, n)
		axis++
	}
	seen := false
	for i := range begin {
		switch {
		case ellipsis(i) && !seen:
			seen = true
			for range x.Type.Rank() - given {
				whole()
			}
		case ellipsis(i):
		case added(i):
			shape = append(shape, 1)
		case axis >= x.Type.Rank():
			compose.Fail("more places than %s has axes", x.Type)
		default:
			b, e, s := begin[i], end[i], strides[i]
			if offset {
				e += b
			}
			r := sliceRange(b, e, s, x.Type.Shape[axis], noBegin(i), noEnd(i), single(i))
			a.Begin, a.End, a.Strides = append(a.Begin, r.begin), append(a.End, r.end), append(a.Strides, r.stride)
			if !single(i) {
				shape = append(shape, r.count)
			}
			axis++
		}
	}
	for axis < x.Type.Rank() {
		whole()
	}
	return c.Reshape(c.Apply(ops.StridedSlice, a, x), shape...)
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
	lo, hi, first, last := 0, n, 0, n
	if stride < 0 {
		lo, hi, first, last = -1, n-1, n-1, -1
	}
	b, e := wrap(begin, lo, hi), wrap(end, lo, hi)
	if noBegin {
		b = first
	}
	if noEnd {
		e = last
	}
	count := max(0, (e-b+stride-sign(stride))/stride)
	if count == 0 {
		return span{0, 0, 1, 0}
	}
	return span{b, e, stride, count}
}

func sign(x int) int {
	if x < 0 {
		return -1
	}
	return 1
}

// dynamicUpdateSlice puts operand 1 into operand 0 at a place within it, which need not be known.
func dynamicUpdateSlice(c *call) *graph.Value {
	x, update, at := c.X(0), c.X(1), c.X(2)
	rank := x.Type.Rank()
	if update.Type.Rank() != rank || at.Type.Elements() != rank {
		compose.Fail("update %s of %s at %s", update.Type, x.Type, at.Type)
	}
	inside := compose.Number(boolType, 1)
	source := update
	for k := range rank {
		n, size := x.Type.Shape[k], update.Type.Shape[k]
		if size > n {
			compose.Fail("update %s of %s", update.Type, x.Type)
		}
		start := c.Apply(ops.Clip, ops.ClipAttrs{Max: float64(n - size), HasMin: true, HasMax: true}, c.At(c.Reshape(at, rank), 0, k))
		place := c.Do(ops.Subtract, c.Cast(c.Arange(n), start.Type.DType), start)
		last := compose.Like(place, float64(size-1))
		within := c.Do(ops.LogicalAnd, c.Do(ops.GreaterEqual, place, compose.Like(place, 0)), c.Do(ops.LessEqual, place, last))
		source = c.Apply(ops.Take, ops.TakeAttrs{Axis: k}, source, c.Apply(ops.Clip, ops.ClipAttrs{Max: float64(size - 1), HasMin: true, HasMax: true}, place))
		lined := make([]int, rank)
		for i := range lined {
			lined[i] = 1
		}
		lined[k] = n
		inside = c.Do(ops.LogicalAnd, inside, c.Reshape(within, lined...))
	}
	return c.Do(ops.Where, inside, source, x)
}
