package tensorflow

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var detectRows = []row{
	{"NonMaxSuppression", one(suppressed)}, {"NonMaxSuppressionV2", one(suppressed)}, {"NonMaxSuppressionV3", one(suppressed)}, {"NonMaxSuppressionV4", suppressedPadded}, {"NonMaxSuppressionV5", suppressedPadded},
	{"CombinedNonMaxSuppression", combined}, {"CropAndResize", one(cropAndResize)},
}

// suppression reads boxes [n, 4] of two opposite corners, scores [n], the greatest number, and the thresholds, which in the first version are an attribute
// or not there.
func (c *call) suppression() (most int, overlap, score float64) {
	boxes, scores := c.X(0), c.X(1)
	if boxes.Type.Rank() != 2 || boxes.Type.Shape[1] != 4 || scores.Type.Rank() != 1 || scores.Type.Shape[0] != boxes.Type.Shape[0] || boxes.Type.Shape[0] < 1 {
		compose.Fail("boxes %s with scores %s", boxes.Type, scores.Type)
	}
	most, overlap, score = c.KnownInt(2, "the number of boxes"), c.Float("iou_threshold", 0.5), math.Inf(-1)
	if c.Present(3) {
		overlap = c.KnownFloat(3, "the threshold of overlap")
	}
	if c.Present(4) {
		score = c.KnownFloat(4, "the threshold of scores")
	}
	if most < 0 || most > 1<<16 {
		compose.Fail("%d boxes", most)
	}
	return most, overlap, score
}

// suppressed are the places of the boxes that are selected, whose number depends on data.
func suppressed(c *call) *graph.Value {
	most, overlap, score := c.suppression()
	a := ops.NMSAttrs{MaxOutput: most, IOUThreshold: overlap, ScoreThreshold: score, UseScore: !math.IsInf(score, -1)}
	rows := c.Apply(ops.AllClassNMS, a, c.ExpandDims(c.Cast(c.X(0), types.F32), 0), c.ExpandDims(c.Cast(c.X(1), types.F32), 0, 1))
	return c.Cast(c.At(rows, 1, 2), types.I32)
}

// suppressedPadded gives places, in version 5 scores, and their number. They are followed by zeros, or else there are as many as
// the number says.
func suppressedPadded(c *call) values {
	most, overlap, score := c.suppression()
	soft := c.Node.Op == "NonMaxSuppressionV5"
	if soft && c.KnownFloat(5, "sigma") != 0 {
		compose.Fail("soft suppression is not supported")
	}
	if !c.Bool("pad_to_max_output_size", false) && !soft {
		place := suppressed(c)
		return values{place}
	}
	if most < 1 {
		compose.Fail("%d boxes", most)
	}
	place, best := c.Suppress(compose.Suppression{Corners: c.corners(c.X(0), 1), Scores: c.ExpandDims(c.X(1), 0), Count: most, Overlap: overlap, Least: score, Above: true})
	place, best = c.At(place, 1, 0), c.At(best, 1, 0)
	there := c.Do(ops.Greater, best, compose.Like(best, math.Inf(-1)))
	number := c.Reduce(ops.Sum, c.Cast(there, types.I32), false, 0)
	place = c.Cast(c.Do(ops.Where, there, place, compose.Like(place, 0)), types.I32)
	if !soft {
		return values{place, number}
	}
	best = c.Do(ops.Where, there, best, compose.Like(best, 0))
	if !c.Bool("pad_to_max_output_size", false) { // as many as there are
		return values{c.Apply(ops.Compress, ops.CompressAttrs{}, place, there), c.Apply(ops.Compress, ops.CompressAttrs{}, best, there), number}
	}
	return values{place, best, number}
}

