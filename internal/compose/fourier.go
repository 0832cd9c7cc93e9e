package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A Fourier says how a signal is transformed: as if it had Length samples, zeros behind what is there. Onesided keeps
// the first half of the spectrum, the rest being its mirror image.
type Fourier struct {
	Length            int
	Inverse, Onesided bool
}

// DFT transforms x along an axis by a product with a matrix. The last axis of x holds the real part, or real and
// imaginary part; that of the result holds both.
func (b *Builder) DFT(x *graph.Value, axis int, f Fourier) *graph.Value {
	last := x.Type.Rank() - 1
	parts := x.Type.Shape[max(last, 0)]
	switch {
	case last < 1 || axis == last || parts != 1 && parts != 2:
		Fail("signal %s with axis %d", x.Type, axis)
	case f.Inverse && f.Onesided:
		Fail("the onesided inverse is not supported")
	case f.Length < 1 || f.Length > 1<<14:
		Fail("a DFT of length %d is not supported", f.Length)
	}
	order := make([]int, 0, last+1) // the transformed axis behind the others, then real and imaginary
	for k := range last {
		if k != axis {
			order = append(order, k)
		}
	}
	order = append(order, axis, last)
	x = b.Transpose(x, order...)
	n := min(x.Type.Shape[last-1], f.Length)
	x = b.Slice(x, last-1, 0, n)
	bins := f.Length
	if f.Onesided {
		bins = f.Length/2 + 1
	}
	cos, sin := b.fourierMatrices(f, x.Type.DType, n, bins)
	re := b.At(x, last, 0)
	outRe, outIm := b.product(re, cos), b.product(re, sin)
	if parts == 2 {
		im := b.At(x, last, 1)
		outRe = b.Do(ops.Subtract, outRe, b.product(im, sin))
		outIm = b.Do(ops.Add, outIm, b.product(im, cos))
	}
	y := b.Stack(last, outRe, outIm)
	back := make([]int, last+1)
	for k, from := range order {
		back[from] = k
	}
	return b.Transpose(y, back...)
}

// product multiplies the last axis of x, which may be the only one, by a matrix.
func (b *Builder) product(x, m *graph.Value) *graph.Value { return b.NumpyMatmul(x, m) }

// fourierMatrices hold the real and imaginary part of the factors, [samples, bins].
func (b *Builder) fourierMatrices(f Fourier, d types.DType, samples, bins int) (cos, sin *graph.Value) {
	c, s := b.Zeros(d, samples, bins), b.Zeros(d, samples, bins)
	sign, scale := -1.0, 1.0
	if f.Inverse {
		sign, scale = 1, 1/float64(f.Length)
	}
	for i := range samples {
		for k := range bins {
			angle := 2 * math.Pi * float64(i*k%f.Length) / float64(f.Length)
			c.SetFloat(i*bins+k, scale*math.Cos(angle))
			s.SetFloat(i*bins+k, scale*sign*math.Sin(angle))
		}
	}
	return Const(c), Const(s)
}
