package compose

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Scaled is f * x; x itself where f is 1.
func (b *Builder) Scaled(x *graph.Value, f float64) *graph.Value {
	if f == 1 {
		return x
	}
	return b.Do(ops.Multiply, x, Like(x, f))
}

// NumpyMatmul multiplies as numpy's matmul: a vector on the left is a row, one on the right a column, and the axis that
// makes it a matrix is not in the result.
func (b *Builder) NumpyMatmul(x, y *graph.Value) *graph.Value {
	p, q := x.Type.Rank(), y.Type.Rank()
	if p == 0 || q == 0 {
		Fail("matrix product of %s and %s", x.Type, y.Type)
	}
	if p == 1 {
		x = b.ExpandDims(x, 0)
	}
	if q == 1 {
		y = b.ExpandDims(y, 1)
	}
	z := b.Matmul(x, y)
	if q == 1 {
		z = b.Squeeze(z, z.Type.Rank()-1)
	}
	if p == 1 {
		z = b.Squeeze(z, z.Type.Rank()-1-min(q-1, 1))
	}
	return z
}

// Hardmax is 1 at the first greatest element along an axis and 0 elsewhere. An axis without elements has no greatest one, and
// needs none.
func (b *Builder) Hardmax(x *graph.Value, axis int) *graph.Value {
	if x.Type.Shape[axis] == 0 {
		return x
	}
	place := b.Apply(ops.ArgMax, ops.ArgAttrs{Axis: axis}, x)
	return b.Apply(ops.OneHot, ops.OneHotAttrs{Depth: x.Type.Shape[axis], Axis: axis}, place, Like(x, 1), Like(x, 0))
}
