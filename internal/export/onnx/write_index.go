package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var indexRows = []row{
	{ops.Take, take}, {ops.Gather, gather}, {ops.GatherND, gatherND}, {ops.OneHot, oneHot}, {ops.ScatterElements, scatterElements},
	{ops.ScatterND, scatterND}, {ops.TensorScatter, tensorScatter}, {ops.TopK, topK}, {ops.MaxUnpool, maxUnpool},
	{ops.RoiAlign, roiAlign}, {ops.RoiPool, roiPool}, {ops.ArgWhere, argWhere}, {ops.Compress, compress}, {ops.AllClassNMS, nonMaxSuppression},
}

func take(c *call) {
	c.opOf("Gather", []string{c.in(0), c.index(1, true)}, Attr{"axis", c.n.Attrs.(ops.TakeAttrs).Axis})
}

func gather(c *call) {
	c.opOf("GatherElements", []string{c.in(0), c.index(1, true)}, Attr{"axis", c.n.Attrs.(ops.GatherAttrs).Axis})
}

func gatherND(c *call) {
	n := c.n.Attrs.(ops.GatherNDAttrs).BatchDims
	a := Attr{"batch_dims", n}
	if n == 0 {
		a = Attr{}
	}
	c.opOf("GatherND", []string{c.in(0), c.index(1, false)}, a)
}

// oneHot has both values in one operand.
func oneHot(c *call) {
	a := c.n.Attrs.(ops.OneHotAttrs)
	on, off := c.n.In[1], c.n.In[2]
	values := ""
	if both := onOff(c.n); both != nil {
		values = c.name(both)
	} else if on.Const != nil && off.Const != nil {
		values = c.constant(tensor.Over(on.Type.DType, []int{2}, slices.Concat(off.Const.Bytes(), on.Const.Bytes())))
	} else {
		values = c.step("Concat", []string{c.reshape(c.name(off), 1), c.reshape(c.name(on), 1)}, Attr{"axis", 0})
	}
	depth := c.constant(compose.Ints(a.Depth).Const.Reshape())
	c.opOf("OneHot", []string{c.index(0, true), depth, values}, Attr{"axis", a.Axis})
}

// onOff is the pair [off, on] whose elements a one_hot reads, as an importer of ONNX takes it apart, or nil.
func onOff(n *graph.Node) *graph.Value {
	element := func(v *graph.Value) (pair *graph.Value, place int) {
		if v.Def == nil || v.Def.Op != ops.Reshape || v.Def.In[0].Def == nil || v.Def.In[0].Def.Op != ops.StridedSlice {
			return nil, 0
		}
		s := v.Def.In[0].Def
		return s.In[0], s.Attrs.(ops.StridedSliceAttrs).Begin[0]
	}
	on, one := element(n.In[1])
	off, zero := element(n.In[2])
	if on == nil || on != off || !slices.Equal(on.Type.Shape, []int{2}) || one != 1 || zero != 0 {
		return nil
	}
	return on
}

func reductionMode(mode string) Attr {
	if mode == "none" {
		return Attr{}
	}
	return text("reduction", mode)
}

func scatterElements(c *call) {
	a := c.n.Attrs.(ops.ScatterElementsAttrs)
	c.opOf("ScatterElements", []string{c.in(0), c.index(1, true), c.in(2)}, Attr{"axis", a.Axis}, reductionMode(a.Reduction))
}

func scatterND(c *call) {
	a := c.n.Attrs.(ops.ScatterNDAttrs)
	c.opOf("ScatterND", []string{c.in(0), c.index(1, false), c.in(2)}, reductionMode(a.Reduction))
}

func tensorScatter(c *call) {
	a := c.n.Attrs.(ops.TensorScatterAttrs)
	mode := Attr{}
	if a.Circular {
		mode = Attr{"mode", "circular"}
	}
	c.opOf("TensorScatter", []string{c.in(0), c.in(1), c.index(2, false)}, Attr{"axis", a.Axis}, mode)
}

func topK(c *call) {
	a := c.n.Attrs.(ops.TopKAttrs)
	c.opOf("TopK", []string{c.in(0), c.intList(a.K)}, Attr{"axis", a.Axis}, flag("largest", a.Largest, true))
}

// maxUnpool is written with the window of stride 1 that gives its shape.
func maxUnpool(c *call) {
	shape, in := c.n.Attrs.(ops.MaxUnpoolAttrs).Shape, c.shape(0)
	if len(shape) != len(in) || len(shape) < 3 || !slices.Equal(shape[:2], in[:2]) {
		compose.Fail("shape %v of data %v is none that ONNX can say", shape, in)
	}
	n := len(shape) - 2
	kernel, pads := make([]int, n), make([]int, 2*n)
	for k := range n {
		grow := shape[2+k] - in[2+k]
		kernel[k], pads[k] = max(grow, 0)+1, max(-grow, 0)
	}
	c.op("MaxUnpool", Attr{"kernel_shape", kernel}, Attr{"pads", pads})
}

func roiAlign(c *call) {
	a := c.n.Attrs.(ops.RoiAlignAttrs)
	mode, shift := text("mode", a.Mode), Attr{"coordinate_transformation_mode", "output_half_pixel"}
	if a.Mode == "avg" {
		mode = Attr{}
	}
	if a.HalfPixel {
		shift = Attr{}
	}
	c.opOf("RoiAlign", []string{c.in(0), c.in(1), c.index(2, false)}, Attr{"output_height", a.PooledSize[0]}, Attr{"output_width", a.PooledSize[1]},
		float("spatial_scale", a.SpatialScale, 1), Attr{"sampling_ratio", a.SampleRatio}, mode, shift)
}

func roiPool(c *call) {
	a := c.n.Attrs.(ops.RoiPoolAttrs)
	c.op("MaxRoiPool", Attr{"pooled_shape", a.PooledSize}, float("spatial_scale", a.SpatialScale, 1))
}

// wantNoCount stops where something reads how many elements there are: ONNX tells it by a shape, which depends on data.
func (c *call) wantNoCount() {
	if len(c.users[c.n.Out[1]]) > 0 {
		compose.Fail("the number of elements found cannot be written as ONNX")
	}
}

// argWhere gives rows where NonZero gives columns.
func argWhere(c *call) {
	c.wantNoCount()
	if c.rank(0) == 0 {
		compose.Fail("of a single number it cannot be written as ONNX")
	}
	c.emit(c.origin(), "Transpose", []string{c.do("NonZero", c.in(0))}, []string{c.out(0)}, Attr{"perm", []int{1, 0}})
}

// isTranspose2 reports whether n swaps two axes.
func isTranspose2(n *graph.Node) bool {
	return n != nil && n.Op == ops.Transpose && slices.Equal(n.Attrs.(ops.TransposeAttrs).Axes, []int{1, 0})
}

func compress(c *call) {
	c.wantNoCount()
	c.emit(c.origin(), "Compress", c.all(), []string{c.out(0)}, Attr{"axis", c.n.Attrs.(ops.CompressAttrs).Axis})
}

func nonMaxSuppression(c *call) {
	c.wantNoCount()
	a := c.n.Attrs.(ops.NMSAttrs)
	f32 := func(v float64) string { return c.number(types.F32, v) }
	in := []string{c.in(0), c.in(1), c.constant(compose.Ints(a.MaxOutput).Const.Reshape()), f32(a.IOUThreshold), ""}
	if a.UseScore {
		in[4] = f32(a.ScoreThreshold)
	}
	c.emit(c.origin(), "NonMaxSuppression", in, []string{c.out(0)}, flag("center_point_box", a.CenterPoint, false))
}
