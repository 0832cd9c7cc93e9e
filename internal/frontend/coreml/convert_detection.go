package coreml

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var detectionRows = []row{
	{212, "cropResize", "targetSize:1s normalizedCoordinates:2 mode:3{method:1} boxes:4{mode:1} spatialScale:5f", one(cropResize)},
	{1400, "NonMaximumSuppression", "iouThreshold:1f scoreThreshold:2f maxBoxes:3 perClassSuppression:4", nonMaximumSuppression},
}

// nonMaximumSuppression selects boxes [batch, n, (center x, center y, width, height)] by the best of their scores [batch, n, classes]; there is at least one. Results
// are boxes, scores, places and numbers, with 0, 0 and -1 behind the boxes that there are.
func nonMaximumSuppression(c *call) values {
	boxes, scores := c.X(0), c.X(1)
	if b, s := boxes.Type.Shape, scores.Type.Shape; len(b) != 3 || len(s) != 3 || b[2] != 4 || !slices.Equal(b[:2], s[:2]) || b[1] < 1 || s[2] < 1 {
		compose.Fail("boxes %s with scores %s", boxes.Type, scores.Type)
	}
	overlap, least, most := c.Float("iouThreshold", 0), c.Float("scoreThreshold", 0), c.Int("maxBoxes", 0)
	if c.data > 2 {
		overlap = c.KnownFloat(2, "the threshold of overlap")
	}
	if c.data > 3 {
		least = c.KnownFloat(3, "the threshold of scores")
	}
	if c.data > 4 {
		most = int(c.KnownFloat(4, "the number of boxes"))
	}
	if most < 1 || most > 1<<16 {
		compose.Fail("%d boxes", most)
	}
	best := c.Reduce(ops.Max, scores, false, 2)
	first := c.Do(ops.Equal, c.ExpandDims(c.Arange(best.Type.Shape[1]), 0), c.ExpandDims(c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, best), 1))
	enough := c.Do(ops.LogicalOr, first, c.Do(ops.GreaterEqual, best, compose.Like(best, float64(float32(least)))))
	s := compose.Suppression{Scores: c.Do(ops.Where, enough, best, compose.Like(best, math.Inf(-1))), Count: most, Overlap: overlap, Least: math.Inf(-1), Above: true}
	for k := range 2 { // y1, x1, y2, x2
		center, half := c.At(boxes, 2, 1-k), c.Scaled(c.At(boxes, 2, 3-k), 0.5)
		s.Corners[k], s.Corners[2+k] = c.Do(ops.Subtract, center, half), c.Do(ops.Add, center, half)
	}
	if c.Bool("perClassSuppression", false) {
		s.Labels = c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 2}, scores)
	}
	at, score := c.Suppress(s)
	at = c.Transpose(at, 1, 0)
	there := c.Do(ops.Greater, c.Transpose(score, 1, 0), compose.Like(score, math.Inf(-1)))
	rows := func(x *graph.Value) *graph.Value {
		return c.Do(ops.Where, c.ExpandDims(there, 2), c.Rows(x, at), compose.Like(x, 0))
	}
	places := c.Do(ops.Where, there, at, compose.Like(at, -1))
	return values{rows(boxes), rows(scores), c.number(places), c.number(c.Reduce(ops.Sum, c.Cast(there, types.I32), false, 1))}
}

// cropResize samples regions [n, 1, 4, 1, 1] of all pictures [1, batch, channels, height, width], or [n, 1, 5, 1, 1] of the picture that their first number says.
// The points of an axis lie from one end of the region to the other (methods 0 and 1), from one end on at equal steps (2), or in the middle of equal
// parts (3).
func cropResize(c *call) *graph.Value {
	c.WantRank(0, 4)
	c.WantRank(1, 4)
	c.Ignore("mode", "boxes")
	x, rois := c.X(0), c.X(1)
	s, r := x.Type.Shape[x.Type.Rank()-4:], rois.Type.Shape
	size, each := c.pair("targetSize", 1), r[len(r)-3]
	n := rois.Type.Elements() / max(each, 1)
	if x.Type.Elements() != types.Count(s) || each != 4 && each != 5 || r[len(r)-1] != 1 || r[len(r)-2] != 1 {
		compose.Fail("regions %s of %s", rois.Type, x.Type)
	}
	order := c.Int("boxes.mode", 0)
	if order != 0 && order != 1 {
		compose.Fail("regions as center and size are not supported; corners are")
	}
	x, rois = c.Reshape(x, s...), c.Reshape(rois, n, each)
	batch := s[0]
	if each == 5 {
		x = c.Apply(ops.Take, ops.TakeAttrs{}, x, c.Cast(c.At(rois, 1, 0), types.I64))
		batch, rois = n, c.Slice(rois, 1, 1, 5)
	}
	scale := c.Float("spatialScale", 0)
	if scale == 0 {
		scale = 1
	}
	method, normalized := c.Int("mode.method", 0), c.Bool("normalizedCoordinates", false)
	var at [2]*graph.Value // [batch or regions, points of all regions]
	for k := range at {
		last := float64(s[2+k] - 1)
		place := func(i int) *graph.Value {
			v := c.Scaled(c.At(rois, 1, i), scale)
			if normalized {
				v = c.Scaled(v, last)
			}
			return c.ExpandDims(v, 1)
		}
		axis := k
		if order == 1 {
			axis = 1 - k
		}
		points := c.points(place(axis), place(2+axis), size[k], method)
		points = c.BroadcastTo(c.ExpandDims(points, 2-k), n, size[0], size[1])
		if each == 5 {
			at[k] = c.Reshape(points, n, size[0]*size[1])
		} else {
			at[k] = c.BroadcastTo(c.Reshape(points, 1, n*size[0]*size[1]), batch, n*size[0]*size[1])
		}
		at[k] = c.Clipped(at[k], 0, last)
	}
	y := c.Sampled(x, at, true)
	if each == 5 {
		return c.Transpose(c.Reshape(y, n, 1, size[0], size[1], s[1]), 0, 1, 4, 2, 3)
	}
	return c.Transpose(c.Reshape(y, batch, n, size[0], size[1], s[1]), 1, 0, 4, 2, 3)
}

// points are n places between two [regions, 1], by a method of sampling (SamplingMode).
func (c *call) points(from, to *graph.Value, n, method int) *graph.Value {
	length := c.Do(ops.Subtract, to, from)
	var step, start *graph.Value
	switch method {
	case 0, 1:
		if n == 1 {
			if method == 0 {
				return from
			}
			return c.Do(ops.Add, from, c.Scaled(length, 0.5))
		}
		step, start = c.Scaled(length, 1/float64(n-1)), from
	case 2:
		step, start = c.Scaled(c.Do(ops.Add, length, compose.Like(length, 1)), 1/float64(n)), from
	case 3:
		step = c.Scaled(c.Do(ops.Maximum, length, compose.Like(length, 1)), 1/float64(n))
		start = c.Do(ops.Add, from, c.Scaled(step, 0.5))
	default:
		compose.Fail("sampling method %d", method)
	}
	y := c.Do(ops.Add, start, c.Do(ops.Multiply, step, c.Cast(c.Arange(n), from.Type.DType)))
	if method > 1 {
		y = c.Do(ops.Minimum, y, to)
	}
	return y
}
