package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Complex numbers have an axis of real and imaginary part behind the others.
var signalRows = []row{
	{"RFFT2D", one(rfft2d)}, {"REAL", one(part(0))}, {"IMAG", one(part(1))}, {"COMPLEX_ABS", one(complexAbs)},
}

// rfft2d transforms the last two axes, the last of which keeps half of its spectrum.
func rfft2d(c *call) *graph.Value {
	lengths := c.KnownInts(1, "the lengths")
	c.WantRank(0, 2)
	if len(lengths) != 2 || lengths[0] < 1 || lengths[1] < 1 {
		compose.Fail("lengths %v", lengths)
	}
	x := c.X(0)
	rank := x.Type.Rank()
	for k, n := range lengths { // shorter signals are followed by zeros
		if axis := rank - 2 + k; x.Type.Shape[axis] > n {
			x = c.Slice(x, axis, 0, n)
		}
	}
	y := c.DFT(c.ExpandDims(x, rank), rank-1, compose.Fourier{Length: lengths[1], Onesided: true})
	if lengths[0] == 1 {
		return y
	}
	return c.DFT(y, rank-2, compose.Fourier{Length: lengths[0]})
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
