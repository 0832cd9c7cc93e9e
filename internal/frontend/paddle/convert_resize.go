package paddle

import (
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var resizeRows = interpolations()

func interpolations() (rows []row) {
	for _, kind := range []string{"nearest", "bilinear", "bicubic", "linear", "trilinear"} {
		rows = append(rows, row{kind + "_interp", one(resize)}, row{kind + "_interp_v2", one(resize)})
	}
	return rows
}

// resize resamples spatial axes to given extents, or by a scale, which the places are computed from where it is given. align_mode 1
// starts at the corners of pixels and 0 in their middle; nearest neighbours are rounded down, and with align_corners to nearest.
func resize(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), c.layoutName())
	c.WantRankOf(x, 3)
	n := x.Type.Rank() - 2
	sizes := c.extents(n)
	scales := c.scales(n)
	c.Ignore("interp_method")
	method := map[string]string{"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}[strings.TrimSuffix(strings.TrimSuffix(c.Node.Op, "_v2"), "_interp")]
	corners, mode := c.Bool("align_corners", true), c.Int("align_mode", 1)
	a := ops.ResizeAttrs{Method: method, CubicCoeffA: -0.75, NearestMode: "floor", CoordinateTransformationMode: "asymmetric"}
	switch {
	case corners:
		a.CoordinateTransformationMode, a.NearestMode = "align_corners", "round_prefer_ceil"
	case method == "cubic", method == "linear" && mode == 0:
		a.CoordinateTransformationMode = "half_pixel"
	}
	spec := compose.ResizeSpec{Axes: compose.LastAxes(x, 2), Attrs: a}
	switch {
	case sizes != nil:
		spec.Sizes = sizes
	case scales != nil:
		spec.Scales = scales
	default:
		compose.Fail("neither extents nor a scale")
	}
	return back(c.Resize(x, spec))
}

func (c *call) layoutName() string {
	if c.Has("data_format") {
		return "data_format"
	}
	return "data_layout"
}

// extents are those of the result, nil where a scale gives them.
func (c *call) extents(n int) []int {
	var given []int
	for _, name := range []string{"out_d", "out_h", "out_w"}[3-n:] {
		given = append(given, c.Int(name, -1))
	}
	c.Ignore("out_d", "out_h", "out_w")
	if c.present("OutSize") || c.present("SizeTensor") {
		return c.numbers("out", "OutSize", "SizeTensor")
	}
	if slices.Min(given) < 1 {
		return nil
	}
	return given
}

// scales are those of the axes, nil where none is positive.
func (c *call) scales(n int) []float64 {
	list := c.Floats("scale")
	if c.present("Scale") {
		t := c.Known(c.slots["Scale"][0], "Scale")
		list = nil
		for i := range t.Len() {
			list = append(list, t.Float(i))
		}
	}
	if len(list) == 1 {
		list = slices.Repeat(list, n)
	}
	if len(list) != n || slices.Min(list) <= 0 {
		return nil
	}
	return list
}
