package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var moveRows = []row{
	{ops.Reshape, reshape}, {ops.Transpose, transpose}, {ops.Concatenate, concatenate}, {ops.Split, split}, {ops.StridedSlice, slice},
	{ops.Pad, pad}, {ops.BroadcastTo, broadcastTo}, {ops.Tile, tile}, {ops.Repeat, repeat}, {ops.Reverse, reverse},
	{ops.ReverseSequence, reverseSequence}, {ops.SpaceToDepth, spaceToDepth}, {ops.DepthToSpace, depthToSpace}, {ops.DepthToSpaceND, depthToSpaceND},
	{ops.LayoutTransform, func(c *call) { c.alias(c.in(0)) }}, {ops.Trilu, trilu}, {ops.Col2Im, col2im}, {ops.Resize, resize},
	{ops.GridSample, gridSample}, {ops.AffineGrid, affineGrid},
}

// reshape that only puts axes of extent 1 in or takes them out is said so: then no reader has to know the other extents.
func reshape(c *call) {
	shape := c.n.Attrs.(ops.ReshapeAttrs).NewShape
	if axes, ok := inserted(c.shape(0), shape); ok {
		c.result("Unsqueeze", c.in(0), c.intList(axes...))
	} else if axes, ok := inserted(shape, c.shape(0)); ok {
		c.result("Squeeze", c.in(0), c.intList(axes...))
	} else {
		c.opOf("Reshape", []string{c.in(0), c.intList(shape...)}, zeros(shape))
	}
}

// inserted are the axes of extent 1 that make a shape another one.
func inserted(shape, longer []int) (axes []int, ok bool) {
	i := 0
	for k, n := range longer {
		switch {
		case i < len(shape) && shape[i] == n:
			i++
		case n == 1:
			axes = append(axes, k)
		default:
			return nil, false
		}
	}
	return axes, i == len(shape) && len(axes) > 0
}

// transpose of the coordinates of what is not zero is NonZero, with the operator before it.
func transpose(c *call) {
	axes := c.n.Attrs.(ops.TransposeAttrs).Axes
	if def := c.n.In[0].Def; def != nil && c.absorbed[def] {
		c.opOf("NonZero", []string{c.name(def.In[0])})
		return
	}
	c.op("Transpose", Attr{"perm", axes})
}

func concatenate(c *call) { c.op("Concat", Attr{"axis", c.n.Attrs.(ops.ConcatenateAttrs).Axis}) }

func split(c *call) {
	a := c.n.Attrs.(ops.SplitAttrs)
	c.opOf("Split", []string{c.in(0), c.intList(a.Sizes...)}, Attr{"axis", a.Axis})
}

// slice names the axes that it changes. An end below 0 is the place before the first element.
func slice(c *call) {
	a := c.n.Attrs.(ops.StridedSliceAttrs)
	var begin, end, axes, strides []int
	for k, n := range c.shape(0) {
		if a.Begin[k] == 0 && a.End[k] == n && a.Strides[k] == 1 {
			continue
		}
		to := a.End[k]
		if to < 0 {
			to -= n + 1
		}
		begin, end, axes, strides = append(begin, a.Begin[k]), append(end, to), append(axes, k), append(strides, a.Strides[k])
	}
	c.sliced(begin, end, axes, strides)
}

func (c *call) sliced(begin, end, axes, strides []int) {
	if len(axes) == 0 {
		c.alias(c.in(0))
		return
	}
	c.opOf("Slice", []string{c.in(0), c.intList(begin...), c.intList(end...), c.intList(axes...), c.intList(strides...)})
}

// reverse is a slice with stride -1 from the last element to before the first.
func reverse(c *call) {
	axes := c.n.Attrs.(ops.ReverseAttrs).Axes
	begin, end := make([]int, len(axes)), make([]int, len(axes))
	for i, k := range axes {
		n := c.shape(0)[k]
		begin[i], end[i] = n-1, -n-1
	}
	c.sliced(begin, end, axes, slices.Repeat([]int{-1}, len(axes)))
}

func pad(c *call) {
	a := c.n.Attrs.(ops.PadAttrs)
	value := c.in(1)
	if value == "" && a.Mode == "constant" && a.Value != 0 {
		value = c.like(a.Value)
	}
	mode := text("mode", a.Mode)
	if a.Mode == "constant" {
		mode = Attr{}
	} else if a.Mode == "wrap" {
		c.need(19)
	}
	c.opOf("Pad", []string{c.in(0), c.intList(slices.Concat(a.PadBefore, a.PadAfter)...), value}, mode)
}