// corners are y1, x1, y2 and x2 of boxes, in order, from the entries of an axis.
func (c *call) corners(boxes *graph.Value, axis int) (out [4]*graph.Value) {
	for k := range 2 {
		a, b := c.At(boxes, axis, k), c.At(boxes, axis, 2+k)
		out[k], out[2+k] = c.Do(ops.Minimum, a, b), c.Do(ops.Maximum, a, b)
	}
	return out
}

// combined selects boxes [batch, n, classes or 1, 4] by scores [batch, n, classes], class by class, and of all classes the best.
func combined(c *call) values {
	boxes, scores := c.X(0), c.X(1)
	each, total := c.KnownInt(2, "the number of boxes of each class"), c.KnownInt(3, "the number of boxes")
	overlap, least := c.KnownFloat(4, "the threshold of overlap"), c.KnownFloat(5, "the threshold of scores")
	padded, clip := c.Bool("pad_per_class", false), c.Bool("clip_boxes", true)
	if boxes.Type.Rank() != 4 || scores.Type.Rank() != 3 || boxes.Type.Shape[3] != 4 || boxes.Type.Shape[1] != scores.Type.Shape[1] || boxes.Type.Shape[0] != scores.Type.Shape[0] ||
		each < 1 || total < 1 || total > 1<<16 || boxes.Type.Shape[2] != 1 && boxes.Type.Shape[2] != scores.Type.Shape[2] {
		compose.Fail("%d boxes of %s, %d of each class, with scores %s", total, boxes.Type, each, scores.Type)
	}
	batch, n, classes := scores.Type.Shape[0], scores.Type.Shape[1], scores.Type.Shape[2]
	count := min(each, n)
	if padded {
		total = min(total, each*classes)
	}
	var out [4]values
	for i := range batch {
		of := c.corners(c.At(boxes, 0, i), 2) // each [n, classes or 1]
		own := boxes.Type.Shape[2] > 1
		for k, v := range of {
			if of[k] = c.Reshape(v, n); own {
				of[k] = c.Transpose(v, 1, 0)
			}
		}
		place, best := c.Suppress(compose.Suppression{Corners: of, Scores: c.Transpose(c.At(scores, 0, i), 1, 0), Count: count, Overlap: overlap, Least: least, Above: true})
		for k, v := range c.best(of, place, best, classes, count, total, clip) {
			out[k] = append(out[k], v)
		}
	}
	return values{c.Stack(0, out[0]...), c.Stack(0, out[1]...), c.Stack(0, out[2]...), c.Stack(0, out[3]...)}
}

// best are boxes, scores, classes and number of the best among those selected [count, classes], with zeros behind them.
func (c *call) best(of [4]*graph.Value, place, best *graph.Value, classes, count, total int, clip bool) [4]*graph.Value {
	all := classes * count
	flat := func(x *graph.Value) *graph.Value { return c.Reshape(c.Transpose(x, 1, 0), all) } // class after class
	k := min(total, all)
	top := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: 0, Largest: true}, flat(best))
	there := c.Do(ops.Greater, top[0], compose.Like(top[0], math.Inf(-1)))
	kept := func(x *graph.Value) *graph.Value {
		x = c.Do(ops.Where, c.Reshape(there, k), x, compose.Like(x, 0))
		return c.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0}, PadAfter: []int{total - k}, Mode: "constant"}, x)
	}
	class := c.Do(ops.Divide, top[1], compose.Like(top[1], float64(count)))
	at := c.Apply(ops.Take, ops.TakeAttrs{}, flat(place), top[1])
	var columns values
	for _, v := range of {
		index := at
		if v.Type.Rank() == 2 { // boxes of each class
			n := v.Type.Shape[1]
			index = c.Do(ops.Add, c.Do(ops.Multiply, class, compose.Like(class, float64(n))), at)
			v = c.Reshape(v, classes*n)
		}
		v = c.Apply(ops.Take, ops.TakeAttrs{}, v, index)
		if clip {
			v = c.Clipped(v, 0, 1)
		}
		columns = append(columns, kept(v))
	}
	number := c.Reduce(ops.Sum, c.Cast(there, types.I32), false, 0)
	return [4]*graph.Value{c.Stack(1, columns...), kept(top[0]), kept(c.Cast(class, top[0].Type.DType)), number}
}

