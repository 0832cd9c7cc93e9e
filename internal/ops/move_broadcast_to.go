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

// BroadcastToAttrs are the attributes of broadcast_to.
type BroadcastToAttrs struct{ Shape []int }

// BroadcastTo repeats a tensor to a given shape by numpy's rule.
var BroadcastTo = op.Define(op.Spec[BroadcastToAttrs]{
	Name:   "broadcast_to",
	Doc:    "broadcast_to repeats data to shape by numpy's rule: axes align at the end, an axis of 1 is repeated.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a BroadcastToAttrs, in []op.Arg) ([]types.Tensor, error) {
		lead := len(a.Shape) - in[0].Rank()
		if lead < 0 {
			return nil, fmt.Errorf("%s does not broadcast to %v of lower rank", in[0], a.Shape)
		}
		for k, n := range in[0].Shape {
			if n != 1 && n != a.Shape[lead+k] {
				return nil, fmt.Errorf("%s does not broadcast to %v: axis %d is neither 1 nor %d", in[0], a.Shape, k, a.Shape[lead+k])
			}
		}
		return []types.Tensor{types.Of(in[0].DType, slices.Clone(a.Shape)...)}, nil
	},
	Eval: func(_ BroadcastToAttrs, in, out []*tensor.Tensor) error {
		rearrange(out[0], in[0], func(at []int) []int {
			at = at[len(at)-len(in[0].Shape):]
			for k, n := range in[0].Shape {
				at[k] = min(at[k], n-1)
			}
			return at
		})
		return nil
	},
	Compute: func(_ BroadcastToAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("broadcast_to", out[0], func(i []expr.Expr) expr.Expr {
			from := slices.Clone(i[len(i)-len(in[0].Type.Shape):])
			for k, n := range in[0].Type.Shape {
				if n == 1 {
					from[k] = expr.Index(0)
				}
			}
			return in[0].At(from...)
		})}
	},
	Identity: func(a BroadcastToAttrs, in []types.Tensor) bool { return slices.Equal(a.Shape, in[0].Shape) },
	Sample: func(r *rand.Rand) (BroadcastToAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(0, 5)
		in := slices.Clone(shape[d.IntN(len(shape)+1):])
		for k := range in {
			if d.coin(2) {
				in[k] = 1
			}
		}
		return BroadcastToAttrs{shape}, []types.Tensor{types.Of(d.dtype(), in...)}
	},
})
