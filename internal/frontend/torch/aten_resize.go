package torch

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// The parameters of resampling: the sizes, and the scales that they come of, which count where they are given.
const (
	scales1 = " scales:n"
	scales2 = " scales_h:n scales_w:n"
	scales3 = " scales_d:n scales_h:n scales_w:n"
)

var resizeRows = []row{
	sig("upsample_nearest1d", "self output_size:I"+scales1, nearest), sig("upsample_nearest2d", "self output_size:I"+scales2, nearest), sig("upsample_nearest3d", "self output_size:I"+scales3, nearest),
	sig("upsample_nearest1d upsample_nearest2d upsample_nearest3d", "input output_size:I scale_factors", nearest),
	sig("_upsample_nearest_exact1d", "self output_size:I"+scales1, nearestExact), sig("_upsample_nearest_exact2d", "self output_size:I"+scales2, nearestExact),
	sig("_upsample_nearest_exact3d", "self output_size:I"+scales3, nearestExact), sig("_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d", "input output_size:I scale_factors", nearestExact),
	sig("upsample_linear1d", "self output_size:I align_corners:b"+scales1, linear), sig("upsample_bilinear2d", "self output_size:I align_corners:b"+scales2, linear),
	sig("upsample_trilinear3d", "self output_size:I align_corners:b"+scales3, linear), sig("upsample_linear1d upsample_bilinear2d upsample_trilinear3d", "input output_size:I align_corners:b scale_factors", linear),
	sig("_upsample_bilinear2d_aa", "self output_size:I align_corners:b"+scales2, linear), sig("_upsample_bilinear2d_aa", "input output_size:I align_corners:b scale_factors", linear),
	sig("upsample_bicubic2d _upsample_bicubic2d_aa", "self output_size:I align_corners:b"+scales2, cubic), sig("upsample_bicubic2d _upsample_bicubic2d_aa", "input output_size:I align_corners:b scale_factors", cubic),
	sig("__interpolate", "input size:I scale_factor mode:s align_corners recompute_scale_factor antialias:b", interpolate), sig("__upsample", "input size:I scale_factor mode:s align_corners", interpolate),
	sig("grid_sampler grid_sampler_2d grid_sampler_3d", "input grid interpolation_mode:i padding_mode:i align_corners:b", gridSample),
	sig("affine_grid_generator", "theta size:I align_corners:b", func(c *call) any {
		return c.Apply(ops.AffineGrid, ops.AffineGridAttrs{Sizes: c.ints2("size")[2:], AlignCorners: c.bool("align_corners", false)}, c.x("theta"))
	}),
}

func nearest(c *call) any {
	return c.resized(ops.ResizeAttrs{Method: "nearest", CoordinateTransformationMode: "asymmetric", NearestMode: "floor"})
}

func nearestExact(c *call) any {
	return c.resized(ops.ResizeAttrs{Method: "nearest", CoordinateTransformationMode: "half_pixel", NearestMode: "round_prefer_ceil"})
}

func linear(c *call) any { return c.smooth("linear") }

func cubic(c *call) any { return c.smooth("cubic") }

func (c *call) smooth(method string) any {
	mode := "half_pixel"
	if c.bool("align_corners", false) {
		mode = "align_corners"
	}
	return c.resized(ops.ResizeAttrs{Method: method, CoordinateTransformationMode: mode, CubicCoeffA: c.coefficient(), Antialias: c.antialiased(), ExcludeOutside: c.antialiased()})
}

// coefficient is that of cubic interpolation: Catmull-Rom's where there is antialiasing.
func (c *call) coefficient() float64 {
	if c.antialiased() {
		return -0.5
	}
	return -0.75
}

// antialiased reports whether kernels widen where an axis shrinks; they end at the borders then.
func (c *call) antialiased() bool {
	return c.name == "_upsample_bilinear2d_aa" || c.name == "_upsample_bicubic2d_aa" || c.bool("antialias", false)
}

