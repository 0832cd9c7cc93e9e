package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// TileAttrs are the attributes of tile: how often the tensor stands along each axis.
type TileAttrs struct{ Reps []int }

// Tile repeats the whole tensor along each axis.
var Tile = op.Define(op.Spec[TileAttrs]{
	Name:   "tile",
	Doc:    "tile repeats the whole tensor reps[k] times along axis k.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a TileAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := perAxis("reps", a.Reps, in[0].Rank()); err != nil {
			return nil, err
		}
		shape := make([]int, in[0].Rank())
		for k, n := range in[0].Shape {
			size, err := repeated(n, a.Reps[k])
			if err != nil {
				return nil, fmt.Errorf("axis %d: %w", k, err)
			}
			shape[k] = size
		}
		return []types.Tensor{types.Of(in[0].DType, shape...)}, nil
	},
	Eval: func(_ TileAttrs, in, out []*tensor.Tensor) error {
		rearrange(out[0], in[0], func(at []int) []int {
			for k, n := range in[0].Shape {
				at[k] %= n
			}
			return at
		})
		return nil
	},
	Compute: func(a TileAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("tile", out[0], func(i []expr.Expr) expr.Expr {
			from := make([]expr.Expr, len(i))
			for k, e := range i {
				from[k] = e
				if a.Reps[k] != 1 {
					from[k] = remainder(e, in[0].Type.Shape[k])
				}
			}
			return in[0].At(from...)
		})}
	},
	Identity: func(a TileAttrs, in []types.Tensor) bool {
		return !slices.ContainsFunc(a.Reps, func(n int) bool { return n != 1 })
	},
	Sample: func(r *rand.Rand) (TileAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(0, 4)
		reps := make([]int, len(shape))
		for k := range reps {
			reps[k] = d.between(1, 3)
		}
		return TileAttrs{reps}, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})

// repeated is n times reps, checked.
func repeated(n, reps int) (int, error) {
	if reps < 0 || (n > 0 && reps > types.MaxElements/n) {
		return 0, fmt.Errorf("%s repeated %d times", spelling.Count(n, "element"), reps)
	}
	return n * reps, nil
}
