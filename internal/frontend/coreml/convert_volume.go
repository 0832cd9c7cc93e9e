package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var volumeRows = []row{
	{1465, "pooling3d", "type:1 kernelDepth:2 kernelHeight:3 kernelWidth:4 strideDepth:5 strideHeight:6 strideWidth:7 customPaddingFront:8 customPaddingBack:9 customPaddingTop:10 customPaddingBottom:11 customPaddingLeft:12 customPaddingRight:13 countExcludePadding:14 paddingType:15", one(pooling3d)},
	{1466, "globalPooling3d", "type:1", one(func(c *call) *graph.Value {
		c.WantRank(0, 5)
		return c.Reduce(poolings[c.kind(2)], c.X(0), true, 2, 3, 4)
	})},
	{1471, "convolution3d", "outputChannels:1 inputChannels:2 nGroups:10 kernelDepth:20 kernelHeight:21 kernelWidth:22 strideDepth:31 strideHeight:32 strideWidth:33 dilationDepth:40 dilationHeight:41 dilationWidth:42 hasBias:50 weights:60w bias:61w paddingType:70 customPaddingFront:80 customPaddingBack:81 customPaddingTop:82 customPaddingBottom:83 customPaddingLeft:84 customPaddingRight:85", one(convolution3d)},
}

var poolings = []*op.Def{ops.Max, ops.Mean}

// kind is the type of a pooling, of so many.
func (c *call) kind(n int) int {
	k := c.Int("type", 0)
	if k < 0 || k >= n {
		compose.Fail("type %d", k)
	}
	return k
}

// window3d reads the window of a layer over data [batch, channels, depth, height, width]. An extent that is absent is the one given.
func (c *call) window3d(kernel, stride int) compose.Window {
	if c.Rank(0) != 5 {
		compose.Fail("of %s; five axes are needed", c.X(0).Type)
	}
	each := func(name string, absent int) []int {
		v := []int{c.Int(name+"Depth", absent), c.Int(name+"Height", absent), c.Int(name+"Width", absent)}
		if slices.Min(v) < 1 {
			compose.Fail("%s %v", name, v)
		}
		return v
	}
	w := compose.Window{In: c.Shape(0)[2:], Kernel: each("kernel", kernel), Strides: each("stride", stride), Dilation: []int{1, 1, 1}}
	if c.Node.Op == "convolution3d" {
		w.Dilation = each("dilation", 1)
	}
	var custom []int
	for _, edge := range []string{"Front", "Top", "Left", "Back", "Bottom", "Right"} {
		custom = append(custom, c.Int("customPadding"+edge, 0))
	}
	padding := custom
	switch kind := c.Int("paddingType", 0); kind {
	case 0:
	case 1:
		padding = make([]int, 6)
	case 2:
		padding = w.Same(true)
	default:
		compose.Fail("paddingType %d", kind)
	}
	return compose.Window{In: w.In, Kernel: w.Kernel, Strides: w.Strides, Dilation: w.Dilation, Padding: padding}
}

func convolution3d(c *call) *graph.Value {
	w := c.window3d(3, 1)
	groups, out, in := max(1, c.Int("nGroups", 1)), c.Int("outputChannels", 0), c.Int("inputChannels", 0)
	var bias *graph.Value
	if c.Bool("hasBias", false) {
		bias = c.weight("bias", out)
	}
	if in%groups != 0 {
		compose.Fail("%d channels in %d groups", in, groups)
	}
	return c.Conv(w, groups, c.X(0), c.weight("weights", append([]int{out, in / groups}, w.Kernel...)...), bias)
}

func pooling3d(c *call) *graph.Value {
	w, exclude := c.window3d(0, 0), c.Bool("countExcludePadding", false)
	if c.kind(2) == 0 {
		return c.MaxPool(c.X(0), w, false)
	}
	return c.AvgPool(c.X(0), w, false, !exclude)
}
