package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// NMSAttrs are the attributes of vision.all_class_non_max_suppression. Boxes are [y1, x1, y2, x2], two opposite corners,
// or with CenterPoint [x, y, width, height]. MaxOutput bounds the boxes of a class and batch entry.
type NMSAttrs struct {
	MaxOutput      int
	IOUThreshold   float64 // float32
	ScoreThreshold float64 // float32; boxes with this score or less are out
	UseScore       bool    // false: no box is out by its score
	CenterPoint    bool
}

// AllClassNMS selects boxes by score that do not overlap a better one too much: ONNX's NonMaxSuppression.
var AllClassNMS = op.Define(op.Spec[NMSAttrs]{
	Name:   "vision.all_class_non_max_suppression",
	Doc:    "vision.all_class_non_max_suppression selects, for each batch entry and class, boxes by falling score that do not overlap a selected one by more than a threshold: rows [batch, class, box] and their number; rows beyond it are 0.",
	Args:   []string{"boxes", "scores"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a NMSAttrs, in []op.Arg) ([]types.Tensor, error) {
		boxes, scores := in[0], in[1]
		if boxes.DType != types.F32 || scores.DType != types.F32 {
			return nil, fmt.Errorf("boxes are %s, scores %s, not float32", boxes, scores)
		}
		if boxes.Rank() != 3 || scores.Rank() != 3 || boxes.Shape[2] != 4 || boxes.Shape[0] != scores.Shape[0] || boxes.Shape[1] != scores.Shape[2] {
			return nil, fmt.Errorf("boxes are %s, not [batch,boxes,4], or scores are %s, not [batch,classes,boxes]", boxes, scores)
		}
		if a.MaxOutput < 0 {
			return nil, fmt.Errorf("max_output is %d", a.MaxOutput)
		}
		most := scores.Shape[0] * scores.Shape[1] * min(a.MaxOutput, boxes.Shape[1])
		return []types.Tensor{types.Of(types.I64, most, 3), types.Of(types.I64)}, nil
	},
	Eval: func(a NMSAttrs, in, out []*tensor.Tensor) error {
		boxes, scores, n := in[0], in[1], 0
		count := boxes.Shape[1]
		for b := range scores.Shape[0] {
			for c := range scores.Shape[1] {
				score := func(i int) float64 { return scores.Float((b*scores.Shape[1]+c)*count + i) }
				order := make([]int, count)
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(i, j int) int {
					return -compareElements(scores, (b*scores.Shape[1]+c)*count+i, (b*scores.Shape[1]+c)*count+j)
				})
				var chosen []corners
				for _, i := range order {
					box := a.corners(boxes, b*count+i)
					if len(chosen) >= a.MaxOutput || a.UseScore && !(score(i) > float64(float32(a.ScoreThreshold))) ||
						slices.ContainsFunc(chosen, func(o corners) bool { return a.overlap(box, o) }) {
						continue
					}
					chosen = append(chosen, box)
					for k, v := range []int{b, c, i} {
						out[0].SetInt(3*n+k, int64(v))
					}
					n++
				}
			}
		}
		out[1].SetInt(0, int64(n))
		return nil
	},
	Sample: func(r *rand.Rand) (NMSAttrs, []types.Tensor) {
		d := draw{r}
		b, c, n := d.between(1, 3), d.between(1, 3), d.between(0, 20)
		a := NMSAttrs{d.between(0, 6), r.Float64() / 2, r.Float64() - 0.5, d.coin(2), d.coin(2)}
		return a, []types.Tensor{types.Of(types.F32, b, n, 4), types.Of(types.F32, b, c, n)}
	},
})

// corners are the sides of a box in float32, low before high.
type corners struct{ y0, x0, y1, x1 float32 }

// corners reads box i.
func (a NMSAttrs) corners(boxes *tensor.Tensor, i int) corners {
	v := func(k int) float32 { return float32(boxes.Float(4*i + k)) }
	if a.CenterPoint {
		w, h := v(2)/2, v(3)/2
		return corners{v(1) - h, v(0) - w, v(1) + h, v(0) + w}
	}
	return corners{min(v(0), v(2)), min(v(1), v(3)), max(v(0), v(2)), max(v(1), v(3))}
}

// overlap reports whether the boxes' intersection is more than the threshold's part of their union, in float32.
func (a NMSAttrs) overlap(p, q corners) bool {
	h, w := min(p.y1, q.y1)-max(p.y0, q.y0), min(p.x1, q.x1)-max(p.x0, q.x0)
	both := h * w
	one, two := (p.y1-p.y0)*(p.x1-p.x0), (q.y1-q.y0)*(q.x1-q.x0)
	sum := float32(one + two)
	return h > 0 && w > 0 && one > 0 && two > 0 && both/float32(sum-both) > float32(a.IOUThreshold)
}
