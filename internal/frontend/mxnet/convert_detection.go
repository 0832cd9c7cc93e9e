package mxnet

import (
	"slices"

	"math"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var detectionRows = []row{
	{"MultiBoxPrior", multiBoxPrior}, {"_contrib_MultiBoxPrior", multiBoxPrior}, {"ROIPooling", roiPooling}, {"_contrib_ROIAlign", roiAlign},
	{"_contrib_AdaptiveAvgPooling2D", adaptiveAverage}, {"_contrib_BilinearResize2D", bilinearResize},
}

// multiBoxPrior are anchors [1, h*w*n, 4] in units of the picture: of all sizes with the first ratio, then of the first size with the other ratios. Widths
// are corrected by the map's aspect ratio.
func multiBoxPrior(c *call) *graph.Value {
	c.WantRank(0, 4)
	h, w := c.Shape(0)[2], c.Shape(0)[3]
	sizes, ratios, steps, offsets := c.Floats("sizes"), c.Floats("ratios"), c.Floats("steps"), c.Floats("offsets")
	if sizes == nil {
		sizes = []float64{1}
	}
	if ratios == nil {
		ratios = []float64{1}
	}
	if len(offsets) != 2 {
		offsets = []float64{0.5, 0.5}
	}
	if len(steps) != 2 || steps[0] <= 0 || steps[1] <= 0 {
		steps = []float64{1 / float64(h), 1 / float64(w)}
	}
	n := len(sizes) + len(ratios) - 1
	t := c.Zeros(types.F32, 1, h*w*n, 4)
	clip := c.Bool("clip", false)
	i := 0
	for y := range h {
		for x := range w {
			cx, cy := (float64(x)+offsets[1])*steps[1], (float64(y)+offsets[0])*steps[0]
			for k := range n {
				size, ratio := sizes[0], ratios[0]
				if k < len(sizes) {
					size = sizes[k]
				} else {
					ratio = ratios[k-len(sizes)+1]
				}
				root := math.Sqrt(ratio)
				dx, dy := size*float64(h)/float64(w)*root/2, size/root/2
				for _, v := range []float64{cx - dx, cy - dy, cx + dx, cy + dy} {
					if clip {
						v = max(0, min(v, 1))
					}
					t.SetFloat(i, v)
					i++
				}
			}
		}
	}
	return compose.Const(t)
}

// multiBoxDetection has a row [class, score, x1, y1, x2, y2] for each anchor, of probabilities [batch, background + classes, n], offsets [batch, 4n] and
// anchors [1, n, 4]: in the order of falling scores, with class -1 for those that a better one suppresses, and -1 throughout behind those above the threshold.
func multiBoxDetection(c *call) *graph.Value {
	c.Ignore("background_id")
	if c.Int("background_id", 0) != 0 {
		compose.Fail("background_id %d is not supported; 0 is", c.Int("background_id", 0))
	}
	p, offsets, anchors := c.X(0), c.X(1), c.X(2)
	if p.Type.Rank() != 3 || p.Type.Shape[1] < 2 || anchors.Type.Rank() != 3 || anchors.Type.Shape[1] != p.Type.Shape[2] {
		compose.Fail("probabilities %s with anchors %s", p.Type, anchors.Type)
	}
	batch, n := p.Type.Shape[0], p.Type.Shape[2]
	v := c.Floats("variances")
	if len(v) != 4 {
		v = []float64{0.1, 0.1, 0.2, 0.2}
	}
	boxes := c.DecodeBoxes(c.Reshape(offsets, batch, n, 4), anchors, [4]float64(v), c.Bool("clip", true))
	classes := c.Slice(p, 1, 1, p.Type.Shape[1])
	score, class := c.Reduce(ops.Max, classes, false, 1), c.Cast(c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, classes), types.F32)
	valid := c.Do(ops.GreaterEqual, score, compose.Like(score, c.Float("threshold", 0.01)))
	score = c.Do(ops.Where, valid, score, compose.Like(score, math.Inf(-1)))
	threshold, most := c.Float("nms_threshold", 0.5), c.Int("nms_topk", -1)
	force := c.Bool("force_suppress", false)
	if threshold <= 0 || threshold > 1 {
		compose.Fail("nms_threshold %v is not supported", threshold)
	}
	best, places := c.Sorted(score, n)
	boxes = c.Rows(boxes, places)
	class = c.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, class, places)
	valid = c.Do(ops.Greater, best, compose.Like(best, math.Inf(-1)))
	keep := valid
	if most > 0 && most < n {
		keep = c.Do(ops.LogicalAnd, keep, c.ExpandDims(c.Do(ops.Less, c.Arange(n), compose.Number(types.I64, float64(most))), 0))
	}
	s := compose.OrderedSuppression{Boxes: boxes, Keep: keep, Threshold: threshold, Equal: true}
	if !force {
		s.Labels = class
	}
	keep = c.SuppressInOrder(s)
	none := compose.Like(best, -1)
	column := func(x *graph.Value) *graph.Value { return c.ExpandDims(x, 2) }
	rest := c.Concat(2, column(best), boxes)
	rest = c.Do(ops.Where, column(valid), rest, none)
	return c.Concat(2, column(c.Do(ops.Where, keep, class, none)), rest)
}