func broadcastTo(c *call) {
	c.result("Expand", c.in(0), c.intList(c.n.Attrs.(ops.BroadcastToAttrs).Shape...))
}

func tile(c *call) { c.result("Tile", c.in(0), c.intList(c.n.Attrs.(ops.TileAttrs).Reps...)) }

// repeat stretches a new axis behind the one whose elements it repeats.
func repeat(c *call) {
	a := c.n.Attrs.(ops.RepeatAttrs)
	x := c.do("Unsqueeze", c.in(0), c.intList(a.Axis+1))
	x = c.do("Expand", x, c.intList(slices.Insert(slices.Clone(c.shape(0)), a.Axis+1, a.Repeats)...))
	c.opOf("Reshape", []string{x, c.intList(c.resultShape()...)}, zeros(c.resultShape()))
}

// reverseSequence has its two axes in front.
func reverseSequence(c *call) {
	a := c.n.Attrs.(ops.ReverseSequenceAttrs)
	lengths := c.index(1, false)
	if a.SeqAxis < 2 && a.BatchAxis < 2 {
		c.opOf("ReverseSequence", []string{c.in(0), lengths}, Attr{"time_axis", a.SeqAxis}, Attr{"batch_axis", a.BatchAxis})
		return
	}
	perm := []int{a.SeqAxis, a.BatchAxis}
	for k := range c.rank(0) {
		if !slices.Contains(perm, k) {
			perm = append(perm, k)
		}
	}
	back := make([]int, len(perm))
	for k, p := range perm {
		back[p] = k
	}
	x := c.step("ReverseSequence", []string{c.transpose(c.in(0), perm), lengths}, Attr{"time_axis", 0}, Attr{"batch_axis", 1})
	c.opOf("Transpose", []string{x}, Attr{"perm", back})
}

// spaceToDepth has one order of channels in ONNX.
func spaceToDepth(c *call) {
	a := c.n.Attrs.(ops.DepthSpaceAttrs)
	if a.Mode != "CRD" {
		c.op("SpaceToDepth", Attr{"blocksize", a.BlockSize})
		return
	}
	s, b := c.shape(0), a.BlockSize
	x := c.reshape(c.in(0), s[0], s[1], s[2]/b, b, s[3]/b, b)
	x = c.transpose(x, []int{0, 1, 3, 5, 2, 4})
	c.opOf("Reshape", []string{x, c.intList(c.resultShape()...)}, zeros(c.resultShape()))
}

func depthToSpace(c *call) {
	a := c.n.Attrs.(ops.DepthSpaceAttrs)
	mode := text("mode", a.Mode)
	if a.Mode == "DCR" {
		mode = Attr{}
	}
	c.op("DepthToSpace", Attr{"blocksize", a.BlockSize}, mode)
}

// depthToSpaceND has an axis for each number that a deep channel is made of: [batch, group, block..., channel, spatial...].
func depthToSpaceND(c *call) {
	a, s := c.n.Attrs.(ops.DepthToSpaceNDAttrs), c.shape(0)
	rank := len(a.BlockShape)
	parts := slices.Concat([]int{s[0], a.Groups}, a.BlockShape, []int{a.Step}, s[2:])
	perm, whole := []int{0, 1, 2 + rank}, []int{s[0], c.resultShape()[1]}
	var begin, end, axes []int
	for k, b := range a.BlockShape {
		perm, whole = append(perm, 3+rank+k, 2+k), append(whole, s[2+k]*b)
		begin, end, axes = append(begin, a.Crops[k]), append(end, s[2+k]*b-a.Crops[rank+k]), append(axes, 2+k)
	}
	x := c.in(0)
	if read := types.Count(parts[1 : 3+rank]); read < s[1] {
		x = c.step("Slice", []string{x, c.intList(0), c.intList(read), c.intList(1)})
	}
	x = c.transpose(c.reshape(x, parts...), perm)
	if a.Channels < a.Step {
		x = c.step("Slice", []string{x, c.intList(0), c.intList(a.Channels), c.intList(2)})
	}
	x = c.reshape(x, whole...)
	c.opOf("Slice", []string{x, c.intList(begin...), c.intList(end...), c.intList(axes...)})
}

