package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// quantizedConv is a convolution of integers [N, C, ...] by a weight [O, I, ...].
func (c *call) quantizedConv(d *op.Def, a ops.ConvAttrs, x, w *graph.Value, axis int) *graph.Value {
	from, weight := c.from(0), c.from(1)
	if from.elem.bytes() == 2 {
		return c.wide(x, 1, func(part *graph.Value) *graph.Value {
			return c.Apply(d, a, part, compose.Like(part, 0), w, weight.zeros(w.Type.DType))
		})
	}
	return c.requantized(c.Apply(d, a, x, from.zeros(x.Type.DType), w, weight.zeros(w.Type.DType)), 1)
}

// requantized adds the bias, operand 2, to sums of products of operands 0 and 1, and brings them to the scale of the result: in float32, rounded
// half to even. axis is that of the channels.
func (c *call) requantized(sums *graph.Value, axis int) *graph.Value {
	to := c.to(0)
	if bias := c.bias(); bias != nil {
		sums = c.Do(ops.Add, sums, c.along(c.Cast(bias, types.I32), sums.Type.Rank(), axis))
	}
	if !to.quantized() {
		compose.Fail("quantised operands with a result that is not")
	}
	if c.options().reference {
		return c.narrowed(c.MultiplyFixed(sums, axis, c.factors()...), to)
	}
	y := c.Requantize(sums, vector(products(c.from(0), c.from(1))), compose.Const(tensor.Scalar(to.scale())), to.zeros(to.dtype()), axis)
	return c.clamped(y, to)
}

// factors bring sums of products of operands 0 and 1 to the scale of the result, in fixed point.
func (c *call) factors() []compose.FixedPoint {
	var list []compose.FixedPoint
	for _, s := range c.from(1).quant.scale {
		list = append(list, compose.FixedPointOf(float64(c.from(0).scale())*float64(s)/float64(c.to(0).scale())))
	}
	return list
}

// along gives a vector the shape in which it goes along an axis.
func (c *call) along(v *graph.Value, rank, axis int) *graph.Value {
	shape := slices.Repeat([]int{1}, rank-axis)
	shape[0] = v.Type.Elements()
	return c.Reshape(v, shape...)
}

func (c *call) quantizedDense(x *graph.Value) *graph.Value {
	from, weight, w := c.from(0), c.from(1), c.permuted(c.X(1), 1, 0)
	if from.elem.bytes() == 2 {
		return c.wide(x, 1, func(part *graph.Value) *graph.Value {
			return c.Do(ops.QnnMatmul, part, compose.Like(part, 0), w, weight.zeros(w.Type.DType))
		})
	}
	return c.requantized(c.Do(ops.QnnMatmul, x, from.zeros(x.Type.DType), w, weight.zeros(w.Type.DType)), 1)
}

func (c *call) quantizedMatmul(a, b *graph.Value, adjointA, adjointB bool) *graph.Value {
	swapped := func(v *graph.Value) *graph.Value {
		n := v.Type.Rank()
		axes := make([]int, n)
		for i := range axes {
			axes[i] = i
		}
		axes[n-2], axes[n-1] = n-1, n-2
		return c.Transpose(v, axes...)
	}
	if adjointA {
		a = swapped(a)
	}
	if adjointB {
		b = swapped(b)
	}
	c.Ignore("asymmetric_quantize_inputs")
	x, y, to := c.from(0), c.from(1), c.to(0)
	sums := c.Do(ops.QnnMatmul, a, x.zeros(a.Type.DType), b, y.zeros(b.Type.DType))
	if c.options().reference {
		return c.narrowed(c.MultiplyFixed(sums, 0, c.factors()...), to)
	}
	return c.Requantize(sums, vector(products(x, y)), compose.Const(tensor.Scalar(to.scale())), to.zeros(to.dtype()), 0)
}

// quantizedTransposed is a convolution of data that is spread apart, by the weight [O, H, W, I] turned around.
func (c *call) quantizedTransposed(a ops.ConvTransposeAttrs, x *graph.Value) *graph.Value {
	from := c.from(0)
	kernel := c.Shape(1)[1:3]
	w := c.permuted(c.Reverse(c.X(1), 1, 2), 0, 3, 1, 2)
	pads := make([]int, 4)
	for k, s := range a.Strides {
		x = c.spread(x, 2+k, s, float64(from.zero()))
		pads[k] = kernel[k] - 1 - a.Padding[k]
		pads[2+k] = kernel[k] - 1 - a.Padding[2+k] + a.OutputPadding[k]
	}
	for k := range a.Strides { // what is cut off
		lo, hi := max(-pads[k], 0), max(-pads[2+k], 0)
		x = c.Slice(x, 2+k, lo, x.Type.Shape[2+k]-hi)
		pads[k], pads[2+k] = max(pads[k], 0), max(pads[2+k], 0)
	}
	return c.quantizedConv(ops.QnnConv2d, ops.ConvAttrs{Strides: []int{1, 1}, Padding: pads, Dilation: []int{1, 1}, Groups: 1}, x, w, 0)
}

