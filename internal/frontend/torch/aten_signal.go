package torch

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// complexRows are the operators that know complex tensors, whose last axis is real and imaginary part.
var complexRows = map[string]bool{"abs": true, "absolute": true, "view_as_real": true, "real": true, "imag": true, "angle": true, "slice": true, "unsqueeze": true, "squeeze": true, "reshape": true, "view": true,
	"permute": true, "transpose": true, "detach": true, "alias": true, "clone": true, "contiguous": true, "cat": true, "flatten": true, "resolve_conj": true, "norm": true, "select": true}

var signalRows = []row{
	sig("stft", "self n_fft:i hop_length win_length window normalized:b onesided return_complex align_to_window", stft),
	sig("stft", "self n_fft:i hop_length win_length window center:b pad_mode:s normalized:b onesided return_complex align_to_window", func(c *call) any {
		if c.bool("center", true) {
			n := c.int("n_fft", 0) / 2
			mode := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge"}[c.str("pad_mode", "reflect")]
			c.args["self"] = c.fresh(c.padded(c.x("self"), []int{n, n}, mode, 0))
		}
		return stft(c)
	}),
	sig("fft_rfft", "self n dim:i norm", func(c *call) any { return c.fourier(compose.Fourier{Onesided: true}) }),
	sig("fft_fft", "self n dim:i norm", func(c *call) any { return c.fourier(compose.Fourier{}) }),
	sig("fft_ifft", "self n dim:i norm", func(c *call) any { return c.fourier(compose.Fourier{Inverse: true}) }),
	sig("angle", "self", func(c *call) any {
		x := c.x("self")
		if !c.t("self").complex {
			return c.Do(ops.Where, c.Do(ops.Less, x, like(x, 0)), like(x, math.Pi), like(x, 0))
		}
		last := x.Type.Rank() - 1
		return c.Do(ops.Atan2, c.At(x, last, 1), c.At(x, last, 0))
	}),
	sig("complex", "real imag", func(c *call) any {
		x, y := c.both("real", "imag")
		return c.complexOf(c.Stack(x.Type.Rank(), x, y))
	}),
	sig("polar", "abs angle", func(c *call) any {
		x, y := c.both("abs", "angle")
		return c.complexOf(c.Stack(x.Type.Rank(), c.Do(ops.Multiply, x, c.Do(ops.Cos, y)), c.Do(ops.Multiply, x, c.Do(ops.Sin, y))))
	}),
}

func (m *machine) complexOf(x *graph.Value) *tensor {
	t := m.fresh(x)
	t.complex = true
	return t
}

// fourier transforms an axis.
func (c *call) fourier(f compose.Fourier) any {
	t := c.t("self")
	x := c.real(c.get(t))
	if !t.complex {
		x = c.ExpandDims(x, x.Type.Rank())
	}
	a := c.axis("dim", -1, x.Type.Rank()-1)
	n := x.Type.Shape[a]
	f.Length = c.int("n", n)
	scale := 1.0
	switch norm := c.str("norm", "backward"); {
	case norm == "ortho" && !f.Inverse:
		scale = 1 / math.Sqrt(float64(f.Length))
	case norm == "ortho":
		scale = math.Sqrt(float64(f.Length))
	case norm == "forward" && !f.Inverse:
		scale = 1 / float64(f.Length)
	case norm == "forward":
		scale = float64(f.Length)
	}
	return c.complexOf(c.Scaled(c.DFT(x, a, f), scale))
}

// stft transforms frames of a signal [samples] or [batch, samples], each multiplied by a window, to [.., bins, frames].
func stft(c *call) any {
	x := c.float("self")
	alone := x.Type.Rank() == 1
	if alone {
		x = c.ExpandDims(x, 0)
	}
	n := c.int("n_fft", 0)
	hop, width := c.int("hop_length", n/4), c.int("win_length", n)
	samples := x.Type.Shape[1]
	if x.Type.Rank() != 2 || n < 1 || n > samples || hop < 1 || width < 1 || width > n {
		fail("frames of %d, every %d, of a signal %s", n, hop, x.Type)
	}
	frames := (samples-n)/hop + 1
	places := c.Zeros(types.I64, frames, n)
	for i := range frames {
		for j := range n {
			places.SetInt(i*n+j, int64(i*hop+j))
		}
	}
	x = c.Apply(ops.Take, ops.TakeAttrs{Axis: 1}, x, compose.Const(places)) // [batch, frames, n]
	if w := c.stftWindow(width, n, x.Type.DType); w != nil {
		x = c.Do(ops.Multiply, x, w)
	}
	onesided := c.bool("onesided", true)
	y := c.DFT(c.ExpandDims(x, 3), 2, compose.Fourier{Length: n, Onesided: onesided})
	if c.bool("normalized", false) {
		y = c.Scaled(y, 1/math.Sqrt(float64(n)))
	}
	y = c.Transpose(y, 0, 2, 1, 3)
	if alone {
		y = c.Squeeze(y, 0)
	}
	if c.bool("return_complex", false) {
		return c.complexOf(y)
	}
	return y
}

// stftWindow is the window within frames of n, nil where it is 1 everywhere.
func (c *call) stftWindow(width, n int, d types.DType) *graph.Value {
	left := (n - width) / 2
	if !c.given("window") {
		if width == n {
			return nil
		}
		w := hosttensor.New(d, n)
		for i := range width {
			w.SetFloat(left+i, 1)
		}
		return compose.Const(w)
	}
	w := c.Cast(c.x("window"), d)
	if width == n {
		return w
	}
	return c.padded(w, []int{left, n - width - left}, "constant", 0)
}