func trilu(c *call) {
	a := c.n.Attrs.(ops.TriluAttrs)
	k := ""
	if a.K != 0 {
		k = c.constant(compose.Ints(a.K).Const.Reshape())
	}
	c.opOf("Trilu", []string{c.in(0), k}, flag("upper", a.Upper, true))
}

func col2im(c *call) {
	a := c.n.Attrs.(ops.Col2ImAttrs)
	c.opOf("Col2Im", []string{c.in(0), c.intList(a.ImageShape...), c.intList(a.BlockShape...)},
		Attr{"strides", a.Strides}, Attr{"pads", a.Padding}, Attr{"dilations", a.Dilation})
}

// resize has sizes, scales of which the sizes are products, or one scale for several axes, which comes from the sizes
// that keep_aspect_ratio_policy bounds.
func resize(c *call) {
	a := c.n.Attrs.(ops.ResizeAttrs)
	attrs := []Attr{
		text("mode", a.Method), text("coordinate_transformation_mode", a.CoordinateTransformationMode), text("nearest_mode", a.NearestMode),
		float("cubic_coeff_a", a.CubicCoeffA, -0.75), flag("exclude_outside", a.ExcludeOutside, false),
		float("extrapolation_value", a.ExtrapolationValue, 0), flag("antialias", a.Antialias, false),
	}
	roi, scales, sizes := "", "", ""
	if a.CoordinateTransformationMode == "tf_crop_and_resize" {
		roi = c.constant(tensor.Of([]int{len(a.ROI)}, narrowed(a.ROI)))
		c.need(19) // before, the order of what is outside was another
	}
	switch {
	case len(a.Scales) == 0:
		sizes = c.intList(a.Sizes...)
	case productsOf(c.shape(0), a):
		scales = c.constant(tensor.Of([]int{len(a.Scales)}, narrowed(a.Scales)))
	default:
		axes, bounds := aspect(c.shape(0), a)
		if axes == nil {
			compose.Fail("scales %v for sizes %v are none that ONNX can say", a.Scales, a.Sizes)
		}
		sizes = c.intList(bounds...)
		attrs = append(attrs, Attr{"axes", axes}, Attr{"keep_aspect_ratio_policy", "not_larger"})
	}
	c.opOf("Resize", []string{c.in(0), roi, scales, sizes}, attrs...)
}

func narrowed(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, f := range v {
		out[i] = float32(f)
	}
	return out
}

// productsOf reports whether the sizes are what ONNX makes of the scales.
func productsOf(shape []int, a ops.ResizeAttrs) bool {
	for k, s := range a.Scales {
		if float64(float32(s)) != s || a.Sizes[k] != int(float32(shape[k])*float32(s)) {
			return false
		}
	}
	return true
}

// aspect finds the axes that share a scale other than 1 and sizes of which it is the least ratio.
func aspect(shape []int, a ops.ResizeAttrs) (axes, bounds []int) {
	for k, s := range a.Scales {
		if s != 1 {
			axes = append(axes, k)
		}
	}
	exact := false
	for _, k := range axes {
		f := a.Scales[axes[0]]
		bound := a.Sizes[k]
		for bound <= a.Sizes[k] && float64(bound)/float64(shape[k]) < f {
			bound++
		}
		exact = exact || float64(bound)/float64(shape[k]) == f
		if a.Scales[k] != f || float64(bound)/float64(shape[k]) < f || a.Sizes[k] != int(f*float64(shape[k])+0.5) {
			return nil, nil
		}
		bounds = append(bounds, bound)
	}
	if !exact {
		return nil, nil
	}
	return axes, bounds
}

func gridSample(c *call) {
	a := c.n.Attrs.(ops.GridSampleAttrs)
	c.op("GridSample", text("mode", a.Method), text("padding_mode", a.PaddingMode), flag("align_corners", a.AlignCorners, false))
}

// affineGrid gets the size N,C,spatial of the images, of which C does not matter.
func affineGrid(c *call) {
	a := c.n.Attrs.(ops.AffineGridAttrs)
	size := append([]int{c.shape(0)[0], 1}, a.Sizes...)
	c.opOf("AffineGrid", []string{c.in(0), c.intList(size...)}, flag("align_corners", a.AlignCorners, false))
}
