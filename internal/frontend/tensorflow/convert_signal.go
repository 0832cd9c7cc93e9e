package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Complex numbers have an axis of real and imaginary part behind the others.
var signalRows = []row{
	{"RFFT", shared(tfops.RFFT(1))}, {"RFFT2D", shared(tfops.RFFT(2))}, {"IRFFT", one(irfft)}, {"Real", shared(tfops.Part(0))}, {"Imag", shared(tfops.Part(1))}, {"ComplexAbs", shared(tfops.ComplexAbs)},
	{"Angle", one(func(c *call) *graph.Value { return c.Do(ops.Atan2, tfops.Part(1)(c.Call), tfops.Part(0)(c.Call)) })},
}

// takesComplex are the operators that know of this axis, or do not care.
var takesComplex = map[string]bool{"Real": true, "Imag": true, "ComplexAbs": true, "Angle": true, "IRFFT": true, "Identity": true, "IdentityN": true, "StopGradient": true}

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
		mirror := c.Reverse(c.Slice(x, axis, 1, 1+rest), axis)
		re, im := c.Slice(mirror, axis+1, 0, 1), c.Slice(mirror, axis+1, 1, 2)
		x = c.Concat(axis, x, c.Concat(axis+1, re, c.Do(ops.Negative, im)))
	}
	return c.At(c.DFT(x, axis, compose.Fourier{Length: n, Inverse: true}), axis+1, 0)
}