// cropAndResize samples boxes [n, 4], in units of the image, of the images that operand 2 says, at as many points as operand 3 says.
func cropAndResize(c *call) *graph.Value {
	x, boxes, which, size := c.floats(), c.X(1), c.Cast(c.X(2), types.I64), c.KnownInts(3, "the size")
	method, outside := c.OneOf("method", "bilinear", "bilinear", "nearest"), c.Float("extrapolation_value", 0)
	if x.Type.Rank() != 4 || boxes.Type.Rank() != 2 || boxes.Type.Shape[1] != 4 || len(size) != 2 || size[0] < 1 || size[1] < 1 || which.Type.Rank() != 1 {
		compose.Fail("boxes %s of %s at %v points", boxes.Type, x.Type, size)
	}
	n := boxes.Type.Shape[0]
	var inside [2]*graph.Value
	var low, high, part [2]*graph.Value
	for k := range 2 {
		a, b := c.At(boxes, 1, k), c.At(boxes, 1, 2+k)
		last := compose.Like(a, float64(x.Type.Shape[1+k]-1))
		var at *graph.Value // [n, points]
		if size[k] > 1 {
			step := c.Do(ops.Divide, c.Do(ops.Multiply, c.Do(ops.Subtract, b, a), last), compose.Like(a, float64(size[k]-1)))
			at = c.Do(ops.Add, c.ExpandDims(c.Do(ops.Multiply, a, last), 1), c.Do(ops.Multiply, c.ExpandDims(step, 1), c.Cast(c.Arange(size[k]), step.Type.DType)))
		} else {
			at = c.ExpandDims(c.Do(ops.Multiply, c.Scaled(c.Do(ops.Add, a, b), 0.5), last), 1)
		}
		inside[k] = c.Do(ops.LogicalAnd, c.Do(ops.GreaterEqual, at, compose.Like(at, 0)), c.Do(ops.LessEqual, at, last))
		whole := func(v *graph.Value) *graph.Value {
			return c.Cast(c.Clipped(v, 0, float64(x.Type.Shape[1+k]-1)), types.I64)
		}
		floor := c.Do(ops.Floor, at)
		low[k], high[k], part[k] = whole(floor), whole(c.Do(ops.Ceil, at)), c.Do(ops.Subtract, at, floor)
		if method == "nearest" {
			low[k] = whole(c.Do(ops.Floor, c.Do(ops.Add, at, compose.Like(at, 0.5))))
		}
	}
	grid := []int{n, size[0], size[1]}
	pixels := func(y, x2 *graph.Value) *graph.Value {
		entry := func(v *graph.Value, shape ...int) *graph.Value {
			return c.ExpandDims(c.BroadcastTo(c.Reshape(v, shape...), grid...), 3)
		}
		return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, x, c.Concat(3, entry(which, n, 1, 1), entry(y, n, size[0], 1), entry(x2, n, 1, size[1])))
	}
	y := pixels(low[0], low[1])
	if method == "bilinear" {
		between := func(a, b, f *graph.Value) *graph.Value {
			return c.Do(ops.Add, a, c.Do(ops.Multiply, c.Do(ops.Subtract, b, a), f))
		}
		fx, fy := c.Reshape(part[1], n, 1, size[1], 1), c.Reshape(part[0], n, size[0], 1, 1)
		y = between(between(y, pixels(low[0], high[1]), fx), between(pixels(high[0], low[1]), pixels(high[0], high[1]), fx), fy)
	}
	both := c.Do(ops.LogicalAnd, c.Reshape(inside[0], n, size[0], 1, 1), c.Reshape(inside[1], n, 1, size[1], 1))
	return c.Do(ops.Where, both, y, compose.Like(y, outside))
}
