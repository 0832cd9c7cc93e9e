package tensorflow

import (
	"lathe/internal/frontend/tfops"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var convRows = []row{
	{"Conv2D", one(conv)}, {"Conv3D", one(conv)}, {"DepthwiseConv2dNative", one(depthwiseConv)},
	{"Conv2DBackpropInput", one(convTranspose)}, {"Conv3DBackpropInputV2", one(convTranspose)}, {"Conv3DBackpropInput", one(convTranspose)}, {"DepthwiseConv2dNativeBackpropInput", one(depthwiseTranspose)},
	{"MatMul", one(matMul)}, {"SparseMatMul", one(matMul)}, {"BatchMatMul", one(batchMatMul)}, {"BatchMatMulV2", one(batchMatMul)}, {"BatchMatMulV3", one(batchMatMul)},
	{"Einsum", one(func(c *call) *graph.Value { return c.Einsum(c.Str("equation", ""), c.All()...) })},
	{"FusedPadConv2D", one(padConv)}, {"FusedResizeAndPadConv2D", one(resizePadConv)}, {"Dilation2D", one(dilation2D)},
}

// spatial are the entries of a list that stand for spatial axes, of one with an entry for each axis.
func (c *call) spatial(name string, n int) []int {
	list := c.IntsOr(name, n+2, 1)
	channel, from := n+1, 1
	if !c.channelsLast() {
		channel, from = 1, 2
	}
	if slices.ContainsFunc(list, func(v int) bool { return v < 1 }) || list[0] != 1 || list[channel] != 1 {
		compose.Fail("attribute %q is %v; batch and channels must have 1", name, list)
	}
	return list[from : from+n]
}

// padded is the window with the padding that the node says, over spatial extents.
func (c *call) padded(w compose.Window) compose.Window {
	for k := range w.In {
		if w.Kernel[k] < 1 || w.Strides[k] < 1 || w.Dilation[k] < 1 {
			compose.Fail("kernel %v, strides %v, dilation %v", w.Kernel, w.Strides, w.Dilation)
		}
	}
	n := len(w.In)
	switch c.OneOf("padding", "", "SAME", "VALID", "EXPLICIT") {
	case "SAME":
		c.Ignore("explicit_paddings")
		w.Padding = w.Same(true)
	case "VALID":
		c.Ignore("explicit_paddings")
		w.Padding = make([]int, 2*n)
	default:
		list := c.Ints("explicit_paddings")
		if len(list) != 2*(n+2) || slices.ContainsFunc(list, func(v int) bool { return v < 0 }) {
			compose.Fail("explicit_paddings are %v", list)
		}
		from := 2
		if c.channelsLast() {
			from = 1
		}
		w.Padding = make([]int, 2*n)
		for k := range n {
			w.Padding[k], w.Padding[n+k] = list[2*(from+k)], list[2*(from+k)+1]
		}
	}
	return w
}

// filterFirst is a filter [spatial..., a, b] as [b, a, spatial...].
func (c *call) filterFirst(w *graph.Value) *graph.Value {
	n := w.Type.Rank() - 2
	if n < 0 {
		compose.Fail("a filter %s", w.Type)
	}
	return c.Transpose(w, append([]int{n + 1, n}, compose.LastAxes(w, 0)[:n]...)...)
}

// conv has a filter [spatial..., in, out].
func conv(c *call) *graph.Value {
	return c.convolution(c.filterFirst(c.X(1)), 0)
}

// depthwiseConv has a filter [height, width, channels, multiplier]; result c*multiplier+m reads channel c.
func depthwiseConv(c *call) *graph.Value {
	w := c.X(1)
	if w.Type.Rank() != 4 {
		compose.Fail("a filter %s", w.Type)
	}
	s := w.Type.Shape
	return c.convolution(c.Reshape(c.Transpose(w, 2, 3, 0, 1), s[2]*s[3], 1, s[0], s[1]), s[2])
}

// convolution of operand 0 by weights [out, in, spatial...]; 0 groups are as many as fit.
func (c *call) convolution(w *graph.Value, groups int) *graph.Value {
	n := w.Type.Rank() - 2
	if c.Rank(0) != n+2 {
		compose.Fail("operand %s by a filter %s", c.X(0).Type, c.X(1).Type)
	}
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		channels, each := x.Type.Shape[1], w.Type.Shape[1]
		if groups == 0 && each > 0 {
			groups = channels / each
		}
		if groups < 1 || groups*each != channels {
			compose.Fail("%d channels by a filter %s", channels, c.X(1).Type)
		}
		win := c.padded(compose.Window{In: x.Type.Shape[2:], Kernel: w.Type.Shape[2:], Strides: c.spatial("strides", n), Dilation: c.spatial("dilations", n)})
		return c.Conv(win, groups, x, w)
	})
}

// convTranspose has the operands output shape, filter [spatial..., out, in] and data: the gradient of a convolution.
func convTranspose(c *call) *graph.Value {
	return c.transposed(c.filterFirst(c.X(1)), 1)
}

