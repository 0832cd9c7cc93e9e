package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// ShapeFor is a target shape for n elements, in which one extent may be -1: what the others leave. copied are the extents that a 0 in the same
// place stands for; nil where a 0 is an extent.
func ShapeFor(n int, target, copied []int) []int {
	shape, open := slices.Clone(target), -1
	for k, d := range shape {
		switch {
		case d == 0 && k < len(copied):
			shape[k] = copied[k]
		case d == -1 && open < 0:
			open, shape[k] = k, 1
		case d < 0:
			Fail("shape %v", target)
		}
	}
	if open >= 0 {
		rest := types.Count(shape)
		if rest == 0 || n%rest != 0 {
			Fail("shape %v for %s", target, spelling.Count(n, "element"))
		}
		shape[open] = n / rest
	}
	return shape
}

// Without is x without axes of extent 1: of those that are given, all of which have to be of 1, or of all where none are.
func (b *Builder) Without(x *graph.Value, axes []int) *graph.Value {
	var shape []int
	for k, n := range x.Type.Shape {
		given := slices.Contains(axes, k)
		if given && n != 1 {
			Fail("axis %d of %s is not 1", k, x.Type)
		}
		if !given && (n != 1 || len(axes) > 0) {
			shape = append(shape, n)
		}
	}
	return b.Reshape(x, shape...)
}

// Reverse turns the order of axes.
func (b *Builder) Reverse(x *graph.Value, axes ...int) *graph.Value {
	return b.Apply(ops.Reverse, ops.ReverseAttrs{Axes: slices.Clone(axes)}, x)
}

// Roll moves elements along axes by shifts; those that fall off come in at the other end.
func (b *Builder) Roll(x *graph.Value, shifts, axes []int) *graph.Value {
	if len(shifts) != len(axes) {
		Fail("shifts %v along axes %v", shifts, axes)
	}
	for i, k := range axes {
		n := x.Type.Shape[k]
		if n == 0 {
			continue
		}
		if cut := ((-shifts[i])%n + n) % n; cut != 0 {
			x = b.Concat(k, b.Slice(x, k, cut, n), b.Slice(x, k, 0, cut))
		}
	}
	return x
}

// Mirror pads each axis with its own elements in reverse, beginning with those at the edge (symmetric padding). Padding that repeats
// no edge is mode "reflect" of the operator.
func (b *Builder) Mirror(x *graph.Value, before, after []int) *graph.Value {
	for k := range before {
		n := x.Type.Shape[k]
		if before[k] < 0 || before[k] > n || after[k] < 0 || after[k] > n {
			Fail("symmetric padding of %d and %d for axis %d of %s", before[k], after[k], k, x.Type)
		}
		parts := []*graph.Value{x}
		if before[k] > 0 {
			parts = []*graph.Value{b.Reverse(b.Slice(x, k, 0, before[k]), k), x}
		}
		if after[k] > 0 {
			parts = append(parts, b.Reverse(b.Slice(x, k, n-after[k], n), k))
		}
		x = b.Concat(k, parts...)
	}
	return x
}

// maxParts bounds how many values one is cut into.
const maxParts = 1 << 16

// Unstack are the elements of an axis, without it.
func (b *Builder) Unstack(x *graph.Value, axis int) []*graph.Value {
	if n := x.Type.Shape[axis]; n > maxParts {
		Fail("%s of %s are not supported; %d are", spelling.Count(n, "element"), x.Type, maxParts)
	}
	out := slices.Clone(b.Split(x, axis, slices.Repeat([]int{1}, x.Type.Shape[axis])...))
	for i, p := range out {
		out[i] = b.Squeeze(p, axis)
	}
	return out
}

// SplitEven is x in n equal parts of an axis.
func (b *Builder) SplitEven(x *graph.Value, axis, n int) []*graph.Value {
	if n < 1 || n > maxParts || x.Type.Shape[axis]%n != 0 {
		Fail("axis %d of %s in %s", axis, x.Type, spelling.Count(n, "part"))
	}
	return b.Split(x, axis, slices.Repeat([]int{x.Type.Shape[axis] / n}, n)...)
}

// SplitSizes is x in parts of an axis; one size may be -1: what the others leave.
func (b *Builder) SplitSizes(x *graph.Value, axis int, sizes []int) []*graph.Value {
	sizes = slices.Clone(sizes)
	if open := slices.Index(sizes, -1); open >= 0 {
		sizes[open] = x.Type.Shape[axis]
		for i, n := range sizes {
			if i != open {
				sizes[open] -= n
			}
		}
	}
	return b.Split(x, axis, sizes...)
}
