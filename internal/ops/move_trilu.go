package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TriluAttrs are the attributes of trilu. K shifts the diagonal: 0 is the main one, positive values lie above it.
type TriluAttrs struct {
	Upper bool
	K     int
}

// Trilu keeps one triangle of each matrix, the diagonal included, and makes the rest 0.
var Trilu = op.Define(op.Spec[TriluAttrs]{
	Name:   "trilu",
	Doc:    "trilu keeps the upper or lower triangle of each matrix, diagonal k included, and makes the rest 0.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a TriluAttrs, in []op.Arg) ([]types.Tensor, error) {
		if in[0].Rank() < 2 {
			return nil, fmt.Errorf("%s is not a matrix or a batch of matrices", in[0])
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a TriluAttrs, in, out []*tensor.Tensor) error {
		eachIndex(out[0].Shape, func(at []int) {
			i := offsetOf(out[0].Shape, at)
			row, col := at[len(at)-2], at[len(at)-1]
			if a.Upper && col-row >= a.K || !a.Upper && col-row <= a.K {
				setElement(out[0], i, in[0], i)
			}
		})
		return nil
	},
	Compute: func(a TriluAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("trilu", out[0], func(i []expr.Expr) expr.Expr {
			above, within := expr.Sub(i[len(i)-1], i[len(i)-2]), expr.LE
			if a.Upper {
				within = expr.GE
			}
			return expr.If(within(above, expr.Index(a.K)), in[0].At(i...), expr.Const(out[0].DType.Compute(), 0))
		})}
	},
	Sample: func(r *rand.Rand) (TriluAttrs, []types.Tensor) {
		d := draw{r}
		return TriluAttrs{d.coin(2), d.between(-4, 4)}, []types.Tensor{types.Of(d.dtype(), d.shape(2, 4)...)}
	},
})
