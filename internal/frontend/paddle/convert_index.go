package paddle

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var indexRows = []row{
	{"gather", one(gather)}, {"gather_nd", one(func(c *call) *graph.Value {
		return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.x(), c.operand("Index"))
	})},
	{"index_select", one(func(c *call) *graph.Value {
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: c.axis("dim", 0)}, c.x(), c.operand("Index"))
	})},
	{"take_along_axis", one(func(c *call) *graph.Value {
		x := c.operand("Input")
		return c.Apply(ops.Gather, ops.GatherAttrs{Axis: frontend.Axis(c.Int("Axis", 0), x.Type.Rank())}, x, c.operand("Index"))
	})},
	{"scatter", one(scatter)}, {"scatter_nd_add", one(func(c *call) *graph.Value {
		return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, c.x(), c.operand("Index"), c.operand("Updates"))
	})},
	{"lookup_table", one(lookup)}, {"lookup_table_v2", one(lookup)}, {"one_hot", one(oneHot)}, {"one_hot_v2", one(oneHot)},
	{"grid_sampler", one(gridSampler)}, {"affine_grid", one(affineGrid)}, {"roi_align", one(roiAlign)}, {"yolo_box", yoloBox},
}

// gather takes slices by a list of places, which may be a column.
func gather(c *call) *graph.Value {
	c.Ignore("overwrite")
	x, index := c.x(), c.operand("Index")
	if index.Type.Rank() == 2 && index.Type.Shape[1] == 1 {
		index = c.Reshape(index, index.Type.Shape[0])
	}
	return c.Apply(ops.Take, ops.TakeAttrs{Axis: frontend.Axis(c.number("axis", 0, "Axis"), x.Type.Rank())}, x, index)
}

// scatter replaces rows, or sets them to zero and adds.
func scatter(c *call) *graph.Value {
	x, index, updates := c.x(), c.operand("Ids"), c.operand("Updates")
	places := c.Reshape(index, index.Type.Elements(), 1)
	if !c.Bool("overwrite", true) {
		zeros := c.Full(updates.Type.DType, 0, updates.Type.Shape...)
		x = c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "none"}, x, places, zeros)
		return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, x, places, updates)
	}
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "none"}, x, places, updates)
}

// lookup gives zeros for one of the places, where that has a number.
func lookup(c *call) *graph.Value {
	w, ids := c.operand("W"), c.operand("Ids")
	c.WantRankOf(w, 2)
	if r := ids.Type.Rank(); c.Node.Op == "lookup_table" && r > 1 && ids.Type.Shape[r-1] == 1 {
		ids = c.Squeeze(ids, r-1)
	}
	y := c.Apply(ops.Take, ops.TakeAttrs{}, w, ids)
	padding := c.Int("padding_idx", -1)
	if padding == -1 {
		return y
	}
	if padding < 0 {
		padding += w.Type.Shape[0]
	}
	here := c.ExpandDims(c.Do(ops.Equal, ids, compose.Like(ids, float64(padding))), ids.Type.Rank())
	return c.Do(ops.Where, here, compose.Like(y, 0), y)
}

func oneHot(c *call) *graph.Value {
	c.Ignore("allow_out_of_range")
	x, n := c.x(), c.number("depth", 1, "depth_tensor")
	if r := x.Type.Rank(); c.Node.Op == "one_hot" && r > 1 && x.Type.Shape[r-1] == 1 {
		x = c.Squeeze(x, r-1)
	}
	d := types.F32
	if c.Has("dtype") {
		d = c.Call.DType("dtype", d)
	}
	return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: n, Axis: x.Type.Rank()}, x, compose.Number(d, 1), compose.Number(d, 0))
}

func gridSampler(c *call) *graph.Value {
	methods := map[string]string{"bilinear": "linear", "nearest": "nearest"}
	return c.Apply(ops.GridSample, ops.GridSampleAttrs{Method: methods[c.OneOf("mode", "bilinear", "bilinear", "nearest")],
		PaddingMode: c.OneOf("padding_mode", "zeros", "zeros", "border", "reflection"), AlignCorners: c.Bool("align_corners", true)}, c.x(), c.operand("Grid"))
}

func affineGrid(c *call) *graph.Value {
	size := c.numbers("output_shape", "OutputShape")
	if len(size) < 3 {
		compose.Fail("output_shape %v", size)
	}
	return c.Apply(ops.AffineGrid, ops.AffineGridAttrs{Sizes: size[2:], AlignCorners: c.Bool("align_corners", true)}, c.operand("Theta"))
}