// boxNMS is a suppression of rows [..., n, width] with score, corners and perhaps a class at given places: rows that are kept come first, in the order of falling scores; the
// rest is -1.
func boxNMS(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 2)
	r := x.Type.Rank()
	n, width := x.Type.Shape[r-2], x.Type.Shape[r-1]
	at, from, label := c.Int("score_index", 1), c.Int("coord_start", 2), c.Int("id_index", -1)
	in, out := c.OneOf("in_format", "corner", "corner", "center"), c.OneOf("out_format", "corner", "corner", "center")
	if in != out || at < 0 || at >= width || from < 0 || from+4 > width || label >= width || n < 1 {
		compose.Fail("of %s with places %d, %d and %d, from %s to %s", x.Type, at, from, label, in, out)
	}
	rows := c.Reshape(x, types.Count(x.Type.Shape[:r-2]), n, width)
	score := c.At(rows, 2, at)
	valid := c.Do(ops.Greater, score, compose.Like(score, c.Float("valid_thresh", 0)))
	if background := c.Int("background_id", -1); background >= 0 && label >= 0 {
		valid = c.Do(ops.LogicalAnd, valid, c.Do(ops.NotEqual, c.At(rows, 2, label), compose.Like(score, float64(background))))
	}
	low := compose.Like(score, math.Inf(-1))
	best, places := c.Sorted(c.Do(ops.Where, valid, score, low), n)
	sorted := c.Rows(rows, places)
	keep := c.Do(ops.Greater, best, low)
	if most := c.Int("topk", -1); most > 0 && most < n {
		keep = c.Do(ops.LogicalAnd, keep, c.ExpandDims(c.Do(ops.Less, c.Arange(n), compose.Number(types.I64, float64(most))), 0))
	}
	boxes := c.Slice(sorted, 2, from, from+4)
	if in == "center" {
		center, half := c.Slice(boxes, 2, 0, 2), c.Scaled(c.Slice(boxes, 2, 2, 4), 0.5)
		boxes = c.Concat(2, c.Do(ops.Subtract, center, half), c.Do(ops.Add, center, half))
	}
	s := compose.OrderedSuppression{Boxes: boxes, Keep: keep, Threshold: c.Float("overlap_thresh", 0.5)}
	if !c.Bool("force_suppress", false) && label >= 0 {
		s.Labels = c.At(sorted, 2, label)
	}
	keep = c.SuppressInOrder(s)
	sorted = c.Do(ops.Where, c.ExpandDims(keep, 2), sorted, compose.Like(sorted, -1))
	// Kept rows move to the front, in their order.
	rank := c.Do(ops.Where, keep, c.ExpandDims(c.Do(ops.Subtract, compose.Number(types.I64, 0), c.Arange(n)), 0), compose.Number(types.I64, float64(-n)))
	_, places = c.Sorted(c.Cast(rank, types.F32), n)
	return c.Reshape(c.Rows(sorted, places), x.Type.Shape...)
}

