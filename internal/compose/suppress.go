package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A Suppression selects boxes that do not overlap, by score.
type Suppression struct {
	// Corners are the least and the greatest y and x of the boxes: y1, x1, y2, x2, each [n] for all rows of scores or [rows, n].
	Corners [4]*graph.Value
	Scores  *graph.Value // [rows, n]
	Labels  *graph.Value // [rows, n], of boxes that suppress each other where they are equal; nil: all do
	Count   int          // boxes of each row, at most
	Overlap float64      // boxes whose intersection over union with one that is selected is above are out
	Least   float64      // boxes whose score is below are out
	Above   bool         // those with a score of Least are out as well
	Reached bool         // those with an overlap of Overlap are out as well
	Offset  float64      // added to extents that are not negative: 1 where corners are places of pixels
	Sigma   float64      // where positive, scores of boxes that stay decay by exp(-overlap²/(2 Sigma)) (soft suppression, arXiv:1704.04503)
}

// Suppress selects boxes for each row, one after the other: the first with the best score, which no further box overlaps. It gives
// places and scores [count, rows]; a score of -Inf says that there is none.
func (b *Builder) Suppress(s Suppression) (places, best *graph.Value) {
	scores := s.Scores
	n := scores.Type.Shape[1]
	none := Like(scores, math.Inf(-1))
	enough, drops := ops.GreaterEqual, ops.Greater
	if s.Above {
		enough = ops.Greater
	}
	if s.Reached {
		drops = ops.GreaterEqual
	}
	candidates := func(v *graph.Value) *graph.Value {
		return b.Do(ops.Where, b.Do(enough, v, Like(v, float64(float32(s.Least)))), v, none)
	}
	scores = candidates(scores)
	var lines [4]*graph.Value
	for k, v := range s.Corners {
		if lines[k] = v; v.Type.Rank() == 1 {
			lines[k] = b.ExpandDims(v, 0)
		}
	}
	out := b.Iterate(graph.LoopAttrs{Trips: s.Count, Carried: 1}, []*graph.Value{scores}, func(in []*graph.Value) []*graph.Value {
		left := in[0]
		at, score := b.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, left), b.Reduce(ops.Max, left, false, 1)
		var chosen [4]*graph.Value
		for k, v := range s.Corners {
			if v.Type.Rank() == 1 {
				chosen[k] = b.ExpandDims(b.Apply(ops.Take, ops.TakeAttrs{}, v, at), 1)
			} else {
				chosen[k] = b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, v, b.ExpandDims(at, 1))
			}
		}
		ratio, real := b.overlap(lines, chosen, s.Offset)
		over := b.Do(ops.LogicalAnd, real, b.Do(drops, ratio, Like(ratio, float64(float32(s.Overlap)))))
		if s.Labels != nil {
			own := b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, s.Labels, b.ExpandDims(at, 1))
			over = b.Do(ops.LogicalAnd, over, b.Do(ops.Equal, s.Labels, own))
		}
		itself := b.Do(ops.Equal, b.ExpandDims(b.Arange(n), 0), b.ExpandDims(at, 1))
		if s.Sigma > 0 {
			decay := b.Do(ops.Exp, b.Do(ops.Multiply, b.Do(ops.Multiply, ratio, ratio), Like(ratio, -0.5/s.Sigma)))
			left = candidates(b.Do(ops.Multiply, left, b.Do(ops.Where, real, decay, Like(ratio, 1))))
		}
		return []*graph.Value{b.Do(ops.Where, b.Do(ops.LogicalOr, over, itself), none, left), at, score}
	})
	return out[1], out[2]
}

// overlap is the intersection over the union of boxes that are y1, x1, y2 and x2 each, and whether both have an area. Offset is that of Suppression.
func (b *Builder) overlap(a, c [4]*graph.Value, offset float64) (ratio, real *graph.Value) {
	zero := Like(a[0], 0)
	extent := func(low, high *graph.Value) *graph.Value {
		d := b.Do(ops.Subtract, high, low)
		if offset == 0 {
			return b.Do(ops.Maximum, d, zero)
		}
		return b.Do(ops.Where, b.Do(ops.GreaterEqual, d, zero), b.Do(ops.Add, d, Like(d, offset)), zero)
	}
	area := func(c [4]*graph.Value) *graph.Value {
		return b.Do(ops.Multiply, extent(c[0], c[2]), extent(c[1], c[3]))
	}
	var shared [4]*graph.Value
	for k := range 2 {
		shared[k], shared[2+k] = b.Do(ops.Maximum, a[k], c[k]), b.Do(ops.Minimum, a[2+k], c[2+k])
	}
	both, first, second := area(shared), area(a), area(c)
	ratio = b.Do(ops.Divide, both, b.Do(ops.Subtract, b.Do(ops.Add, first, second), both))
	real = b.Do(ops.LogicalAnd, b.Do(ops.Greater, first, zero), b.Do(ops.Greater, second, zero))
	return b.Do(ops.Where, real, ratio, zero), real
}
