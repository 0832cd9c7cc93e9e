package tflite

import (
	"encoding/binary"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A window of a transposed convolution lies on its result.
type window struct{ compose.Window }

// beyond is what has to be added behind data of the given extents for the result to have those of the window. Where the data give more, the last
// elements are dropped by padding.
func (w window) beyond(data []int) []int {
	rank := len(data)
	extra := make([]int, rank)
	for k, n := range data {
		reach := (w.Kernel[k]-1)*w.Dilation[k] + 1
		extra[k] = w.In[k] - ((n-1)*w.Strides[k] + reach - w.Padding[k] - w.Padding[rank+k])
		if extra[k] < 0 {
			w.Padding[rank+k] -= extra[k]
			extra[k] = 0
		}
	}
	return extra
}

// transposeConv has the operands output shape, weight [O, H, W, I], data and perhaps bias.
func transposeConv(c *call) *graph.Value {
	c.WantRank(1, 4)
	shape := c.to(0).shape // as the file computed it, where the operand is an input
	if c.X(0).Value() != nil {
		shape = c.KnownInts(0, "the output shape")
	}
	if len(shape) != 4 {
		compose.Fail("the output shape is %v, not of an image", shape)
	}
	inner := c.with(append(values{c.X(2), c.X(1)}, c.In[min(3, len(c.In)):]...)...)
	op := *c.op
	op.in = append([]*tensorInfo{c.op.in[2], c.op.in[1]}, c.op.in[min(3, len(c.op.in)):]...)
	inner.op = &op
	return inner.transposed(shape[1:3], []int{c.Int("stride_h", 0), c.Int("stride_w", 0)}, c.Int("padding", 0))
}

// biasedTransposed is MediaPipe's: data, weights, bias, and padding (1 SAME, 2 VALID), stride_w and stride_h as int32.
func biasedTransposed(c *call) *graph.Value {
	raw := c.op.customOptions
	c.WantRank(0, 4)
	c.WantRank(1, 4)
	if len(raw) < 12 {
		compose.Fail("options of %d bytes", len(raw))
	}
	number := func(i int) int { return int(int32(binary.LittleEndian.Uint32(raw[4*i:]))) }
	padding, strides := number(0)-1, []int{number(2), number(1)}
	out := make([]int, 2)
	for k := range out {
		if strides[k] < 1 || strides[k] > 1<<10 {
			compose.Fail("strides %v", strides)
		}
		out[k] = c.Shape(0)[1+k] * strides[k]
		if padding == 1 {
			out[k] = (c.Shape(0)[1+k]-1)*strides[k] + c.Shape(1)[1+k]
		}
	}
	return c.transposed(out, strides, padding)
}

// transposed is a transposed convolution of operand 0 by the weight [O, H, W, I] that gives an image of the extents out.
func (c *call) transposed(out, strides []int, padding int) *graph.Value {
	x := c.first(c.X(0))
	kernel := c.Shape(1)[1:3]
	win := window{compose.Window{In: out, Kernel: kernel, Strides: strides, Dilation: []int{1, 1}}}
	win.Padding = padded(win.Window, padding)
	extra := win.beyond(x.Type.Shape[2:])
	a := ops.ConvTransposeAttrs{Strides: strides, Padding: win.Padding, OutputPadding: extra, Dilation: win.Dilation, Groups: 1}
	if c.from(0).quantized() {
		return c.last(c.quantizedTransposed(a, x))
	}
	w := c.X(1)
	if c.from(1).quantized() {
		w = c.dequantized(w, c.from(1))
	}
	in := values{x, c.Transpose(c.plain(w), 3, 0, 1, 2)} // I, O, H, W
	if bias := c.bias(); bias != nil {
		in = append(in, bias)
	}
	return c.last(c.activated(c.Apply(ops.Conv2dTranspose, a, in...)))
}

// conv3dTransposed has the operands output shape, filter [D, H, W, O, I], data and perhaps bias.
func conv3dTransposed(c *call) *graph.Value {
	c.WantRank(1, 5)
	c.WantRank(2, 5)
	shape := c.KnownInts(0, "the output shape")
	if len(shape) != 5 {
		compose.Fail("the output shape is %v, not of a volume", shape)
	}
	x, w := c.Transpose(c.X(2), 0, 4, 1, 2, 3), c.Transpose(c.X(1), 4, 3, 0, 1, 2)
	win := c.window3d(shape[1:4], w.Type.Shape[2:])
	extra := win.beyond(x.Type.Shape[2:])
	a := ops.ConvTransposeAttrs{Strides: win.Strides, Padding: win.Padding, OutputPadding: extra, Dilation: win.Dilation, Groups: 1}
	in := values{x, c.plain(w)}
	if c.Present(3) {
		in = append(in, c.X(3))
	}
	return c.Transpose(c.activated(c.Apply(ops.Conv3dTranspose, a, in...)), 0, 2, 3, 4, 1)
}
