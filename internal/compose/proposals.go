package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Anchors are boxes x1, y1, x2, y2 around the first place of a map, one for each shape: squares of the map's stride in pixels, moved and stretched. A shape is
// a width and a height; corners are places of pixels, both within the box.
func Anchors(stride int, shapes [][2]float64) [][4]float64 {
	center := float64(stride-1) / 2
	var list [][4]float64
	for _, s := range shapes {
		list = append(list, [4]float64{center - (s[0]-1)/2, center - (s[1]-1)/2, center + (s[0]-1)/2, center + (s[1]-1)/2})
	}
	return list
}

// Proposals are the regions of a picture that a network takes for objects (Ren et al., Faster R-CNN, 2015).
type Proposals struct {
	Scores  *graph.Value // [1, anchors, height, width]
	Offsets *graph.Value // [1, 4*anchors, height, width]: of each anchor x, y, and logarithms of width and height
	Picture *graph.Value // [1, 3]: height, width and scale
	Anchors [][4]float64 // at the first place
	Stride  int          // of the map, in pixels
	Within  bool         // the last pixel of a region belongs to it; else regions end one pixel later
	Least   float64      // boxes with a side below, times scale, are out
	Low     bool         // what is out, or lies at a place that the picture does not reach, has a score of -1 instead, and a box that is greater by Least, times scale, around its center
	Top     int          // boxes that take part: those with the best scores; less than 1: all
	Keep    int          // rows of the result
	Overlap float64      // boxes whose intersection over union with a better one is above are out
}

// Propose gives corners [Keep, 4] and scores [Keep, 1], best first. Where there are fewer, they are repeated in turn.
func (b *Builder) Propose(p Proposals) (boxes, scores *graph.Value) {
	s, count := p.Scores.Type.Shape, len(p.Anchors)
	if len(s) != 4 || s[0] != 1 || s[1] != count || p.Offsets.Type.Elements() != 4*p.Scores.Type.Elements() || p.Picture.Type.Elements() != 3 || count < 1 || p.Keep < 1 || p.Keep > 1<<16 || p.Stride < 1 {
		Fail("%d proposals of scores %s and offsets %s with %d anchors for the picture %s", p.Keep, p.Scores.Type, p.Offsets.Type, count, p.Picture.Type)
	}
	h, w := s[2], s[3]
	n := h * w * count
	anchors := b.Zeros(types.F32, 1, n, 4)
	for i := range anchors.Len() {
		k, place := i%4, i/4/count
		shift := []int{place % w, place / w}[k%2] * p.Stride
		anchors.SetFloat(i, p.Anchors[i/4%count][k]+float64(shift)+float64(k/2)) // the end is one behind the last pixel
	}
	score := b.Reshape(b.Transpose(p.Scores, 0, 2, 3, 1), 1, n)
	offsets := b.Reshape(b.Transpose(b.Reshape(p.Offsets, count, 4, h, w), 2, 3, 0, 1), 1, n, 4)
	info := func(k int) *graph.Value { return b.Reshape(b.Slice(b.Reshape(p.Picture, 3), 0, k, k+1), 1, 1) }
	decoded := b.DecodeBoxes(offsets, Const(anchors), [4]float64{1, 1, 1, 1}, false)
	var corner [4]*graph.Value // [1, n]
	for k := range corner {
		v := b.At(decoded, 2, k)
		if p.Within && k >= 2 {
			v = b.Do(ops.Subtract, v, Like(v, 1))
		}
		v = b.Do(ops.Minimum, v, b.Do(ops.Subtract, info(1-k%2), Like(v, 1)))
		corner[k] = b.Do(ops.Maximum, v, Like(v, 0))
	}
	least := b.Scaled(info(2), p.Least)
	var small *graph.Value
	for k := range 2 {
		side := b.Do(ops.Add, b.Do(ops.Subtract, corner[2+k], corner[k]), Like(score, 1))
		if below := b.Do(ops.Less, side, least); small == nil {
			small = below
		} else {
			small = b.Do(ops.LogicalOr, small, below)
		}
	}
	none := Like(score, math.Inf(-1))
	if p.Low {
		half := b.Do(ops.Where, small, b.Scaled(least, 0.5), Like(score, 0))
		for k := range corner {
			corner[k] = b.Do([]*op.Def{ops.Subtract, ops.Add}[k/2], corner[k], half)
		}
		beyond := func(k int, at func(place int) int) *graph.Value { // places that the picture does not reach along an axis
			t := b.Zeros(types.F32, 1, n)
			for i := range n {
				t.SetFloat(i, float64(at(i/count)))
			}
			return b.Do(ops.GreaterEqual, Const(t), b.Do(ops.Floor, b.Scaled(info(k), 1/float64(p.Stride))))
		}
		out := b.Do(ops.LogicalOr, small, b.Do(ops.LogicalOr, beyond(0, func(p int) int { return p / w }), beyond(1, func(p int) int { return p % w })))
		score = b.Do(ops.Where, out, Like(score, -1), score)
	} else {
		score = b.Do(ops.Where, small, none, score)
	}

	all := b.Stack(2, corner[:]...)
	top := n
	if p.Top > 0 {
		top = min(p.Top, n)
	}
	best, places := b.Sorted(score, top)
	all = b.Rows(all, places)
	u := Suppression{Scores: best, Count: min(p.Keep, top), Overlap: p.Overlap, Least: math.Inf(-1), Above: true, Offset: 1}
	for k, of := range []int{1, 0, 3, 2} {
		u.Corners[k] = b.At(all, 2, of)
	}
	at, kept := b.Suppress(u) // [count, 1]
	there := b.Reduce(ops.Sum, b.Cast(b.Do(ops.Greater, kept, none), types.I64), true, 0, 1)
	turn := b.Do(ops.FloorMod, b.ExpandDims(b.Arange(p.Keep), 1), b.Do(ops.Maximum, there, Like(there, 1)))
	at = b.Apply(ops.Gather, ops.GatherAttrs{}, at, turn)
	return b.At(b.Rows(all, b.Transpose(at, 1, 0)), 0, 0), b.Apply(ops.Gather, ops.GatherAttrs{}, kept, turn)
}