// roiAlign is of one picture, to which all regions belong.
func roiAlign(c *call) *graph.Value {
	x, rois := c.x(), c.operand("ROIs")
	c.WantRankOf(x, 4)
	c.WantRankOf(rois, 2)
	if x.Type.Shape[0] != 1 {
		compose.Fail("with more than one picture is not supported")
	}
	index := c.Full(types.I64, 0, rois.Type.Shape[0])
	ratio := max(c.Int("sampling_ratio", -1), 0)
	return c.Apply(ops.RoiAlign, ops.RoiAlignAttrs{PooledSize: []int{c.Int("pooled_height", 1), c.Int("pooled_width", 1)}, SpatialScale: c.Float("spatial_scale", 1),
		SampleRatio: ratio, Mode: "avg", HalfPixel: c.Bool("aligned", false)}, x, rois, index)
}

// yoloBox gives corners of boxes in pixels of the picture, and scores of classes, for each place of the map and anchor; both are 0 where the
// objectness is below a bound (yolo_box_op).
func yoloBox(c *call) values {
	x, size := c.x(), c.operand("ImgSize")
	c.WantRankOf(x, 4)
	anchors, classes := c.Floats("anchors"), c.Int("class_num", 1)
	s, n := x.Type.Shape, len(anchors)/2
	if c.Bool("iou_aware", false) {
		compose.Fail("iou_aware is not supported")
	}
	c.Ignore("iou_aware_factor")
	if n < 1 || classes < 1 || s[1] != n*(5+classes) || size.Type.Rank() != 2 || size.Type.Shape[0] != s[0] {
		compose.Fail("%s for %d anchors and %d classes", x.Type, n, classes)
	}
	batch, h, w := s[0], s[2], s[3]
	scale, ratio := c.Float("scale_x_y", 1), c.Int("downsample_ratio", 32)
	y := c.Reshape(x, batch, n, 5+classes, h*w)
	part := func(from, to int) *graph.Value { return c.Slice(y, 2, from, to) }
	column := func(values func(i int) float64, shape ...int) *graph.Value {
		t := tensor.New(types.F32, shape...)
		for i := range t.Len() {
			t.SetFloat(i, values(i))
		}
		return c.Cast(compose.Const(t), x.Type.DType)
	}
	center := func(at int, grid *graph.Value, extent int) *graph.Value {
		p := c.Scaled(c.Do(ops.Sigmoid, part(at, at+1)), scale)
		p = c.Do(ops.Add, p, compose.Like(p, -(scale-1)/2))
		return c.Scaled(c.Do(ops.Add, p, grid), 1/float64(extent))
	}
	extents := func(k, map_ int) *graph.Value {
		by := column(func(i int) float64 { return anchors[2*i+k] / float64(ratio*map_) }, 1, n, 1, 1)
		return c.Do(ops.Multiply, c.Do(ops.Exp, part(2+k, 3+k)), by)
	}
	picture := func(k int) *graph.Value {
		return c.Reshape(c.Cast(c.Slice(size, 1, k, k+1), x.Type.DType), batch, 1, 1, 1)
	}
	across := column(func(i int) float64 { return float64(i % w) }, 1, 1, 1, h*w)
	down := column(func(i int) float64 { return float64(i / w) }, 1, 1, 1, h*w)
	object := c.Do(ops.Sigmoid, part(4, 5))
	kept := c.Do(ops.GreaterEqual, object, compose.Like(object, c.Float("conf_thresh", 0)))
	clipped := c.Bool("clip_bbox", true)
	var corners values
	for _, sign := range []float64{-0.5, 0.5} {
		for k, axis := range []struct {
			grid   *graph.Value
			extent int
		}{{across, w}, {down, h}} {
			of := picture(1 - k)
			v := c.Do(ops.Multiply, c.Do(ops.Add, center(k, axis.grid, axis.extent), c.Scaled(extents(k, axis.extent), sign)), of)
			if clipped && sign < 0 {
				v = c.Do(ops.Maximum, v, compose.Like(v, 0))
			} else if clipped {
				v = c.Do(ops.Minimum, v, c.Do(ops.Subtract, of, compose.Like(of, 1)))
			}
			corners = append(corners, v)
		}
	}
	score := c.Do(ops.Multiply, c.Do(ops.Sigmoid, part(5, 5+classes)), object)
	rows := func(v *graph.Value, width int) *graph.Value {
		v = c.Do(ops.Where, kept, v, compose.Like(v, 0))
		return c.Reshape(c.Transpose(v, 0, 1, 3, 2), batch, n*h*w, width)
	}
	return values{rows(c.Concat(2, corners...), 4), rows(score, classes)}
}
