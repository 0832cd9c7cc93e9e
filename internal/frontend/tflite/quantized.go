package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Quantised arithmetic is that of XNNPACK where it has a kernel for 8 bits, since that is what TensorFlow Lite runs on today's machines, and
// that of TensorFlow Lite's own kernels elsewhere: the fixed-point arithmetic of gemmlowp for 16 bits.

// bytes is the size of an element.
func (e elemType) bytes() int {
	d, _ := e.dtype()
	return d.Size()
}

// roundAway rounds half away from zero.
func roundAway(x float64) float64 { return math.Round(x) }

// scalars is the scale of the elements: one number of rank 0, or one for each index of an axis.
func (x *tensorInfo) scales() *graph.Value {
	if len(x.quant.scale) == 1 {
		return compose.Const(tensor.Scalar(x.quant.scale[0]))
	}
	return compose.Const(tensor.Of([]int{len(x.quant.scale)}, x.quant.scale))
}

// scale is the only one, which stops where there are several.
func (x *tensorInfo) scale() float32 {
	if len(x.quant.scale) != 1 {
		compose.Fail("tensor %q has a scale for each index of an axis, which is not supported here", x.name)
	}
	return x.quant.scale[0]
}

// zeros are the zero points, in type d: one number where they are equal, else one for each index of an axis.
func (x *tensorInfo) zeros(d types.DType) *graph.Value {
	for _, z := range x.quant.zero {
		if z != x.quant.zero[0] {
			t := tensor.New(d, len(x.quant.zero))
			for i, z := range x.quant.zero {
				t.SetInt(i, z)
			}
			return compose.Const(t)
		}
	}
	return compose.Number(d, float64(x.zero()))
}

// dtypeOf is the element type of quantised elements.
func (x *tensorInfo) dtype() types.DType {
	d, err := x.elem.dtype()
	if err != nil {
		compose.Fail("%w", err)
	}
	return d
}

// dequantized is the real numbers that v stands for.
func (c *call) dequantized(v *graph.Value, x *tensorInfo) *graph.Value {
	return c.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: x.quant.axis}, v, x.scales(), x.zeros(v.Type.DType))
}

// quantize rounds real numbers half to even.
func (c *call) quantize(v *graph.Value, x *tensorInfo) *graph.Value {
	a := ops.QuantizeAttrs{Axis: x.quant.axis, OutDType: x.dtype(), Rounding: ops.HalfEven}
	return c.Apply(ops.Quantize, a, v, x.scales(), x.zeros(x.dtype()))
}

// rescaled brings integers to another scale, zero point and type. XNNPACK does so with 8 bits behind the point, between equal types of 8 bits.
func (c *call) rescaled(v *graph.Value, from, to *tensorInfo) *graph.Value {
	ratio := from.scale() / to.scale()
	if c.options().reference || from.elem != to.elem || from.elem.bytes() != 1 || ratio < 1.0/256 || ratio > 128 {
		return c.rescaledFixed(v, from, to)
	}
	y := c.shifted(v, from)
	y = c.Do(ops.Add, c.Do(ops.Multiply, y, compose.Like(y, roundEven(256*float64(ratio)))), compose.Like(y, float64(to.zero()<<8+128)))
	return c.saturated(c.Do(ops.RightShift, y, compose.Like(y, 8)), to.dtype())
}

// saturated is int32 within the range of a smaller type.
func (c *call) saturated(y *graph.Value, d types.DType) *graph.Value {
	lo, hi := d.IntRange()
	return c.Cast(c.Apply(ops.Clip, ops.ClipAttrs{Min: float64(lo), Max: float64(hi), HasMin: true, HasMax: true}, y), d)
}

// remapped is rescaled by a table with 8 bits, which rounds half away from zero.
func (c *call) remapped(v *graph.Value, from, to *tensorInfo) *graph.Value {
	if from.elem.bytes() != 1 || to.elem.bytes() != 1 {
		return c.rescaled(v, from, to)
	}
	ratio := from.scale() / to.scale()
	offset := -float32(from.zero()) * ratio
	return c.lookup(v, to.dtype(), func(q int) float64 {
		return roundAway(float64(float32(q)*ratio+offset)) + float64(to.zero())
	})
}

// lookup replaces 8-bit integers by f of them, saturated to type d. The table is in the order of the bits, so that a negative index, which counts
// from the end, finds its place.
func (c *call) lookup(v *graph.Value, d types.DType, f func(q int) float64) *graph.Value {
	t := tensor.New(d, 256)
	lo, hi := d.IntRange()
	for i := range 256 {
		q := i
		if v.Type.DType.IsSigned() {
			q = int(int8(i))
		}
		y := f(q)
		if y != y {
			y = 0
		}
		t.SetInt(i, int64(min(max(y, float64(lo)), float64(hi))))
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, compose.Const(t), c.Cast(v, types.I32))
}

