package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var nnRows = []row{
	{"CONV_2D", one(conv2d)}, {"DEPTHWISE_CONV_2D", one(depthwiseConv2d)}, {"TRANSPOSE_CONV", one(transposeConv)},
	{"CONV_3D", real(one(conv3d))}, {"CONV_3D_TRANSPOSE", real(one(conv3dTransposed))}, {"FULLY_CONNECTED", one(fullyConnected)}, {"BATCH_MATMUL", one(batchMatmul)},
	{"SOFTMAX", one(softmax)}, {"LOG_SOFTMAX", real(one(logSoftmax))},
	{"L2_NORMALIZATION", real(one(l2Normalization))}, {"LOCAL_RESPONSE_NORMALIZATION", one(localResponse)},
}

// Images have their channels last here and first in the graph. The transposes around every operator on images are removed by
// the layout passes.

// first brings channels of an image to the front, last back to the end.
func (c *call) first(x *graph.Value) *graph.Value {
	if x.Type.Rank() != 4 {
		compose.Fail("%q is %s, not an image of four axes", x.Name, x.Type)
	}
	return c.Transpose(x, 0, 3, 1, 2)
}

func (c *call) last(x *graph.Value) *graph.Value { return c.Transpose(x, 0, 2, 3, 1) }

// window reads strides and padding of an operator on images; in and kernel are height and width.
func (c *call) window(in, kernel []int) compose.Window {
	w := compose.Window{In: in, Kernel: kernel,
		Strides:  []int{c.Int("stride_h", 0), c.Int("stride_w", 0)},
		Dilation: []int{c.Int("dilation_h_factor", 1), c.Int("dilation_w_factor", 1)}}
	w.Padding = padded(w, c.Int("padding", 0))
	return w
}

// padded is the padding of a window by its number: SAME or VALID.
func padded(w compose.Window, padding int) []int {
	for k := range w.In {
		if w.Strides[k] < 1 || w.Dilation[k] < 1 || w.Kernel[k] < 1 {
			compose.Fail("strides %v, dilation %v, kernel %v", w.Strides, w.Dilation, w.Kernel)
		}
	}
	switch padding {
	case 0:
		return w.Same(true)
	case 1:
		return make([]int, 2*len(w.In))
	default:
		compose.Fail("padding %d is not supported", padding)
		return nil
	}
}

func conv2d(c *call) *graph.Value {
	c.WantRank(1, 4)
	w := c.permuted(c.X(1), 0, 3, 1, 2) // O,H,W,I
	channels, each := c.Shape(0)[c.Rank(0)-1], w.Type.Shape[1]
	if each == 0 || channels%each != 0 {
		compose.Fail("%d channels by a filter for %d", channels, each)
	}
	return c.convolution(w, channels/each, 0)
}

// depthwiseConv2d has a filter [1, H, W, C*m], channel c*m+j of the result reading channel c.
func depthwiseConv2d(c *call) *graph.Value {
	c.WantRank(1, 4)
	c.Ignore("depth_multiplier") // follows from the shapes
	w := c.permuted(c.X(1), 3, 0, 1, 2)
	channels := c.Shape(0)[c.Rank(0)-1]
	if channels == 0 || w.Type.Shape[0]%channels != 0 || w.Type.Shape[1] != 1 {
		compose.Fail("filter %s for %d channels", c.X(1).Type, channels)
	}
	return c.convolution(w, channels, 3)
}

// convolution of operand 0, by weights [O, I, H, W] whose output channels are the given axis of operand 1.
func (c *call) convolution(w *graph.Value, groups, axis int) *graph.Value {
	x := c.first(c.X(0))
	win := c.window(x.Type.Shape[2:], w.Type.Shape[2:])
	a := ops.ConvAttrs{Strides: win.Strides, Padding: win.Padding, Dilation: win.Dilation, Groups: groups}
	switch from, weight := c.from(0), c.from(1); {
	case from.quantized():
		return c.last(c.quantizedConv(ops.QnnConv2d, a, x, w, axis))
	case weight.quantized() && c.options().floats:
		w = c.realWeight(w, weight, axis)
	case weight.quantized():
		return c.hybridConv(a, w)
	}
	in := values{x, c.plain(w)}
	if bias := c.bias(); bias != nil {
		in = append(in, bias)
	}
	return c.last(c.activated(c.Apply(ops.Conv2d, a, in...)))
}

// bias is operand 2, a vector, or nil.
func (c *call) bias() *graph.Value {
	b := c.Opt(2)
	if b != nil && b.Type.Rank() != 1 {
		b = c.Reshape(b, b.Type.Elements())
	}
	return b
}

// plain is weights in float32, which some files hold in 16 bits.
func (c *call) plain(w *graph.Value) *graph.Value {
	if d := w.Type.DType; d == types.F16 || d == types.BF16 {
		return c.Cast(w, types.F32)
	}
	return w
}

