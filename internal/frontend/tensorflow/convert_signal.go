package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Complex numbers have an axis of real and imaginary part behind the others.
var signalRows = []row{
	{"RFFT", one(rfft(1))}, {"RFFT2D", one(rfft(2))}, {"IRFFT", one(irfft)}, {"Real", one(part(0))}, {"Imag", one(part(1))}, {"ComplexAbs", one(complexAbs)},
	{"Angle", one(func(c *call) *graph.Value { return c.Do(ops.Atan2, part(1)(c), part(0)(c)) })},
}

// takesComplex are the operators that know of this axis, or do not care.
var takesComplex = map[string]bool{"Real": true, "Imag": true, "ComplexAbs": true, "Angle": true, "IRFFT": true, "Identity": true, "IdentityN": true, "StopGradient": true}

// rfft transforms the last axes, the last of which keeps half of its spectrum. Operand 1 says their lengths.
func rfft(axes int) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("Tcomplex", "Treal")
		lengths := c.KnownInts(1, "the lengths")
		c.WantRank(0, axes)
		x, rank := c.X(0), c.Rank(0)
		if len(lengths) != axes {
			compose.Fail("lengths %v", lengths)
		}
		before, after := make([]int, rank), make([]int, rank)
		for k, n := range lengths { // longer signals are cut, shorter ones followed by zeros
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

// irfft is the inverse, of half a spectrum: the other half is its mirror image, conjugate.
func irfft(c *call) *graph.Value {
	n := c.KnownInt(1, "the length")
	c.WantRank(0, 2)
	x, axis := c.X(0), c.Rank(0)-2
	half := n/2 + 1
	if n < 1 || n > 1<<16 || x.Type.Shape[axis] < half {
		compose.Fail("length %d of %s", n, x.Type)
	}
	x = c.Slice(x, axis, 0, half)
	if rest := n - half; rest > 0 {
		mirror := c.reversed(c.Slice(x, axis, 1, 1+rest), axis)
		re, im := c.Slice(mirror, axis+1, 0, 1), c.Slice(mirror, axis+1, 1, 2)
		x = c.Concat(axis, x, c.Concat(axis+1, re, c.Do(ops.Negative, im)))
	}
	return c.At(c.DFT(x, axis, compose.Fourier{Length: n, Inverse: true}), axis+1, 0)
}

func part(i int) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.WantRank(0, 1)
		return c.At(c.X(0), c.Rank(0)-1, i)
	}
}

func complexAbs(c *call) *graph.Value {
	re, im := part(0)(c), part(1)(c)
	return c.Do(ops.Sqrt, c.Do(ops.Add, c.Do(ops.Multiply, re, re), c.Do(ops.Multiply, im, im)))
}