// tabled computes a function of one element for all 256 numbers, and looks it up.
func (c *call) tabled(v *graph.Value, from, to *tensorInfo, f func(x *graph.Value) *graph.Value) *graph.Value {
	reals := tensor.New(types.F32, 256)
	for i := range 256 {
		q := i
		if v.Type.DType.IsSigned() {
			q = int(int8(i))
		}
		reals.SetFloat(i, float64(float32(q-from.zero())*from.scale()))
	}
	y := f(compose.Const(reals)).Value()
	if y == nil {
		compose.Fail("the values of the function are not known")
	}
	scale, zero := to.scale(), float64(to.zero())
	return c.lookup(v, to.dtype(), func(q int) float64 { return roundAway(float64(float32(y.Float(q&255))/scale)) + zero })
}

// bounds are the integers within which a fused activation leaves a result.
func (c *call) bounds(to *tensorInfo) (lo, hi int) {
	least, most := to.dtype().IntRange()
	lo, hi = int(least), int(most)
	a := c.Int("fused_activation_function", 0)
	if a == 0 {
		return lo, hi
	}
	if a < 0 || a >= len(activations) {
		compose.Fail("fused activation function %d of quantised numbers is not supported", a)
	}
	at := func(bound float64) int { return to.zero() + int(roundAway(float64(float32(bound)/to.scale()))) }
	if r := activations[a]; r.hasLo {
		lo = max(lo, at(r.lo))
		if r.hasHi {
			hi = min(hi, at(r.hi))
		}
	}
	return lo, hi
}

// clamped limits integers of the result's type to what the fused activation leaves.
func (c *call) clamped(y *graph.Value, to *tensorInfo) *graph.Value {
	lo, hi := c.bounds(to)
	if least, most := to.dtype().IntRange(); lo == int(least) && hi == int(most) {
		return y
	}
	return c.Apply(ops.Clip, ops.ClipAttrs{Min: float64(lo), Max: float64(hi), HasMin: true, HasMax: true}, y)
}

// narrowed is int32 with a zero point added and within the bounds, in the result's type.
func (c *call) narrowed(y *graph.Value, to *tensorInfo) *graph.Value {
	if z := to.zero(); z != 0 {
		y = c.Do(ops.Add, y, compose.Like(y, float64(z)))
	}
	lo, hi := c.bounds(to)
	return c.Cast(c.Apply(ops.Clip, ops.ClipAttrs{Min: float64(lo), Max: float64(hi), HasMin: true, HasMax: true}, y), to.dtype())
}

// shifted is integers less their zero point, in int32.
func (c *call) shifted(v *graph.Value, x *tensorInfo) *graph.Value {
	v = c.Cast(v, types.I32)
	if z := x.zero(); z != 0 {
		v = c.Do(ops.Subtract, v, compose.Like(v, float64(z)))
	}
	return v
}

// products are the scales of sums of products, in float32.
func products(x, w *tensorInfo) []float32 {
	out := make([]float32, len(w.quant.scale))
	for i, s := range w.quant.scale {
		out[i] = x.scale() * s
	}
	return out
}

func vector(list []float32) *graph.Value {
	if len(list) == 1 {
		return compose.Const(tensor.Scalar(list[0]))
	}
	return compose.Const(tensor.Of([]int{len(list)}, list))
}

// permuted is transpose, of integer weights as a constant of their own: what makes dot products of integer products looks at weights before
// constants are folded.
func (c *call) permuted(w *graph.Value, axes ...int) *graph.Value {
	if d := c.permutedDequantized(w, axes); d != nil {
		return d
	}
	if w.Const == nil || w.Type.DType.Size() != 1 || len(axes) != w.Type.Rank() {
		return c.Transpose(w, axes...)
	}
	from := w.Const
	shape, strides := make([]int, len(axes)), make([]int, len(axes))
	for k, a := range axes {
		shape[k], strides[k] = from.Shape[a], types.Count(from.Shape[a+1:])
	}
	out := c.Zeros(from.DType, shape...)
	at := make([]int, len(axes))
	place := 0
	for i := range out.Bytes() {
		out.Bytes()[i] = from.Bytes()[place]
		for k := len(axes) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				place += strides[k]
				break
			}
			at[k], place = 0, place-strides[k]*(shape[k]-1)
		}
	}
	return graph.NewConst(w.Name, out)
}
