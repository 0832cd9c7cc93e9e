package ops

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// TopKAttrs are the attributes of topk. Largest false selects the smallest values.
type TopKAttrs struct {
	K, Axis int
	Largest bool
}

// TopK selects the greatest or least values of an axis and says where they stood. It has no tensor expression.
var TopK = op.Define(op.Spec[TopKAttrs]{
	Name:   "topk",
	Doc:    "topk gives the k greatest or least elements of an axis in order, and their int64 indices; of equal elements the first comes first, NaN is greater than any number.",
	Args:   []string{"data"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a TopKAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		if n := in[0].Shape[a.Axis]; a.K < 0 || a.K > n {
			return nil, fmt.Errorf("k is %d, but axis %d of %s has %s", a.K, a.Axis, in[0], spelling.Count(n, "element"))
		}
		shape := slices.Clone(in[0].Shape)
		shape[a.Axis] = a.K
		return []types.Tensor{types.Of(in[0].DType, shape...), types.Of(types.I64, shape...)}, nil
	},
	Eval: func(a TopKAttrs, in, out []*tensor.Tensor) error {
		n := in[0].Shape[a.Axis]
		rows := slices.Clone(in[0].Shape)
		rows[a.Axis] = 1
		eachIndex(rows, func(at []int) {
			at = slices.Clone(at)
			place := func(t *tensor.Tensor, i int) int {
				at[a.Axis] = i
				return offsetOf(t.Shape, at)
			}
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int {
				c := compareElements(in[0], place(in[0], i), place(in[0], j))
				if a.Largest {
					c = -c
				}
				return c
			})
			for k, i := range order[:a.K] {
				setElement(out[0], place(out[0], k), in[0], place(in[0], i))
				out[1].SetInt(place(out[1], k), int64(i))
			}
		})
		return nil
	},
	Axes: alongAxis(func(a *TopKAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (TopKAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		axis := d.IntN(len(shape))
		return TopKAttrs{d.between(0, shape[axis]), axis, d.coin(2)}, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})

// compareElements orders elements i and j of t; NaN is greater than any number.
func compareElements(t *tensor.Tensor, i, j int) int {
	switch {
	case t.DType.IsFloat():
		x, y := t.Float(i), t.Float(j)
		if x != x || y != y {
			return -cmp.Compare(x, y)
		}
		return cmp.Compare(x, y)
	case t.DType == types.U64:
		return cmp.Compare(uint64(t.Int(i)), uint64(t.Int(j)))
	}
	return cmp.Compare(t.Int(i), t.Int(j))
}
