package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// customRows are the operators that are known although the file only names them.
var customRows = []row{
	{"TFLite_Detection_PostProcess", real(detection)}, {"Convolution2DTransposeBias", one(biasedTransposed)},
}

// detection decodes boxes [1, n, 4] relative to anchors [n, 4], y, x, height and width, and keeps those with the best scores [1, n, background + classes]
// that do not overlap: by their best class, or class by class. The results are corners, classes, scores and the number, with zeros behind it.
func detection(c *call) values {
	o, err := flexMap(c.op.customOptions)
	if err != nil {
		compose.Fail("%w", err)
	}
	option := func(name string, absent float64) float64 {
		if v, ok := o[name]; ok {
			return v
		}
		return absent
	}
	d := detector{call: c, most: int(option("max_detections", 0)), classes: int(option("num_classes", 0)), each: int(option("detections_per_class", 100)),
		score: option("nms_score_threshold", 0), overlap: option("nms_iou_threshold", 0)}
	boxes, scores, anchors := c.X(0), c.X(1), c.X(2)
	n := anchors.Type.Shape[0]
	if d.most < 1 || d.most > 1<<12 || d.classes < 1 || boxes.Type.Rank() != 3 || scores.Type.Rank() != 3 || anchors.Type.Rank() != 2 || boxes.Type.Shape[0] != 1 || scores.Type.Shape[0] != 1 ||
		n < 1 || boxes.Type.Shape[1] != n || scores.Type.Shape[1] != n || boxes.Type.Shape[2] < 4 || anchors.Type.Shape[1] != 4 || scores.Type.Shape[2] < d.classes {
		compose.Fail("%d detections of %d classes in boxes %s, scores %s and anchors %s", d.most, d.classes, boxes.Type, scores.Type, anchors.Type)
	}
	background := scores.Type.Shape[2] - d.classes
	scores = c.Slice(c.Squeeze(scores, 0), 1, background, background+d.classes)
	corners := d.decode(c.Squeeze(boxes, 0), anchors, [4]float64{option("y_scale", 1), option("x_scale", 1), option("h_scale", 1), option("w_scale", 1)})
	if option("use_regular_nms", 0) != 0 {
		return d.byClass(corners, scores)
	}
	if k := option("max_classes_per_detection", 1); k > 1 && d.classes > 1 {
		compose.Fail("%v classes for each detection are not supported", k)
	}
	best := c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, scores)
	place, score := d.suppressed(corners, c.ExpandDims(c.Reduce(ops.Max, scores, false, 1), 0), d.most)
	place, score = c.At(place, 1, 0), c.At(score, 1, 0)
	return d.results(corners, place, c.Apply(ops.Take, ops.TakeAttrs{}, best, place), score)
}

// decode gives the corners ymin, xmin, ymax, xmax, each [n].
func (d *detector) decode(boxes, anchors *graph.Value, scale [4]float64) (corners [4]*graph.Value) {
	column := func(x *graph.Value, k int) *graph.Value { return d.At(x, 1, k) }
	for k := range 2 {
		size := column(anchors, 2+k)
		centre := d.Do(ops.Add, d.Do(ops.Multiply, d.Do(ops.Divide, column(boxes, k), compose.Like(size, scale[k])), size), column(anchors, k))
		half := d.Do(ops.Multiply, d.Do(ops.Multiply, d.Do(ops.Exp, d.Do(ops.Divide, column(boxes, 2+k), compose.Like(size, scale[2+k]))), size), compose.Like(size, 0.5))
		corners[k], corners[2+k] = d.Do(ops.Subtract, centre, half), d.Do(ops.Add, centre, half)
	}
	return corners
}

// byClass selects boxes for each class, and of all the best.
func (d *detector) byClass(corners [4]*graph.Value, scores *graph.Value) values {
	n := scores.Type.Shape[0]
	count := min(d.each, n)
	places, best := d.suppressed(corners, d.Transpose(scores, 1, 0), count)
	all := d.classes * count
	flat := func(x *graph.Value) *graph.Value { return d.Reshape(d.Transpose(x, 1, 0), all) } // class after class
	k := min(d.most, all)
	top := d.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: 0, Largest: true}, flat(best))
	place := d.Apply(ops.Take, ops.TakeAttrs{}, flat(places), top[1])
	class := d.Do(ops.Divide, top[1], compose.Like(top[1], float64(count)))
	score := top[0]
	if k < d.most {
		pad := func(x *graph.Value, value float64) *graph.Value {
			return d.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0}, PadAfter: []int{d.most - k}, Mode: "constant", Value: value}, x)
		}
		place, class, score = pad(place, 0), pad(class, 0), pad(score, math.Inf(-1))
	}
	return d.results(corners, place, class, score)
}

// results are the detections at places, of classes, with scores, as long as these are numbers.
func (d *detector) results(corners [4]*graph.Value, place, class, score *graph.Value) values {
	there := d.Do(ops.Greater, score, compose.Like(score, math.Inf(-1)))
	kept := func(x *graph.Value) *graph.Value {
		return d.Do(ops.Where, there, x, compose.Like(x, 0))
	}
	var columns values
	for _, v := range corners {
		columns = append(columns, kept(d.Apply(ops.Take, ops.TakeAttrs{}, v, place)))
	}
	line := func(x *graph.Value) *graph.Value { return d.Reshape(x, 1, d.most) }
	number := d.Reduce(ops.Sum, d.Cast(there, types.F32), false, 0)
	return values{d.ExpandDims(d.Stack(1, columns...), 0), line(d.Cast(kept(class), types.F32)), line(kept(score)), d.Reshape(number, 1)}
}
