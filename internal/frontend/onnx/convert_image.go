package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var imageRows = []row{
	{"Upsample", "", 1, one(upsample)}, {"Resize", "", 10, one(resizeByFloor)}, {"Resize", "", 11, one(resize)},
	{"GridSample", "", 16, one(gridSample)}, {"AffineGrid", "", 20, one(affineGrid)}, {"DeformConv", "", 19, one(deformConv)},
}

// upsample has its scales in attributes before opset 9.
func upsample(c *call) *graph.Value {
	var scales []float64
	switch {
	case c.Node.Version >= 9:
		scales = c.knownFloats(1, "scales")
	case c.Node.Version >= 7:
		scales = c.Floats("scales")
	default:
		scales = []float64{1, 1, c.Float("height_scale", 1), c.Float("width_scale", 1)}
	}
	return c.byFloor(scales)
}

func resizeByFloor(c *call) *graph.Value { return c.byFloor(c.knownFloats(1, "scales")) }

// byFloor resamples as before opset 11: output element i is input position i/scale, rounded down for nearest.
func (c *call) byFloor(scales []float64) *graph.Value {
	mode := c.OneOf("mode", "nearest", "nearest", "linear", "bilinear")
	if mode == "bilinear" {
		mode = "linear"
	}
	x := c.X(0)
	return c.resample(x, compose.ResizeSpec{Axes: axesFrom(0, x.Type.Rank()), Scales: scales,
		Attrs: ops.ResizeAttrs{Method: mode, CoordinateTransformationMode: "asymmetric", NearestMode: "floor", CubicCoeffA: -0.75}})
}

func resize(c *call) *graph.Value {
	x := c.X(0)
	s := compose.ResizeSpec{Axes: axesFrom(0, x.Type.Rank()), Attrs: ops.ResizeAttrs{
		Method: c.OneOf("mode", "nearest", "nearest", "linear", "cubic"),
		CoordinateTransformationMode: c.OneOf("coordinate_transformation_mode", "half_pixel", "half_pixel", "half_pixel_symmetric",
			"pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"),
		NearestMode: c.OneOf("nearest_mode", "round_prefer_floor", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
		CubicCoeffA: c.Float("cubic_coeff_a", -0.75), ExcludeOutside: c.Bool("exclude_outside", false),
		ExtrapolationValue: c.Float("extrapolation_value", 0), Antialias: c.Bool("antialias", false),
	}}
	if a := c.Ints("axes"); a != nil {
		frontend.Axes(a, x.Type.Rank())
		for i := range a {
			a[i] = frontend.Axis(a[i], x.Type.Rank())
		}
		s.Axes = a
	}
	if s.Attrs.CoordinateTransformationMode == "tf_crop_and_resize" {
		s.ROI = c.knownFloats(1, "roi")
	}
	s.KeepAspect = c.OneOf("keep_aspect_ratio_policy", "stretch", "stretch", "not_larger", "not_smaller")
	if c.Present(3) && c.X(3).Type.Elements() > 0 {
		s.Sizes = c.KnownInts(3, "sizes")
	} else {
		s.Scales = c.knownFloats(2, "scales")
	}
	return c.resample(x, s)
}

// resample interpolates between integers in float32 and drops the fractions, as the reference implementation of Resize does.
func (c *call) resample(x *graph.Value, s compose.ResizeSpec) *graph.Value {
	t := x.Type.DType
	if s.Attrs.Method == "nearest" || s.Attrs.Antialias || t.IsFloat() {
		return c.Resize(x, s)
	}
	return c.Cast(c.Resize(c.Cast(x, types.F32), s), t)
}

// knownFloats is operand i as a list of numbers.
func (c *call) knownFloats(i int, what string) []float64 {
	t := c.Known(i, what)
	v := make([]float64, t.Len())
	for k := range v {
		v[k] = t.Float(k)
	}
	return v
}

func gridSample(c *call) *graph.Value {
	mode := c.OneOf("mode", "linear", "linear", "bilinear", "nearest", "cubic", "bicubic")
	switch mode {
	case "bilinear":
		mode = "linear"
	case "bicubic":
		mode = "cubic"
	}
	return c.Apply(ops.GridSample, ops.GridSampleAttrs{Method: mode, PaddingMode: c.OneOf("padding_mode", "zeros", "zeros", "border", "reflection"),
		AlignCorners: c.Bool("align_corners", false)}, c.X(0), c.X(1))
}

// affineGrid gets the size N,C,spatial of the images.
func affineGrid(c *call) *graph.Value {
	size := c.KnownInts(1, "size")
	if len(size) < 3 {
		compose.Fail("size %v; it must be N, C and the spatial axes", size)
	}
	return c.Apply(ops.AffineGrid, ops.AffineGridAttrs{Sizes: slices.Clone(size[2:]), AlignCorners: c.Bool("align_corners", false)}, c.X(0))
}

// deformConv is a convolution whose taps operand 2 moves, with a bias and a mask.
func deformConv(c *call) *graph.Value {
	c.WantRank(0, 4)
	c.sameRank()
	c.Ignore("offset_group") // as the channels of the offsets say
	d := compose.Deformable{Window: c.window(c.Shape(0)[2:], c.kernelShape(c.Shape(1)[2:])), Groups: c.Int("group", 1), Offset: c.X(2), Mask: c.Opt(4)}
	return c.DeformableConv(d, c.X(0), c.X(1), c.Opt(3))
}
