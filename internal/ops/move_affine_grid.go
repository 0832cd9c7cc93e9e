package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// AffineGridAttrs are the attributes of image.affine_grid. Sizes are the spatial sizes of the image that the grid will
// give: H,W or D,H,W. AlignCorners puts -1 and 1 on the middle of the outer pixels instead of on their outer edges.
type AffineGridAttrs struct {
	Sizes        []int
	AlignCorners bool
}

// AffineGrid gives the sampling grid of an affine transformation: ONNX's AffineGrid.
var AffineGrid = op.Define(op.Spec[AffineGridAttrs]{
	Name:   "image.affine_grid",
	Doc:    "image.affine_grid is the grid [N, sizes..., axes] of points theta * (x, y, 1) or (x, y, z, 1) for image.grid_sample, theta being [N, axes, axes+1].",
	Args:   []string{"theta"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a AffineGridAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := floats.check("theta", in[0].DType); err != nil {
			return nil, err
		}
		n := len(a.Sizes)
		if n != 2 && n != 3 {
			return nil, fmt.Errorf("sizes %v: only H,W and D,H,W are supported", a.Sizes)
		}
		if err := wantEach("sizes", a.Sizes, n, 0, maxPad); err != nil {
			return nil, err
		}
		if t := in[0]; t.Rank() != 3 || t.Shape[1] != n || t.Shape[2] != n+1 {
			return nil, fmt.Errorf("theta is %s, not [N,%d,%d]", t, n, n+1)
		}
		return []types.Tensor{types.Of(in[0].DType, slices.Concat(in[0].Shape[:1], a.Sizes, []int{n})...)}, nil
	},
	Eval: func(a AffineGridAttrs, in, out []*tensor.Tensor) error {
		n := len(a.Sizes)
		eachIndex(out[0].Shape, func(at []int) {
			row := (at[0]*n + at[n+1]) * (n + 1)
			sum := in[0].Float(row + n)
			for k := range n {
				add, over := a.place(n - 1 - k)
				sum += in[0].Float(row+k) * (float64(2*at[n-k]+add) / float64(over))
			}
			out[0].SetFloat(offsetOf(out[0].Shape, at), sum)
		})
		return nil
	},
	Compute: func(a AffineGridAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		n, t := len(a.Sizes), out[0].DType.Compute()
		return []*te.Stage{te.Compute("affine_grid", out[0], func(i []expr.Expr) expr.Expr {
			sum := in[0].At(i[0], i[n+1], expr.Index(n))
			for k := range n {
				add, over := a.place(n - 1 - k)
				x := expr.Div(expr.CastTo(t, scaled(2, i[n-k], add)), expr.Const(t, float64(over)))
				sum = expr.Add(sum, expr.Mul(in[0].At(i[0], i[n+1], expr.Index(k)), x))
			}
			return sum
		})}
	},
	Sample: func(r *rand.Rand) (AffineGridAttrs, []types.Tensor) {
		d := draw{r}
		sizes := d.full(2, 3)
		return AffineGridAttrs{sizes, d.coin(2)}, []types.Tensor{types.Of(d.float(), d.between(1, 3), len(sizes), len(sizes)+1)}
	},
})

// place gives add and over such that pixel i of a spatial axis lies at (2*i + add)/over within [-1, 1].
func (a AffineGridAttrs) place(axis int) (add, over int) {
	n := a.Sizes[axis]
	if !a.AlignCorners {
		return 1 - n, n
	}
	return 1 - n, max(n-1, 1)
}