func roiPooling(c *call) *graph.Value {
	return c.Apply(ops.RoiPool, ops.RoiPoolAttrs{PooledSize: c.Ints("pooled_size"), SpatialScale: c.Float("spatial_scale", 1)}, c.X(0), c.X(1))
}

// roiAlign has regions [n, 5]: place in the batch, then corners.
func roiAlign(c *call) *graph.Value {
	rois := c.X(1)
	if c.Bool("position_sensitive", false) || rois.Type.Rank() != 2 || rois.Type.Shape[1] != 5 {
		compose.Fail("position sensitive, or of regions %s, it is not supported", rois.Type)
	}
	ratio := max(0, c.Int("sample_ratio", -1))
	return c.Apply(ops.RoiAlign, ops.RoiAlignAttrs{PooledSize: c.Ints("pooled_size"), SpatialScale: c.Float("spatial_scale", 1), SampleRatio: ratio, Mode: "avg", HalfPixel: c.Bool("aligned", false)},
		c.X(0), c.Slice(rois, 1, 1, 5), c.Cast(c.At(rois, 1, 0), types.I64))
}

// adaptiveAverage divides both axes into output_size windows.
func adaptiveAverage(c *call) *graph.Value {
	c.WantRank(0, 4)
	x, size := c.X(0), c.Ints("output_size")
	if len(size) < 2 {
		size = slices.Repeat(c.IntsOr("output_size", max(1, len(size)), 1), 2)
	}
	if len(size) != 2 {
		compose.Fail("output_size %v", size)
	}
	for k, out := range size {
		x = c.AdaptivePool(ops.Mean, x, 2+k, out)
	}
	return x
}

// bilinearResize keeps the corners where they are unless align_corners is false.
func bilinearResize(c *call) *graph.Value {
	c.WantRank(0, 4)
	if mode := c.Str("mode", "size"); mode != "size" {
		compose.Fail("mode %q is not supported; size is", mode)
	}
	s := c.Shape(0)
	h, w := c.Int("height", 1), c.Int("width", 1)
	if c.Has("scale_height") && c.Has("scale_width") {
		h, w = int(c.Float("scale_height", 1)*float64(s[2])), int(c.Float("scale_width", 1)*float64(s[3]))
	}
	c.Ignore("scale_height", "scale_width")
	transform := "align_corners"
	if !c.Bool("align_corners", true) {
		transform = "half_pixel"
	}
	if h < 1 || w < 1 || max(h, w) > 1<<16 {
		compose.Fail("%d x %d", h, w)
	}
	return c.Resize(c.X(0), compose.ResizeSpec{Axes: []int{2, 3}, Sizes: []int{h, w}, Attrs: ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: transform}})
}

func splitV2(c *call) values {
	x, axis := c.X(0), frontend.Axis(c.Int("axis", 0), c.Rank(0))
	n, sections := x.Type.Shape[axis], c.Int("sections", 0)
	var sizes []int
	if at := c.Ints("indices"); sections == 0 {
		if len(at) > 0 && at[0] == 0 {
			at = at[1:]
		}
		from := 0
		for _, to := range append(at, n) {
			if to < from || to > n {
				compose.Fail("indices %v of %d", at, n)
			}
			sizes, from = append(sizes, to-from), to
		}
	} else if n%sections != 0 {
		compose.Fail("%d parts of %d", sections, n)
	} else {
		for range sections {
			sizes = append(sizes, n/sections)
		}
	}
	out := c.Split(x, axis, sizes...)
	if c.Bool("squeeze_axis", false) {
		for i, x := range out {
			out[i] = c.Squeeze(x, axis)
		}
	}
	return out
}
