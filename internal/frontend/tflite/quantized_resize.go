package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A blend is what a line or column of a resized image is made of: two of the image's, and the weight of the second.
type blend struct{ lower, upper, weight int }

// blends are those of an axis, in fixed point with the given bits behind the point: XNNPACK computes places in float32, TensorFlow Lite's
// reference kernel from a scale that is rounded itself.
func (c *call) blends(in, out, bits int, align, half bool) []blend {
	list := make([]blend, out)
	if c.options().reference {
		one := 1 << bits
		scale := (one*in + out/2) / out
		if align && out > 1 {
			scale = (one*(in-1) + (out-1)/2) / (out - 1)
		}
		for i := range list {
			at := i * scale
			if half {
				at += scale/2 - one/2
			}
			lower := max(at/one, 0)
			list[i] = blend{lower, min((at+one-1)/one, in-1), at - one*lower}
		}
		return list
	}
	scale := float32(in) / float32(out)
	if align && out > 1 {
		scale = float32(in-1) / float32(out-1)
	}
	for i := range list {
		at := float32(i) * scale
		if half {
			at = (float32(i)+0.5)*scale - 0.5
		}
		at = min(max(at, 0), float32(in-1))
		lower := int(at)
		list[i] = blend{lower, min(lower+1, in-1), int(roundEven(float64((at - float32(lower)) * float32(int(1)<<bits))))}
	}
	return list
}

// quantizedBilinear blends along each axis: lines first, then columns, XNNPACK in 11 bits and rounding half up, TensorFlow Lite's reference kernel
// in 10 and half away from zero.
func (c *call) quantizedBilinear(x *graph.Value, sizes []int, align, half bool) *graph.Value {
	bits := 11
	if c.options().reference {
		bits = 10
	}
	for _, k := range []int{1, 0} {
		axis, in, out := 1+k, x.Type.Shape[1+k], sizes[k]
		if in == 0 {
			compose.Fail("no pixels in %s", x.Type)
		}
		lower, upper := make([]int, out), make([]int, out)
		weight := tensor.New(types.I32, append([]int{out}, slices.Repeat([]int{1}, 3-axis)...)...)
		for i, b := range c.blends(in, out, bits, align, half) {
			lower[i], upper[i] = b.lower, b.upper
			weight.SetInt(i, int64(b.weight))
		}
		a := c.Cast(c.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, x, compose.Ints(lower...)), types.I32)
		b := c.Cast(c.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, x, compose.Ints(upper...)), types.I32)
		w := compose.Const(weight)
		x = c.Do(ops.Add, c.Do(ops.Multiply, a, c.Do(ops.Subtract, compose.Number(types.I32, float64(int(1)<<bits)), w)), c.Do(ops.Multiply, b, w))
	}
	point := float64(int(1) << (2 * bits))
	if c.options().reference {
		nudge := c.Do(ops.Where, c.Do(ops.Greater, x, compose.Like(x, 0)), compose.Like(x, point/2), compose.Like(x, -point/2))
		return c.Cast(c.Do(ops.Divide, c.Do(ops.Add, x, nudge), compose.Like(x, point)), c.to(0).dtype())
	}
	rounded := c.Do(ops.Add, x, compose.Like(x, point/2))
	return c.Cast(c.Do(ops.RightShift, rounded, compose.Like(x, float64(2*bits))), c.to(0).dtype())
}
