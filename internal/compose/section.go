package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A Range is what begin:end:step takes of an axis in Python: negative bounds count from the end, and those beyond the axis are cut to it.
type Range struct {
	Begin, End, Step int
	NoBegin, NoEnd   bool // from the first element in the direction of the step, to the last
}

// Of is the range of an axis with n elements, as ops.StridedSlice has it, and how many elements it takes.
func (r Range) Of(n int) (begin, end, step, count int) {
	if r.Step == 0 {
		Fail("a stride of 0")
	}
	wrap := func(i, lo, hi int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	lo, hi, first, last, sign := 0, n, 0, n, 1
	if r.Step < 0 {
		lo, hi, first, last, sign = -1, n-1, n-1, -1, -1
	}
	begin, end = wrap(r.Begin, lo, hi), wrap(r.End, lo, hi)
	if r.NoBegin {
		begin = first
	}
	if r.NoEnd {
		end = last
	}
	if count = max(0, (end-begin+r.Step-sign)/r.Step); count == 0 {
		return 0, 0, 1, 0
	}
	return begin, end, r.Step, count
}

// Element is the place of element i of an axis with n, where negative numbers count from the end.
func Element(i, n int) int {
	if i < -n || i >= n {
		Fail("element %d of %d", i, n)
	}
	if i < 0 {
		i += n
	}
	return i
}

// Ranges takes a range of each of some axes; x itself where that is all of it.
func (b *Builder) Ranges(x *graph.Value, axes []int, ranges []Range) *graph.Value {
	a := ops.StridedSliceAttrs{Begin: make([]int, x.Type.Rank()), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, x.Type.Rank())}
	for i, k := range axes {
		a.Begin[k], a.End[k], a.Strides[k], _ = ranges[i].Of(x.Type.Shape[k])
	}
	if slices.Equal(a.End, x.Type.Shape) && types.Count(a.Strides) == 1 && !slices.ContainsFunc(a.Begin, func(at int) bool { return at != 0 }) {
		return x
	}
	return b.Apply(ops.StridedSlice, a, x)
}

// Blocks takes sizes of the axes of x from places begin on, a vector that need not be known.
func (b *Builder) Blocks(x, begin *graph.Value, size []int) *graph.Value {
	if begin.Type.Elements() != len(size) || len(size) != x.Type.Rank() {
		Fail("begin %s and size %v of %s", begin.Type, size, x.Type)
	}
	for k, n := range size {
		switch {
		case n < 0:
			Fail("what begin leaves of axis %d depends on data, which is not supported", k)
		case n == x.Type.Shape[k]:
			continue
		}
		at := b.Do(ops.Add, b.At(begin, 0, k), b.Cast(b.Arange(n), begin.Type.DType))
		x = b.Apply(ops.Take, ops.TakeAttrs{Axis: k}, x, at)
	}
	return x
}
