package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Detections are the best boxes of several classes: those of a class that overlap a better one of it are out.
type Detections struct {
	Boxes      *graph.Value // [1, n, 4]: corners x1, y1, x2, y2
	Scores     *graph.Value // [classes, n]
	Background int          // a class that does not count, or -1
	Least      float64      // boxes whose score is not above are out
	Top        int          // boxes of each class that take part: those with the best scores; less than 1: all
	Keep       int          // rows of the result; less than 1: as many as take part
	Threshold  float64      // of the intersection over the union
	Offset     float64      // see Suppression
}

// A Detected has the best boxes, and behind them rows that are not There. All are [1, rows] but Boxes, which are [1, rows, 4].
type Detected struct {
	Labels, Scores, Places, There, Boxes *graph.Value
}

// candidates are the best scores of each class and where they stand, [classes, top]; -Inf is the score of what is out.
func (b *Builder) candidates(scores *graph.Value, least float64, background, top int) (best, places *graph.Value) {
	classes, n := scores.Type.Shape[0], scores.Type.Shape[1]
	enough := b.Do(ops.Greater, scores, Like(scores, float64(float32(least))))
	if background >= 0 && background < classes {
		real := b.Do(ops.NotEqual, b.ExpandDims(b.Arange(classes), 1), Number(types.I64, float64(background)))
		enough = b.Do(ops.LogicalAnd, enough, real)
	}
	if top < 1 || top > n {
		top = n
	}
	return b.Sorted(b.Do(ops.Where, enough, scores, Like(scores, math.Inf(-1))), top)
}

// Detect gives the best of all classes in the order of classes, and of falling scores within a class (SSD's DetectionOutput).
func (b *Builder) Detect(d Detections) Detected {
	classes, n := d.Scores.Type.Shape[0], d.Boxes.Type.Shape[1]
	best, places := b.candidates(d.Scores, d.Least, d.Background, d.Top)
	top := best.Type.Shape[1]
	most := classes * top
	if d.Keep > 0 {
		most = min(d.Keep, most)
	}
	s := Suppression{Scores: best, Count: min(most, top), Overlap: d.Threshold, Least: math.Inf(-1), Above: true, Offset: d.Offset}
	boxes := b.Rows(b.BroadcastTo(d.Boxes, classes, n, 4), places)
	for k, of := range []int{1, 0, 3, 2} {
		s.Corners[k] = b.At(boxes, 2, of)
	}
	at, score := b.Suppress(s)
	at, score = b.Transpose(at, 1, 0), b.Transpose(score, 1, 0) // [classes, count]
	places = b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, places, at)

	// The best of all classes, then in the order of classes again.
	all := classes * s.Count
	most = min(most, all)
	flat := func(x *graph.Value) *graph.Value { return b.Reshape(x, 1, all) }
	kept, from := b.Sorted(flat(score), most)
	from = b.Do(ops.Where, b.Do(ops.Greater, kept, Like(kept, math.Inf(-1))), from, Number(types.I64, float64(all)))
	from = b.Results(ops.TopK, ops.TopKAttrs{K: most, Axis: 1, Largest: false}, from)[0]
	there := b.Do(ops.Less, from, Number(types.I64, float64(all)))
	from = b.Do(ops.Minimum, from, Number(types.I64, float64(all-1)))
	entry := func(x *graph.Value) *graph.Value { return b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, flat(x), from) }
	out := Detected{Scores: entry(score), Places: entry(places), There: there}
	out.Labels = b.Cast(b.Do(ops.Divide, from, Number(types.I64, float64(s.Count))), types.F32)
	out.Boxes = b.Rows(d.Boxes, out.Places)
	return out
}

// A Decay is how scores of boxes fall by how they overlap better ones (Wang et al., SOLOv2, 2020: matrix NMS).
type Decay struct {
	Detections
	Gaussian bool
	Sigma    float64
	Post     float64 // boxes whose score is then not above are out
}

// MatrixDetect gives the best of all classes in the order of falling scores; what overlaps a better one of its class has a lower score. Offset is
// that of Suppression, and Threshold does not matter.
func (b *Builder) MatrixDetect(d Decay) Detected {
	classes, n := d.Scores.Type.Shape[0], d.Boxes.Type.Shape[1]
	best, places := b.candidates(d.Scores, d.Least, d.Background, d.Top)
	top := best.Type.Shape[1]
	boxes := b.Rows(b.BroadcastTo(d.Boxes, classes, n, 4), places)
	var row, column [4]*graph.Value // y1, x1, y2, x2
	for k, of := range []int{1, 0, 3, 2} {
		v := b.At(boxes, 2, of)
		row[k], column[k] = b.ExpandDims(v, 2), b.ExpandDims(v, 1)
	}
	ratio, _ := b.overlap(row, column, d.Offset)
	better := b.Do(ops.Greater, b.ExpandDims(b.Arange(top), 1), b.ExpandDims(b.Arange(top), 0)) // column j before row i
	ratio = b.Do(ops.Where, better, ratio, Like(ratio, 0))
	worst := b.ExpandDims(b.Reduce(ops.Max, ratio, false, 2), 1) // of each column
	var decay *graph.Value
	if d.Gaussian {
		square := func(x *graph.Value) *graph.Value { return b.Do(ops.Multiply, x, x) }
		decay = b.Do(ops.Exp, b.Scaled(b.Do(ops.Subtract, square(worst), square(ratio)), d.Sigma))
	} else {
		one := Like(ratio, 1)
		decay = b.Do(ops.Divide, b.Do(ops.Subtract, one, ratio), b.Do(ops.Subtract, one, worst))
	}
	decay = b.Do(ops.Where, better, decay, Like(ratio, 1))
	score := b.Do(ops.Multiply, best, b.Reduce(ops.Min, decay, false, 2))
	low := Like(score, math.Inf(-1))
	enough := b.Do(ops.LogicalAnd, b.Do(ops.Greater, best, low), b.Do(ops.Greater, score, Like(score, float64(float32(d.Post)))))
	all := classes * top
	most := all
	if d.Keep > 0 {
		most = min(d.Keep, all)
	}
	kept, from := b.Sorted(b.Reshape(b.Do(ops.Where, enough, score, low), 1, all), most)
	out := Detected{Scores: kept, There: b.Do(ops.Greater, kept, low), Labels: b.Cast(b.Do(ops.Divide, from, Number(types.I64, float64(top))), types.F32)}
	out.Places = b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, b.Reshape(places, 1, all), from)
	out.Boxes = b.Rows(d.Boxes, out.Places)
	return out
}
