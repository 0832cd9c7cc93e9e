package caffe

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// detectionRows are the layers of SSD (Liu et al., 2015).
var detectionRows = []row{{"PriorBox", one(priorBox)}, {"DetectionOutput", one(detectionOutput)}}

// priorBox are anchors as corners in units of the picture, and their variances: [1, 2, h*w*n*4]. Each min_size gives a square, one of the geometric mean
// with its max_size, and with each aspect ratio, and its inverse unless flip is false, a box of the square's area.
func priorBox(c *call) *graph.Value {
	c.WantRank(0, 4)
	h, w := c.Shape(0)[2], c.Shape(0)[3]
	least, most, ratios := c.Floats("min_size"), c.Floats("max_size"), []float64{1}
	flip := c.Bool("flip", true)
	for _, r := range c.Floats("aspect_ratio") {
		seen := false
		for _, old := range ratios {
			seen = seen || math.Abs(old-r) < 1e-6
		}
		if seen {
			continue
		}
		if !(r > 0) {
			compose.Fail("aspect_ratio %v", r)
		}
		if ratios = append(ratios, r); flip {
			ratios = append(ratios, 1/r)
		}
	}
	if len(least) == 0 || len(most) > 0 && len(most) != len(least) {
		compose.Fail("sizes %v to %v", least, most)
	}
	picture := c.pair("img_size", "img_h", "img_w", 0)
	if picture[0] == 0 || picture[1] == 0 {
		if c.data < 2 || c.Rank(1) != 4 {
			compose.Fail("the size of the picture is not known")
		}
		picture = c.Shape(1)[2:]
	}
	step := c.Float("step", 0)
	steps := [2]float64{c.Float("step_h", step), c.Float("step_w", step)}
	for k, n := range []int{h, w} {
		if steps[k] == 0 {
			steps[k] = float64(picture[k]) / float64(n)
		}
	}
	offset, clip := c.Float("offset", 0.5), c.Bool("clip", false)
	variance := c.Floats("variance")
	switch len(variance) {
	case 0:
		variance = []float64{0.1, 0.1, 0.1, 0.1}
	case 1:
		variance = []float64{variance[0], variance[0], variance[0], variance[0]}
	case 4:
	default:
		compose.Fail("variances %v", variance)
	}
	n := len(least) * len(ratios)
	n += len(most)
	t := c.Zeros(types.F32, 1, 2, h*w*n*4)
	i := 0
	add := func(x, y, width, height float64) {
		for _, v := range []float64{(x - width/2) / float64(picture[1]), (y - height/2) / float64(picture[0]), (x + width/2) / float64(picture[1]), (y + height/2) / float64(picture[0])} {
			if clip {
				v = max(0, min(v, 1))
			}
			t.SetFloat(i, v)
			t.SetFloat(h*w*n*4+i, variance[i%4])
			i++
		}
	}
	for row := range h {
		for column := range w {
			x, y := (float64(column)+offset)*steps[1], (float64(row)+offset)*steps[0]
			for k, size := range least {
				add(x, y, size, size)
				if len(most) > 0 {
					mean := math.Sqrt(size * most[k])
					add(x, y, mean, mean)
				}
				for _, r := range ratios[1:] {
					add(x, y, size*math.Sqrt(r), size/math.Sqrt(r))
				}
			}
		}
	}
	return compose.Const(t)
}

// detectionOutput decodes boxes [batch, n*4] relative to anchors [1, 2, n*4], drops those with low confidences [batch, n*classes] and those that overlap a
// better one of their class, and keeps the best of all: [1, 1, keep_top_k, 7] with rows of picture, class, confidence and corners, by class and falling
// confidence, and -1 throughout in rows behind the last one.
func detectionOutput(c *call) *graph.Value {
	c.Ignore("save_output_param", "visualize", "visualize_threshold", "objectness_score")
	boxes, scores, priors := c.X(0), c.X(1), c.X(2)
	classes, background := c.Int("num_classes", 0), c.Int("background_label_id", 0)
	if !c.Bool("share_location", true) || c.Bool("variance_encoded_in_target", false) || c.OneOf("code_type", "CORNER", "CORNER", "CENTER_SIZE") == "CORNER" || c.Float("eta", 1) != 1 {
		compose.Fail("boxes of each class, of corners, without variances or with a falling threshold are not supported")
	}
	n := priors.Type.Elements() / 8
	if batch := boxes.Type.Shape[0]; classes < 1 || n < 1 || batch != 1 || boxes.Type.Elements() != 4*n || scores.Type.Elements() != n*classes {
		compose.Fail("boxes %s and confidences %s for anchors %s of %d classes; one picture is supported", boxes.Type, scores.Type, priors.Type, classes)
	}
	priors = c.Reshape(priors, 2, n, 4)
	offsets := c.Do(ops.Multiply, c.Reshape(boxes, 1, n, 4), c.Slice(priors, 0, 1, 2))
	corners := c.DecodeBoxes(offsets, c.Slice(priors, 0, 0, 1), [4]float64{1, 1, 1, 1}, c.Bool("clip", false))
	each := c.Transpose(c.Reshape(scores, n, classes), 1, 0) // [classes, n]
	low := compose.Like(each, math.Inf(-1))
	enough := c.Do(ops.Greater, each, compose.Like(each, c.Float("confidence_threshold", -math.MaxFloat32)))
	if background >= 0 && background < classes {
		real := c.Do(ops.NotEqual, c.ExpandDims(c.Arange(classes), 1), compose.Number(types.I64, float64(background)))
		enough = c.Do(ops.LogicalAnd, enough, real)
	}
	top := c.Int("top_k", -1)
	if top < 1 || top > n {
		top = n
	}
	best, places := c.Sorted(c.Do(ops.Where, enough, each, low), top)
	chosen := c.Rows(c.BroadcastTo(corners, classes, n, 4), places)
	keep := c.SuppressInOrder(compose.OrderedSuppression{Boxes: chosen, Keep: c.Do(ops.Greater, best, low), Threshold: c.Float("nms_threshold", 0.3)})

	// The best of all classes, then in the order of classes again.
	all := classes * top
	most := c.Int("keep_top_k", -1)
	if most < 1 || most > all {
		most = all
	}
	flat := c.Reshape(c.Do(ops.Where, keep, best, low), 1, all)
	score, at := c.Sorted(flat, most)
	at = c.Do(ops.Where, c.Do(ops.Greater, score, low), at, compose.Number(types.I64, float64(all)))
	ordered := c.Results(ops.TopK, ops.TopKAttrs{K: most, Axis: 1, Largest: false}, at)[0]
	there := c.Do(ops.Less, ordered, compose.Number(types.I64, float64(all)))
	ordered = c.Do(ops.Minimum, ordered, compose.Number(types.I64, float64(all-1)))
	label := c.Cast(c.Do(ops.Divide, ordered, compose.Number(types.I64, float64(top))), types.F32)
	column := func(x *graph.Value) *graph.Value { return c.Reshape(x, 1, most, 1) }
	rows := c.Concat(2, column(c.Full(types.F32, 0, most)), column(label), column(c.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, flat, ordered)),
		c.Rows(c.Reshape(chosen, 1, all, 4), ordered))
	return c.Reshape(c.Do(ops.Where, column(there), rows, compose.Number(types.F32, -1)), 1, 1, most, 7)
}
