package caffe

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// detectionRows are the layers of SSD (Liu et al., 2015).
var detectionRows = []row{{"PriorBox", one(priorBox)}, {"DetectionOutput", one(detectionOutput)}}

// priorBox are anchors and their variances: [1, 2, h*w*n*4].
func priorBox(c *call) *graph.Value {
	c.WantRank(0, 4)
	picture := c.pair("img_size", "img_h", "img_w", 0)
	if picture[0] == 0 || picture[1] == 0 {
		if c.data < 2 || c.Rank(1) != 4 {
			compose.Fail("the size of the picture is not known")
		}
		picture = c.Shape(1)[2:]
	}
	step := c.Float("step", 0)
	boxes := c.Priors(compose.PriorBoxes{Height: c.Shape(0)[2], Width: c.Shape(0)[3], Picture: [2]int(picture), Least: c.Floats("min_size"), Most: c.Floats("max_size"),
		Ratios: c.Floats("aspect_ratio"), Flip: c.Bool("flip", true), Steps: [2]float64{c.Float("step_h", step), c.Float("step_w", step)}, Offset: c.Float("offset", 0.5), Clip: c.Bool("clip", false)})
	variance := c.Floats("variance")
	switch len(variance) {
	case 0:
		variance = []float64{0.1, 0.1, 0.1, 0.1}
	case 1:
		variance = slices.Repeat(variance, 4)
	case 4:
	default:
		compose.Fail("variances %v", variance)
	}
	n := boxes.Type.Elements()
	variances := c.BroadcastTo(compose.Floats(variance...), n/4, 4)
	return c.Concat(1, c.Reshape(boxes, 1, 1, n), c.Reshape(variances, 1, 1, n))
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
	d := c.Detect(compose.Detections{Boxes: corners, Scores: c.Transpose(c.Reshape(scores, n, classes), 1, 0), Background: background,
		Least: c.Float("confidence_threshold", -math.MaxFloat32), Top: c.Int("top_k", -1), Keep: c.Int("keep_top_k", -1), Threshold: c.Float("nms_threshold", 0.3)})
	most := d.Scores.Type.Shape[1]
	column := func(x *graph.Value) *graph.Value { return c.Reshape(x, 1, most, 1) }
	rows := c.Concat(2, column(c.Full(types.F32, 0, most)), column(d.Labels), column(d.Scores), d.Boxes)
	return c.Reshape(c.Do(ops.Where, column(d.There), rows, compose.Number(types.F32, -1)), 1, 1, most, 7)
}
