package tfops

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

func Rank(c *frontend.Call) *graph.Value { return compose.Number(types.I32, float64(c.Rank(0))) }

// Fill is a tensor of a shape, operand 0, full of a number, operand 1.
func Fill(c *frontend.Call) *graph.Value {
	shape, value := c.KnownInts(0, "the shape"), c.Scalar(c.X(1))
	if v := value.Value(); v != nil {
		return c.Filled(v, shape...)
	}
	return c.BroadcastTo(value, shape...)
}

func Range(c *frontend.Call) *graph.Value {
	return c.RangeOf(c.Known(0, "the start"), c.Known(1, "the limit"), c.Known(2, "the step"))
}

func BroadcastArgs(c *frontend.Call) *graph.Value {
	shape := compose.BroadcastShape(c.KnownInts(0, "a shape"), c.KnownInts(1, "a shape"))
	return c.Cast(compose.Ints(shape...), c.X(0).Type.DType)
}

// Part is the real part (0) or the imaginary one (1) of complex numbers, which have an axis of both behind the others.
func Part(i int) func(c *frontend.Call) *graph.Value {
	return func(c *frontend.Call) *graph.Value {
		c.WantRank(0, 1)
		return c.At(c.X(0), c.Rank(0)-1, i)
	}
}

func ComplexAbs(c *frontend.Call) *graph.Value {
	re, im := Part(0)(c), Part(1)(c)
	return c.Do(ops.Sqrt, c.Do(ops.Add, c.Do(ops.Multiply, re, re), c.Do(ops.Multiply, im, im)))
}

// RFFT transforms the last axes, the last of which keeps half of its spectrum. Operand 1 says their lengths: longer signals are cut,
// shorter ones followed by zeros.
func RFFT(axes int) func(c *frontend.Call) *graph.Value {
	return func(c *frontend.Call) *graph.Value {
		lengths := c.KnownInts(1, "the lengths")
		c.WantRank(0, axes)
		x, rank := c.X(0), c.Rank(0)
		if len(lengths) != axes {
			compose.Fail("lengths %v", lengths)
		}
		before, after := make([]int, rank), make([]int, rank)
		for k, n := range lengths {
			axis := rank - axes + k
			if n < 1 || n > 1<<16 {
				compose.Fail("lengths %v", lengths)
			}
			if x.Type.Shape[axis] > n {
				x = c.Slice(x, axis, 0, n)
			}
			after[axis] = n - x.Type.Shape[axis]
		}
		x = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant"}, x)
		y := c.DFT(c.ExpandDims(x, rank), rank-1, compose.Fourier{Length: lengths[axes-1], Onesided: true})
		if axes == 2 {
			y = c.DFT(y, rank-2, compose.Fourier{Length: lengths[0]})
		}
		return y
	}
}