// conv3d is on volumes [N, D, H, W, C], by a filter [D, H, W, I, O].
func conv3d(c *call) *graph.Value {
	c.WantRank(0, 5)
	c.WantRank(1, 5)
	x, w := c.Transpose(c.X(0), 0, 4, 1, 2, 3), c.Transpose(c.X(1), 4, 3, 0, 1, 2)
	win := c.window3d(x.Type.Shape[2:], w.Type.Shape[2:])
	in := values{x, c.plain(w)}
	if bias := c.bias(); bias != nil {
		in = append(in, bias)
	}
	y := c.Apply(ops.Conv3d, ops.ConvAttrs{Strides: win.Strides, Padding: win.Padding, Dilation: win.Dilation, Groups: 1}, in...)
	return c.Transpose(c.activated(y), 0, 2, 3, 4, 1)
}

// window3d reads strides, dilation and padding of an operator on volumes.
func (c *call) window3d(in, kernel []int) window {
	w := compose.Window{In: in, Kernel: kernel,
		Strides:  []int{c.Int("stride_d", 0), c.Int("stride_h", 0), c.Int("stride_w", 0)},
		Dilation: []int{c.Int("dilation_d_factor", 1), c.Int("dilation_h_factor", 1), c.Int("dilation_w_factor", 1)}}
	w.Padding = padded(w, c.Int("padding", 0))
	return window{w}
}

// fullyConnected multiplies rows of data by a weight [out, in].
func fullyConnected(c *call) *graph.Value {
	if f := c.Int("weights_format", 0); f != 0 {
		compose.Fail("weights in format %d are not supported", f)
	}
	if c.Rank(1) != 2 || c.Shape(1)[1] == 0 {
		compose.Fail("weight %s", c.X(1).Type)
	}
	x, inner := c.X(0), c.Shape(1)[1]
	shape := []int{x.Type.Elements() / inner, c.Shape(1)[0]}
	if c.Bool("keep_num_dims", false) {
		shape = append(append([]int{}, x.Type.Shape[:max(x.Type.Rank()-1, 0)]...), c.Shape(1)[0])
	}
	x = c.Reshape(x, x.Type.Elements()/inner, inner)
	var y *graph.Value
	switch {
	case c.from(0).quantized():
		y = c.quantizedDense(x)
	case c.from(1).quantized() && !c.options().floats:
		y = c.hybridDense(x)
	default:
		c.Ignore("asymmetric_quantize_inputs")
		y = c.Do(ops.Dense, x, c.realOperand(1))
		if bias := c.bias(); bias != nil {
			y = c.Do(ops.Add, y, bias)
		}
		y = c.activated(y)
	}
	return c.Reshape(y, shape...)
}

func batchMatmul(c *call) *graph.Value {
	a, b := c.X(0), c.X(1)
	x, y := c.Bool("adj_x", false), c.Bool("adj_y", false)
	c.WantRank(0, 2)
	c.WantRank(1, 2)
	switch {
	case c.from(0).quantized() && c.from(1).quantized():
		return c.quantizedMatmul(a, b, x, y)
	case c.from(1).quantized():
		c.Ignore("asymmetric_quantize_inputs")
		b = c.dequantized(b, c.from(1))
	}
	return c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: x, TransposeB: y}, a, b)
}

func softmax(c *call) *graph.Value {
	x, beta := c.X(0), c.Float("beta", 0)
	if x.Type.Rank() == 0 {
		compose.Fail("softmax of a scalar")
	}
	if from, to := c.from(0), c.to(0); from.quantized() && to.quantized() && from.elem.bytes() == 1 {
		return c.quantizedSoftmax(x, from, to, beta)
	}
	return real(one(func(c *call) *graph.Value {
		x := c.Scaled(c.X(0), beta)
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: x.Type.Rank() - 1}, x)
	}))(c)[0]
}

func logSoftmax(c *call) *graph.Value {
	c.WantRank(0, 1)
	return c.Apply(ops.LogSoftmax, ops.SoftmaxAttrs{Axis: c.Rank(0) - 1}, c.X(0))
}

func l2Normalization(c *call) *graph.Value {
	c.WantRank(0, 1)
	return c.activated(c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: []int{c.Rank(0) - 1}, Epsilon: 1e-12}, c.X(0)))
}

// localResponse does not divide alpha by the number of channels in the window.
func localResponse(c *call) *graph.Value {
	size := 2*c.Int("radius", 0) + 1
	return c.Apply(ops.LRN, ops.LRNAttrs{Size: size, Axis: c.Rank(0) - 1, Alpha: c.Float("alpha", 0) * float64(size), Beta: c.Float("beta", 0), Bias: c.Float("bias", 0)}, c.X(0))
}