// resized resamples the axes behind the channels.
func (c *call) resized(a ops.ResizeAttrs) any {
	input := "self"
	if !c.given(input) {
		input = "input"
	}
	x := c.x(input)
	n := x.Type.Rank() - 2
	if n < 1 {
		fail("data %s without axes to resample", x.Type)
	}
	s := compose.ResizeSpec{Axes: compose.LastAxes(x, 2), Attrs: a}
	scales := c.scales(n)
	if c.given("output_size") {
		s.Sizes = c.perAxis("output_size", n, 1)
	} else if c.given("size") {
		s.Sizes = c.perAxis("size", n, 1)
	}
	if s.Sizes != nil && scales != nil && a.CoordinateTransformationMode != "align_corners" {
		// The sizes are those of the scales, which count themselves.
		fits := true
		for k := range n {
			fits = fits && int(float64(x.Type.Shape[2+k])*scales[k]) == s.Sizes[k]
		}
		if fits {
			s.Sizes = nil
		}
	}
	if s.Sizes == nil {
		if scales == nil {
			fail("neither sizes nor scales are given")
		}
		s.Scales = scales
		if a.CoordinateTransformationMode == "align_corners" {
			for k := range n {
				s.Sizes = append(s.Sizes, int(float64(x.Type.Shape[2+k])*scales[k]))
			}
			s.Scales = nil
		}
	}
	return c.Resize(x, s)
}

// scales are the scales of n axes, or nil.
func (c *call) scales(n int) (out []float64) {
	for _, name := range []string{"scales", "scales_d", "scales_h", "scales_w"} {
		if c.given(name) {
			out = append(out, c.num(name, 1))
		}
	}
	for _, name := range []string{"scale_factors", "scale_factor"} {
		parts, ok := items(c.args[name])
		if !ok && c.given(name) {
			for range n {
				parts = append(parts, c.args[name])
			}
		}
		for _, p := range parts {
			f, ok := number(p)
			if !ok {
				fail("a scale that is %s", kind(p))
			}
			out = append(out, f)
		}
	}
	if len(out) != n {
		return nil
	}
	return out
}

// interpolate is F.interpolate as old versions save it.
func interpolate(c *call) any {
	if c.bool("recompute_scale_factor", false) && !c.given("size") {
		x := c.x("input")
		l := &list{}
		for k, f := range c.scales(x.Type.Rank() - 2) {
			l.items = append(l.items, int64(float64(x.Type.Shape[2+k])*f))
		}
		c.args["size"], c.args["scale_factor"] = l, nil
	}
	switch mode := c.str("mode", "nearest"); mode {
	case "nearest":
		return nearest(c)
	case "nearest-exact":
		return nearestExact(c)
	case "linear", "bilinear", "trilinear":
		return linear(c)
	case "bicubic":
		return cubic(c)
	case "area":
		c.args["self"], c.args["output_size"] = c.args["input"], c.args["size"]
		return c.areas()
	default:
		fail("mode %q is not supported", mode)
	}
	return nil
}

// areas averages the windows that each place stands for.
func (c *call) areas() *graph.Value {
	x := c.x("input")
	n := x.Type.Rank() - 2
	for k, out := range c.perAxis("output_size", n, 1) {
		x = c.adaptiveAxis(ops.Mean, x, 2+k, out)
	}
	return x
}

func gridSample(c *call) any {
	method, padding := c.int("interpolation_mode", 0), c.int("padding_mode", 0)
	if method < 0 || method > 2 || padding < 0 || padding > 2 {
		fail("modes %d and %d are not supported", method, padding)
	}
	return c.Apply(ops.GridSample, ops.GridSampleAttrs{Method: []string{"linear", "nearest", "cubic"}[method], PaddingMode: []string{"zeros", "border", "reflection"}[padding],
		AlignCorners: c.bool("align_corners", false)}, c.x("input"), c.x("grid"))
}
