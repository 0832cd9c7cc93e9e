package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var detectionRows = []row{
	{"prior_box", priorBox}, {"box_coder", one(boxCoder)}, {"multiclass_nms", multiclassNMS}, {"multiclass_nms2", multiclassNMS}, {"multiclass_nms3", multiclassNMS}, {"matrix_nms", matrixNMS},
}

// priorBox are anchors and their variances, both [height, width, anchors, 4].
func priorBox(c *call) values {
	x, picture := c.operand("Input"), c.operand("Image")
	c.WantRankOf(x, 4)
	c.WantRankOf(picture, 4)
	steps := [2]float64{c.Float("step_h", 0), c.Float("step_w", 0)}
	if steps[0] == 0 || steps[1] == 0 {
		steps = [2]float64{}
	}
	boxes := c.Priors(compose.PriorBoxes{Height: x.Type.Shape[2], Width: x.Type.Shape[3], Picture: [2]int(picture.Type.Shape[2:4]), Least: c.Floats("min_sizes"), Most: c.Floats("max_sizes"),
		Ratios: c.Floats("aspect_ratios"), Flip: c.Bool("flip", false), Steps: steps, Offset: c.Float("offset", 0.5), Clip: c.Bool("clip", false), MeansLast: !c.Bool("min_max_aspect_ratios_order", false)})
	variances := c.Floats("variances")
	if len(variances) != 4 {
		compose.Fail("variances %v", variances)
	}
	return values{boxes, c.BroadcastTo(compose.Floats(variances...), boxes.Type.Shape...)}
}

// boxCoder decodes offsets [n, m, 4] from anchors along axis 1, or with axis 1 along axis 0.
func boxCoder(c *call) *graph.Value {
	anchors, target := c.operand("PriorBox"), c.operand("TargetBox")
	if kind := c.Str("code_type", "encode_center_size"); kind != "decode_center_size" {
		compose.Fail("code_type %q is for training; decode_center_size is supported", kind)
	}
	along := c.OneOfInts("axis", 0, 0, 1)
	if s := target.Type.Shape; len(s) != 3 || s[2] != 4 || !slices.Equal(anchors.Type.Shape, []int{s[1-along], 4}) {
		compose.Fail("offsets %s of anchors %s", target.Type, anchors.Type)
	}
	if by := c.optional("PriorBoxVar"); by != nil {
		c.Ignore("variance")
		target = c.Do(ops.Multiply, target, c.ExpandDims(by, along))
	} else if by := c.Floats("variance"); len(by) == 4 {
		target = c.Do(ops.Multiply, target, compose.Floats(by...))
	}
	anchors = c.ExpandDims(anchors, along)
	var end *graph.Value
	if !c.Bool("box_normalized", true) { // the last pixel belongs to a box
		end = compose.Floats(0, 0, 1, 1)
		anchors = c.Do(ops.Add, anchors, end)
	}
	y := c.DecodeBoxes(target, anchors, [4]float64{1, 1, 1, 1}, false)
	if end != nil {
		y = c.Do(ops.Subtract, y, end)
	}
	return y
}

// OneOfInts is an attribute with a fixed set of values.
func (c *call) OneOfInts(name string, absent int, allowed ...int) int {
	v := c.Int(name, absent)
	if !slices.Contains(allowed, v) {
		compose.Fail("%s %d is not supported (%v are)", name, v, allowed)
	}
	return v
}

// detections reads what the suppressions of one picture and several classes have in common, of boxes [batch, n, 4] and scores [batch, classes, n].
func (c *call) detections() (boxes, scores *graph.Value, d compose.Detections) {
	boxes, scores = c.operand("BBoxes"), c.operand("Scores")
	if b, s := boxes.Type.Shape, scores.Type.Shape; len(b) != 3 || len(s) != 3 || b[2] != 4 || s[0] != b[0] || s[2] != b[1] || b[0] < 1 || b[1] < 1 {
		compose.Fail("boxes %s with scores %s; [batch, n, 4] and [batch, classes, n] are supported", boxes.Type, scores.Type)
	}
	d = compose.Detections{Background: c.Int("background_label", 0), Least: c.Float("score_threshold", 0), Top: c.Int("nms_top_k", -1), Keep: c.Int("keep_top_k", -1)}
	if !c.Bool("normalized", true) {
		d.Offset = 1
	}
	return boxes, scores, d
}

func multiclassNMS(c *call) values {
	if c.present("RoisNum") || c.Float("nms_eta", 1) != 1 {
		compose.Fail("with RoisNum or a threshold that falls it is not supported")
	}
	boxes, scores, d := c.detections()
	d.Threshold = c.Float("nms_threshold", 0.3)
	return c.detected(boxes, scores, func(boxes, scores *graph.Value) compose.Detected {
		d.Boxes, d.Scores = boxes, scores
		return c.Detect(d)
	})
}

func matrixNMS(c *call) values {
	boxes, scores, d := c.detections()
	decay := compose.Decay{Detections: d, Gaussian: c.Bool("use_gaussian", false), Sigma: c.Float("gaussian_sigma", 2), Post: c.Float("post_threshold", 0)}
	return c.detected(boxes, scores, func(boxes, scores *graph.Value) compose.Detected {
		decay.Boxes, decay.Scores = boxes, scores
		return c.MatrixDetect(decay)
	})
}

// detected are rows of label, score and corners of all pictures, where their boxes stand among those of all pictures, and how many rows each picture has.
func (c *call) detected(boxes, scores *graph.Value, of func(boxes, scores *graph.Value) compose.Detected) values {
	var rows, places, there, counts values
	for i := range boxes.Type.Shape[0] {
		d := of(c.Slice(boxes, 0, i, i+1), c.At(scores, 0, i))
		n := d.Scores.Type.Shape[1]
		column := func(x *graph.Value) *graph.Value { return c.Reshape(x, n, 1) }
		rows = append(rows, c.Concat(1, column(d.Labels), column(d.Scores), c.Reshape(d.Boxes, n, 4)))
		places = append(places, c.Do(ops.Add, column(d.Places), compose.Number(types.I64, float64(i*boxes.Type.Shape[1]))))
		there = append(there, c.Reshape(d.There, n))
		counts = append(counts, c.Reduce(ops.Sum, c.Cast(d.There, types.I32), false, 1))
	}
	kept := c.Concat(0, there...)
	return values{c.Apply(ops.Compress, ops.CompressAttrs{}, c.Concat(0, rows...), kept), c.Apply(ops.Compress, ops.CompressAttrs{}, c.Cast(c.Concat(0, places...), types.I32), kept), c.Concat(0, counts...)}
}
