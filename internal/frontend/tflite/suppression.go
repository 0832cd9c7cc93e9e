package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var suppressionRows = []row{{"NON_MAX_SUPPRESSION_V4", suppression}, {"NON_MAX_SUPPRESSION_V5", suppression}}

// suppression selects boxes [n, 4] by scores [n]: places, with V5 scores, and their number, with zeros behind it.
func suppression(c *call) values {
	boxes, scores := c.X(0), c.X(1)
	if boxes.Type.Rank() != 2 || boxes.Type.Shape[1] != 4 || scores.Type.Rank() != 1 || scores.Type.Shape[0] != boxes.Type.Shape[0] || boxes.Type.Shape[0] < 1 {
		compose.Fail("boxes %s with scores %s", boxes.Type, scores.Type)
	}
	d := detector{call: c, most: c.KnownInt(2, "the number of boxes"), overlap: c.KnownFloat(3, "the threshold of overlap"), score: c.KnownFloat(4, "the threshold of scores")}
	d.above, d.reached = true, true
	soft := c.Node.Op == "NON_MAX_SUPPRESSION_V5"
	if soft {
		d.sigma = c.KnownFloat(5, "sigma")
	}
	if d.most < 1 || d.most > 1<<12 {
		compose.Fail("%d boxes", d.most)
	}
	var corners [4]*graph.Value
	for k := range 2 {
		a, b := c.At(boxes, 1, k), c.At(boxes, 1, 2+k)
		corners[k], corners[2+k] = c.Do(ops.Minimum, a, b), c.Do(ops.Maximum, a, b)
	}
	place, score := d.suppressed(corners, c.ExpandDims(scores, 0), d.most)
	place, score = c.At(place, 1, 0), c.At(score, 1, 0)
	there := c.Do(ops.Greater, score, compose.Like(score, math.Inf(-1)))
	number := c.Reduce(ops.Sum, c.Cast(there, types.I32), false, 0)
	place = c.Cast(c.Do(ops.Where, there, place, compose.Like(place, 0)), types.I32)
	if soft {
		return values{place, c.Do(ops.Where, there, score, compose.Like(score, 0)), number}
	}
	return values{place, number}
}

// A detector holds the options of the detection head.
type detector struct {
	*call
	most, classes, each int // detections in all, classes, and detections of each class
	score, overlap      float64
	above, reached      bool    // only scores above the threshold take part; boxes that reach the threshold of overlaps are out
	sigma               float64 // of soft suppression
}

// suppressed selects boxes for each row of scores [rows, n].
func (d *detector) suppressed(corners [4]*graph.Value, scores *graph.Value, count int) (places, best *graph.Value) {
	return d.Suppress(compose.Suppression{Corners: corners, Scores: scores, Count: count, Overlap: d.overlap, Least: d.score, Above: d.above, Reached: d.reached, Sigma: d.sigma})
}
