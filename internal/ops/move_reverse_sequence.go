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

// ReverseSequenceAttrs are the attributes of reverse_sequence.
type ReverseSequenceAttrs struct{ SeqAxis, BatchAxis int }

// ReverseSequence reverses the first elements of each sequence of a batch and keeps the others.
var ReverseSequence = op.Define(op.Spec[ReverseSequenceAttrs]{
	Name:   "reverse_sequence",
	Doc:    "reverse_sequence reverses, for entry b of the batch axis, the first seq_lengths[b] elements of the sequence axis; lengths are clamped to the axis.",
	Args:   []string{"data", "seq_lengths"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a ReverseSequenceAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxes([]int{a.SeqAxis, a.BatchAxis}, in[0].Rank()); err != nil {
			return nil, fmt.Errorf("sequence and batch axis: %w", err)
		}
		if n := in[0].Shape[a.BatchAxis]; !in[1].DType.IsInt() || in[1].Rank() != 1 || in[1].Shape[0] != n {
			return nil, fmt.Errorf("seq_lengths is %s, not one integer for each entry of axis %d, which has %d", in[1], a.BatchAxis, n)
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a ReverseSequenceAttrs, in, out []*tensor.Tensor) error {
		n := in[0].Shape[a.SeqAxis]
		rearrange(out[0], in[0], func(at []int) []int {
			length := int(max(0, min(in[1].Int(at[a.BatchAxis]), int64(n))))
			if s := at[a.SeqAxis]; s < length {
				at[a.SeqAxis] = length - 1 - s
			}
			return at
		})
		return nil
	},
	Compute: func(a ReverseSequenceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("reverse_sequence", out[0], func(i []expr.Expr) expr.Expr {
			n, s := out[0].Shape[a.SeqAxis], i[a.SeqAxis]
			length := expr.Min(expr.CastTo(types.I64, in[1].At(i[a.BatchAxis])), expr.Index(n))
			back := expr.Sub(expr.Sub(length, expr.Index(1)), s)
			from := expr.If(expr.LT(s, length), back, s)
			return in[0].At(with(i, a.SeqAxis, clampExpr(from, n))...)
		})}
	},
	Sample: func(r *rand.Rand) (ReverseSequenceAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(2, 4)
		p := d.Perm(len(shape))
		return ReverseSequenceAttrs{p[0], p[1]}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(d.index(), shape[p[1]])}
	},
})
