package onnx

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var signalRows = []row{
	{"DFT", "", 17, one(dft)}, {"STFT", "", 17, one(stft)}, {"MelWeightMatrix", "", 17, one(melWeightMatrix)},
	{"HannWindow", "", 17, one(window(0.5, -0.5, 0))}, {"HammingWindow", "", 17, one(window(25.0/46, -21.0/46, 0))},
	{"BlackmanWindow", "", 17, one(window(0.42, -0.5, 0.08))},
}

// dft has its axis as an attribute before opset 20, and as operand 2 from then on.
func dft(c *call) *graph.Value {
	x := c.X(0)
	at := -2
	switch {
	case c.Node.Version < 20:
		at = c.Int("axis", 1)
	case c.Present(2):
		at = c.KnownInt(2, "axis")
	}
	at = frontend.Axis(at, x.Type.Rank())
	length := x.Type.Shape[at]
	if c.Present(1) {
		length = c.KnownInt(1, "dft_length")
	}
	f := compose.Fourier{Length: length, Inverse: c.Bool("inverse", false), Onesided: c.Bool("onesided", false)}
	return c.DFT(x, at, f)
}

// stft transforms frames of the signal [batch, samples, 1 or 2].
func stft(c *call) *graph.Value {
	x, step := c.X(0), c.KnownInt(1, "frame_step")
	if x.Type.Rank() == 2 {
		x = c.ExpandDims(x, 2)
	}
	if x.Type.Rank() != 3 || step < 1 {
		compose.Fail("signal %s, frame_step %d", x.Type, step)
	}
	length := 0
	switch {
	case c.Present(3):
		length = c.KnownInt(3, "frame_length")
	case c.Present(2):
		length = c.X(2).Type.Elements()
	}
	samples := x.Type.Shape[1]
	if length < 1 || length > samples {
		compose.Fail("frames of %d in a signal of %s", length, spelling.Count(samples, "sample"))
	}
	frames := (samples-length)/step + 1
	places := c.Zeros(types.I64, frames, length)
	for i := range frames {
		for j := range length {
			places.SetInt(i*length+j, int64(i*step+j))
		}
	}
	x = c.Apply(ops.Take, ops.TakeAttrs{Axis: 1}, x, compose.Const(places)) // [batch, frames, length, 1 or 2]
	if c.Present(2) {
		x = c.Do(ops.Multiply, x, c.Reshape(c.X(2), length, 1))
	}
	return c.DFT(x, 2, compose.Fourier{Length: length, Onesided: c.Bool("onesided", true)})
}

// window makes a + b*cos(2 pi i/n) + d*cos(4 pi i/n).
func window(a, b, d float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		size := c.KnownInt(0, "size")
		t := c.DType("output_datatype", types.F32)
		n := float64(size)
		if !c.Bool("periodic", true) {
			n--
		}
		y := c.Zeros(t, max(size, 0))
		for i := range y.Len() {
			angle := 2 * math.Pi * float64(i) / n
			y.SetFloat(i, a+b*math.Cos(angle)+d*math.Cos(2*angle))
		}
		return compose.Const(y)
	}
}

// melWeightMatrix sums the bins of a spectrum into triangles that are equally wide on the mel scale.
func melWeightMatrix(c *call) *graph.Value {
	bins, length, rate := c.KnownInt(0, "num_mel_bins"), c.KnownInt(1, "dft_length"), c.KnownFloat(2, "sample_rate")
	low, high := c.KnownFloat(3, "lower_edge_hertz"), c.KnownFloat(4, "upper_edge_hertz")
	if bins < 1 || length < 1 || bins > 1<<20 || length > 1<<30 || !(rate > 0) {
		compose.Fail("%s, DFT of %d, rate %v", spelling.Count(bins, "bin"), length, rate)
	}
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	step := (mel(high) - mel(low)) / float64(bins+2)
	rows := length/2 + 1
	edges := make([]int, bins+2)
	for i := range edges {
		hertz := 700 * (math.Pow(10, (mel(low)+float64(i)*step)/2595) - 1)
		edges[i] = int(math.Floor(float64(length+1) * hertz / rate))
		if edges[i] < 0 || edges[i] >= rows {
			compose.Fail("edge %v Hz is outside of the spectrum", hertz)
		}
	}
	d := c.DType("output_datatype", types.F32)
	t := c.Zeros(d, rows, bins)
	for i := range bins {
		lower, center, upper := edges[i], edges[i+1], edges[i+2]
		if lower == center {
			t.SetFloat(center*bins+i, 1)
		}
		for j := lower; j <= center && lower < center; j++ {
			t.SetFloat(j*bins+i, float64(j-lower)/float64(center-lower))
		}
		for j := center; j < upper; j++ {
			t.SetFloat(j*bins+i, float64(upper-j)/float64(upper-center))
		}
	}
	return compose.Const(t)
}
