package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// LpNorm is the p-th root of the sum of |x|^p along axes.
func (b *Builder) LpNorm(x *graph.Value, p float64, keepDims bool, axes ...int) *graph.Value {
	switch p {
	case 1:
		return b.Reduce(ops.Sum, b.Do(ops.Abs, x), keepDims, axes...)
	case 2:
		return b.Sqrt(b.SumSquare(x, keepDims, axes...))
	}
	sum := b.Reduce(ops.Sum, b.Do(ops.Power, b.Do(ops.Abs, x), Like(x, p)), keepDims, axes...)
	return b.Do(ops.Power, sum, Like(x, 1/p))
}

// SumSquare is the sum of x^2 along axes.
func (b *Builder) SumSquare(x *graph.Value, keepDims bool, axes ...int) *graph.Value {
	return b.Reduce(ops.Sum, b.Do(ops.Multiply, x, x), keepDims, axes...)
}

// LogSumExp is log(sum(exp(x))) along axes, relative to the greatest element so that nothing overflows.
func (b *Builder) LogSumExp(x *graph.Value, keepDims bool, axes ...int) *graph.Value {
	top := b.Reduce(ops.Max, x, true, axes...)
	// An infinite maximum would give Inf - Inf.
	finite := b.Do(ops.LogicalNot, b.Apply(ops.IsInf, ops.IsInfAttrs{DetectPositive: true, DetectNegative: true}, top))
	shift := b.Do(ops.Where, finite, top, Like(x, 0))
	sum := b.Reduce(ops.Sum, b.Do(ops.Exp, b.Do(ops.Subtract, x, shift)), true, axes...)
	y := b.Do(ops.Add, b.Do(ops.Log, sum), shift)
	if keepDims {
		return y
	}
	return b.DropAxes(y, axes...)
}

// DropAxes removes axes of extent 1; no axes means all.
func (b *Builder) DropAxes(x *graph.Value, axes ...int) *graph.Value {
	shape := []int{}
	for k, n := range x.Type.Shape {
		if len(axes) > 0 && !slices.Contains(axes, k) {
			shape = append(shape, n)
		}
	}
	return b.Reshape(x, shape...)
}
