package ops

import (
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// LayoutTransformAttrs are the attributes of layout_transform.
type LayoutTransformAttrs struct{ Dst types.Layout }

// LayoutTransform changes how a tensor lies in memory and nothing else: logically it is the identity.
var LayoutTransform = op.Define(op.Spec[LayoutTransformAttrs]{
	Name:   "layout_transform",
	Doc:    "layout_transform stores data in the physical layout dst; logical values and indices stay the same.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Free,

	Infer: func(a LayoutTransformAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := a.Dst.Check(in[0].Rank()); err != nil {
			return nil, err
		}
		return []types.Tensor{in[0].With(a.Dst)}, nil
	},
	Eval: func(_ LayoutTransformAttrs, in, out []*tensor.Tensor) error {
		copy(out[0].Bytes(), in[0].Bytes())
		return nil
	},
	Compute: func(_ LayoutTransformAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("layout_transform", out[0], func(i []expr.Expr) expr.Expr { return in[0].At(i...) })}
	},
	Identity: func(a LayoutTransformAttrs, in []types.Tensor) bool { return a.Dst == in[0].Layout },
	Sample: func(r *rand.Rand) (LayoutTransformAttrs, []types.Tensor) {
		d := draw{r}
		dst := d.word("", "ACDB", "ABCD4b", "ABCD8b", "ABCD4a")
		return LayoutTransformAttrs{types.Layout(dst)}, []types.Tensor{types.Of(d.dtype(), d.shape(4, 4)...)}
	},
})
