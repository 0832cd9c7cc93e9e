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

// Dense multiplies the last axis of data [..., K] by weight [N, K].
var Dense = op.Define(op.Spec[op.None]{
	Name: "nn.dense", Doc: "nn.dense is data times the transpose of weight: a fully connected layer without bias. The weight may have a narrower type than data.",
	Args: []string{"data", "weight"}, Fusion: op.OutFusable, Layout: op.Plain,
	Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
		if err := withNarrowWeight([]string{"data", "weight"}, in); err != nil {
			return nil, err
		}
		x, w := in[0], in[1]
		if x.Rank() < 1 || w.Rank() != 2 || x.Shape[x.Rank()-1] != w.Shape[1] {
			return nil, fmt.Errorf("data %s and weight %s; they must be [..., K] and [N, K]", x.Tensor, w.Tensor)
		}
		last := x.Rank() - 1
		return []types.Tensor{types.Of(x.DType, append(append([]int{}, x.Shape[:last]...), w.Shape[0])...)}, nil
	},
	Eval: func(_ op.None, in, out []*tensor.Tensor) error {
		depth := in[1].Shape[1]
		if out[0].DType.IsFloat() {
			products(widenedFloats(in[0]), widenedFloats(in[1]), depth, out[0], 0)
		} else {
			products(widenedInts(in[0]), widenedInts(in[1]), depth, out[0], 0)
		}
		return nil
	},
	Compute: func(_ op.None, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x, w := in[0], in[1]
		y := te.Fold("dense", out[0], te.Sum, w.Type.Shape[1:], func(i, r []expr.Expr) expr.Expr {
			last := len(i) - 1
			return expr.Mul(x.At(with(i, last, r[0])...), expr.CastTo(out[0].DType.Compute(), w.At(i[last], r[0])))
		})
		return []*te.Stage{y}
	},
	Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
		d := draw{r}
		t, shape := d.of(numbers), d.shape(1, 3)
		return op.None{}, []types.Tensor{types.Of(t, shape...), types.Of(d.narrower(t), d.between(1, 6), shape[len(shape)-1])}
	},
})
