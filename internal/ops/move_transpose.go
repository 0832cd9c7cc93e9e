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

// TransposeAttrs are the attributes of transpose. Axes is a permutation: axis k of the result is axis Axes[k] of data.
type TransposeAttrs struct{ Axes []int }

// Transposed is what transpose makes of a constant, whose elements stay where they are until they are asked for.
func Transposed(t *tensor.Tensor, axes ...int) *tensor.Tensor {
	shape, steps := op.Permuted(t.Shape, axes), op.Permuted(types.RowMajor(t.Shape), axes)
	return tensor.View(shape, t, steps, fmt.Sprintf("transposed to %v by %v", shape, axes), func(out []byte) {
		strided(tensor.Over(t.DType, shape, out), t, steps)
	})
}

// Transpose permutes the axes.
var Transpose = op.Define(op.Spec[TransposeAttrs]{
	Name:   "transpose",
	Doc:    "transpose permutes the axes: axis k of the result is axis axes[k] of data.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Free,

	Infer: func(a TransposeAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := perAxis("axes", a.Axes, in[0].Rank()); err != nil {
			return nil, err
		}
		if err := wantAxes(a.Axes, in[0].Rank()); err != nil {
			return nil, fmt.Errorf("axes %v: %w", a.Axes, err)
		}
		shape := make([]int, len(a.Axes))
		for k, ax := range a.Axes {
			shape[k] = in[0].Shape[ax]
		}
		return []types.Tensor{types.Of(in[0].DType, shape...)}, nil
	},
	Eval: func(a TransposeAttrs, in, out []*tensor.Tensor) error {
		strided(out[0], in[0], op.Permuted(types.RowMajor(in[0].Shape), a.Axes))
		return nil
	},
	Compute: func(a TransposeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("transpose", out[0], func(i []expr.Expr) expr.Expr {
			from := make([]expr.Expr, len(i))
			for k, ax := range a.Axes {
				from[ax] = i[k]
			}
			return in[0].At(from...)
		})}
	},
	Identity: func(a TransposeAttrs, in []types.Tensor) bool {
		for k, ax := range a.Axes {
			if k != ax && (in[0].Shape[k] != 1 || in[0].Shape[ax] != 1) {
				return false
			}
		}
		return true
	},
	Sample: func(r *rand.Rand) (TransposeAttrs, []types.Tensor) {
		d := draw{r}
		in := d.shape(0, 5)
		return TransposeAttrs{d.Perm(len(in))}, []types.Tensor{types.Of(d.dtype(), in...)}
	},
})
