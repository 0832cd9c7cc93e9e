package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
)

var convRows = []row{
	{"Conv1D", one(conv)}, {"Conv2D", one(conv)}, {"Conv3D", one(conv)}, {"DepthwiseConv1D", one(depthwise)}, {"DepthwiseConv2D", one(depthwise)},
	{"SeparableConv1D", one(separable)}, {"SeparableConv2D", one(separable)},
	{"Conv1DTranspose", one(convTranspose)}, {"Conv2DTranspose", one(convTranspose)}, {"Conv3DTranspose", one(convTranspose)},
}

// window reads the options of a convolution or pooling of x, whose channels come second.
func (c *call) window(x *graph.Value, kernel []int) compose.Window {
	c.Ignore("kernel_size", "implementation")
	in := x.Type.Shape[2:]
	n := len(in)
	w := compose.Window{In: in, Kernel: kernel, Strides: c.extents("strides", n, 1), Dilation: c.extents("dilation_rate", n, 1)}
	switch c.OneOf("padding", "valid", "valid", "same", "causal", "half") {
	case "same", "half":
		w.Padding = w.Same(true)
	case "causal":
		w.Padding = make([]int, 2*n)
		w.Padding[0] = (kernel[0] - 1) * w.Dilation[0]
	default:
		w.Padding = make([]int, 2*n)
	}
	return w
}

// kernelOf is weight i with its spatial axes, as many as data have, moved behind two others, which it names in the order wanted.
func (c *call) kernelOf(i, first, second int) *graph.Value {
	return c.spatialKernel(i, c.Rank(0)-2, first, second)
}

func (c *call) spatialKernel(i, n, first, second int) *graph.Value {
	k := c.weight(i)
	if n < 1 || n != k.Type.Rank()-2 {
		compose.Fail("a kernel %s for %d spatial axes", k.Type, n)
	}
	return c.Transpose(k, append([]int{n + first, n + second}, through(0, n)...)...)
}

// convolve is a convolution of x, channels second, by a kernel [out, in/groups, ...], with the bias in weight number bias where the layer has one.
func (c *call) convolve(x, kernel *graph.Value, w compose.Window, groups, bias int) *graph.Value {
	var b *graph.Value
	if c.Bool("use_bias", true) && bias > 0 {
		b = c.weight(bias)
	}
	return c.Conv(w, groups, x, kernel, b)
}

func conv(c *call) *graph.Value {
	c.Ignore("nb_filter")
	kernel := c.kernelOf(0, 1, 0)
	return c.activated(c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.convolve(x, kernel, c.window(x, kernel.Type.Shape[2:]), c.Int("groups", 1), 1)
	}))
}

// depthwiseKernel is weight 0, [..., channels, multiplier], as [channels*multiplier, 1, ...].
func (c *call) depthwiseKernel() *graph.Value {
	k := c.kernelOf(0, 0, 1)
	return c.Reshape(k, append([]int{k.Type.Shape[0] * k.Type.Shape[1], 1}, k.Type.Shape[2:]...)...)
}

func depthwise(c *call) *graph.Value {
	c.Ignore("groups")
	kernel := c.depthwiseKernel()
	return c.activated(c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.convolve(x, kernel, c.window(x, kernel.Type.Shape[2:]), x.Type.Shape[1], 1)
	}))
}

// separable is a convolution of each channel and one of 1x1 over channels behind it.
func separable(c *call) *graph.Value {
	c.Ignore("groups")
	kernel, points := c.depthwiseKernel(), c.kernelOf(1, 1, 0)
	return c.activated(c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		y := c.convolve(x, kernel, c.window(x, kernel.Type.Shape[2:]), x.Type.Shape[1], 0)
		ones := c.extents("", len(y.Type.Shape)-2, 1)
		return c.convolve(y, points, compose.Window{In: y.Type.Shape[2:], Strides: ones, Dilation: ones, Padding: make([]int, 2*len(ones))}, 1, 2)
	}))
}

// convTranspose has the extents with which TensorFlow's gradient of a convolution gives the input's back.
func convTranspose(c *call) *graph.Value {
	c.Ignore("groups", "kernel_size")
	kernel := c.kernelOf(0, 1, 0)
	return c.activated(c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		n := len(x.Type.Shape) - 2
		w := compose.Window{In: x.Type.Shape[2:], Kernel: kernel.Type.Shape[2:], Strides: c.extents("strides", n, 1), Dilation: c.extents("dilation_rate", n, 1)}
		same := c.OneOf("padding", "valid", "valid", "same") == "same"
		given := c.Ints("output_padding")
		out := make([]int, n)
		for k, in := range w.In {
			span := (w.Kernel[k]-1)*w.Dilation[k] + 1
			switch {
			case given != nil && same:
				out[k] = (in-1)*w.Strides[k] + span - 2*(span/2) + given[min(k, len(given)-1)]
			case given != nil:
				out[k] = (in-1)*w.Strides[k] + span + given[min(k, len(given)-1)]
			case same:
				out[k] = in * w.Strides[k]
			default:
				out[k] = in*w.Strides[k] + max(span-w.Strides[k], 0)
			}
		}
		var bias *graph.Value
		if c.Bool("use_bias", true) {
			bias = c.weight(1)
		}
		var extra []int
		w.Padding, extra = w.Transposed(out, make([]int, n), true)
		return c.ConvTranspose(w, extra, 1, x, kernel, bias)
	}))
}