func depthwiseTranspose(c *call) *graph.Value {
	s := c.Shape(1)
	if len(s) != 4 {
		compose.Fail("a filter %s", c.X(1).Type)
	}
	return c.transposed(c.Reshape(c.Transpose(c.X(1), 2, 3, 0, 1), s[2]*s[3], 1, s[0], s[1]), s[2])
}

// transposed is a transposed convolution of operand 2 by weights [in, out/groups, spatial...].
func (c *call) transposed(w *graph.Value, groups int) *graph.Value {
	n := w.Type.Rank() - 2
	shape := c.KnownInts(0, "the output shape")
	if len(shape) == n { // spatial extents only
		shape = append([]int{0}, append(slices.Clone(shape), 0)...)
		if !c.channelsLast() {
			shape = append([]int{0, 0}, shape[1:n+1]...)
		}
	}
	if len(shape) != n+2 || c.Rank(2) != n+2 {
		compose.Fail("the output shape is %v for %s", shape, c.X(2).Type)
	}
	out := shape[2:]
	if c.channelsLast() {
		out = shape[1 : n+1]
	}
	return c.overChannels(c.X(2), func(x *graph.Value) *graph.Value {
		forward := c.padded(compose.Window{In: out, Kernel: w.Type.Shape[2:], Strides: c.spatial("strides", n), Dilation: c.spatial("dilations", n)})
		pads, extra := forward.Padding, make([]int, n)
		for k, in := range x.Type.Shape[2:] {
			span := (forward.Kernel[k]-1)*forward.Dilation[k] + 1
			extra[k] = out[k] - ((in-1)*forward.Strides[k] + span - pads[k] - pads[n+k])
			if extra[k] < 0 { // the last elements are dropped
				pads[n+k] -= extra[k]
				extra[k] = 0
			}
		}
		return c.ConvTranspose(forward, extra, groups, x, w)
	})
}

func matMul(c *call) *graph.Value {
	c.Ignore("a_is_sparse", "b_is_sparse")
	a, b := c.X(0), c.X(1)
	if a.Type.Rank() != 2 || b.Type.Rank() != 2 {
		compose.Fail("%s by %s", a.Type, b.Type)
	}
	return c.product(a, b, c.Bool("transpose_a", false), c.Bool("transpose_b", false))
}

func batchMatMul(c *call) *graph.Value {
	c.WantRank(0, 2)
	c.WantRank(1, 2)
	return c.product(c.X(0), c.X(1), c.Bool("adj_x", false), c.Bool("adj_y", false))
}

// product is of matrices, transposed where it says so.
func (c *call) product(a, b *graph.Value, ta, tb bool) *graph.Value {
	return c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: ta, TransposeB: tb}, a, b)
}

// padConv pads by operand 1, with zeros or reflected, before it convolves with operand 2.
func padConv(c *call) *graph.Value { return c.paddedConv(c.X(0), 1) }

// resizePadConv resizes to operand 1 before it pads by operand 2.
func resizePadConv(c *call) *graph.Value {
	mode := "asymmetric"
	if c.Bool("resize_align_corners", false) {
		mode = "align_corners"
	}
	return c.paddedConv(c.resized(c.X(0), tfops.Sizes(c.Call, 1), "linear", mode), 2)
}

func (c *call) paddedConv(x *graph.Value, i int) *graph.Value {
	padded := tfops.MirrorPad(c.With(x, c.X(i)), c.OneOf("mode", "REFLECT", "REFLECT", "SYMMETRIC") == "SYMMETRIC")
	return conv(c.with(padded, c.X(i+1)))
}

// dilation2D is the greatest sum of elements of a window and of a filter [height, width, channels].
func dilation2D(c *call) *graph.Value {
	x, w := c.X(0), c.X(1)
	if x.Type.Rank() != 4 || w.Type.Rank() != 3 || x.Type.Shape[3] != w.Type.Shape[2] {
		compose.Fail("%s by a filter %s", x.Type, w.Type)
	}
	win := c.padded(compose.Window{In: x.Type.Shape[1:3], Kernel: w.Type.Shape[:2], Strides: c.spatial("strides", 2), Dilation: c.spatial("rates", 2)})
	if win.Kernel[0]*win.Kernel[1] > 1<<10 {
		compose.Fail("a filter %s", w.Type)
	}
	lowest := compose.Least(x.Type.DType)
	x = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, win.Padding[0], win.Padding[1], 0}, PadAfter: []int{0, win.Padding[2], win.Padding[3], 0}, Mode: "constant", Value: lowest}, x)
	sums := c.windows(x, win)
	for at, part := range sums {
		sums[at] = c.Do(ops.Add, part, c.At(c.At(w, 0, at/win.Kernel[1]), 0, at%win.Kernel[1]))
	}
	return c.Fold(ops.Maximum, sums...)
}