// spread puts step-1 times a value between the elements of an axis.
func (c *call) spread(x *graph.Value, axis, step int, between float64) *graph.Value {
	n := x.Type.Shape[axis]
	if step == 1 || n < 2 {
		return x
	}
	shape := slices.Clone(x.Type.Shape)
	after := make([]int, len(shape)+1)
	after[axis+1] = step - 1
	x = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: make([]int, len(after)), PadAfter: after, Mode: "constant", Value: between}, c.ExpandDims(x, axis+1))
	shape[axis] = n * step
	return c.Slice(c.Reshape(x, shape...), axis, 0, (n-1)*step+1)
}

// quantizedAverage is the int32 sum of each window by the number of its elements, rounded half away from zero; the scale stays.
func (c *call) quantizedAverage(x *graph.Value, w compose.Window) *graph.Value {
	channels := x.Type.Shape[1]
	ones := c.Full(types.I8, 1, channels, 1, w.Kernel[0], w.Kernel[1])
	a := ops.ConvAttrs{Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, Groups: channels}
	sum := func(x *graph.Value) *graph.Value {
		return c.Apply(ops.QnnConv2d, a, x, compose.Like(x, 0), ones, compose.Number(types.I8, 0))
	}
	sums := sum(x)
	taps := c.taps(w, sums.Type.Shape[2:])
	half := c.Do(ops.RightShift, taps, compose.Like(taps, 1))
	negative := c.Do(ops.Less, sums, compose.Like(sums, 0))
	nudged := c.Do(ops.Where, negative, c.Do(ops.Subtract, sums, half), c.Do(ops.Add, sums, half))
	y := c.Cast(c.Do(ops.Divide, nudged, taps), x.Type.DType)
	return c.clamped(y, c.to(0))
}

// taps is how many elements the windows have, as int32: one number where that is the same for all.
func (c *call) taps(w compose.Window, out []int) *graph.Value {
	t := c.Zeros(types.I32, out...)
	inside := func(k, o int) int {
		n := 0
		for i := range w.Kernel[k] {
			if at := o*w.Strides[k] - w.Padding[k] + i; at >= 0 && at < w.In[k] {
				n++
			}
		}
		return n
	}
	same := true
	for i := range out[0] {
		for j := range out[1] {
			t.SetInt(i*out[1]+j, int64(inside(0, i)*inside(1, j)))
			same = same && t.Int(i*out[1]+j) == t.Int(0)
		}
	}
	if same && t.Len() > 0 {
		return compose.Number(types.I32, float64(t.Int(0)))
	}
	return compose.Const(t)
}

// quantizedMean is the sum in one product by the scale over height and width, TensorFlow Lite's own fixed-point arithmetic over other axes.
func (c *call) quantizedMean(x *graph.Value, from, to *tensorInfo, axes []int, keep bool) *graph.Value {
	if len(axes) == 0 {
		return c.rescaled(x, from, to)
	}
	n := 1
	for _, k := range axes {
		n *= x.Type.Shape[k]
	}
	sums := c.Reduce(ops.Sum, c.Cast(x, types.I32), keep, axes...)
	if x.Type.Rank() == 4 && slices.Equal(axes, []int{1, 2}) && from.elem.bytes() == 1 && !c.options().reference {
		a := ops.RequantizeAttrs{OutDType: to.dtype(), Rounding: ops.HalfEven}
		scale := from.scale() / (to.scale() * float32(n))
		return c.Apply(ops.Requantize, a, sums, compose.Const(tensor.Scalar(scale)), compose.Like(sums, float64(n*from.zero())), compose.Const(tensor.Scalar(float32(1))), to.zeros(to.dtype()))
	}
	f := compose.FixedPointOf(float64(from.scale()) / float64(to.scale()))
	k := 0
	for n>>(k+1) > 0 {
		k++
	}
	k = min(k, 32, 31+f.Shift)
	f = compose.FixedPoint{Mantissa: (f.Mantissa << k) / max(n, 1), Shift: f.Shift - k}
	if z := n * from.zero(); z != 0 {
		sums = c.Do(ops.Subtract, sums, compose.Like(sums, float64(z)))
	}
	return c.narrowed(c.MultiplyFixed(sums, 0, f), to)
}

// quantizedSoftmax adds entries of a table of exponentials in float32.
func (c *call) quantizedSoftmax(x *graph.Value, from, to *tensorInfo, beta float64) *graph.Value {
	last := x.Type.Rank() - 1
	q := c.Cast(x, types.I32)
	below := c.Do(ops.Subtract, c.Reduce(ops.Max, q, true, last), q)
	table := c.Zeros(types.F32, 256)
	for d := range 256 {
		table.SetFloat(d, exp(-beta*float64(from.scale())*float64(d)))
	}
	e := c.Apply(ops.Take, ops.TakeAttrs{}, compose.Const(table), below)
	y := c.Do(ops.Divide, e, c.Reduce(ops.Sum, e, true, last))
	return c.quantize(y, to)
}
