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

// QnnMatmul multiplies quantised matrices a [..., M, K] and b [..., K, N], each less its zero point: ONNX's MatMulInteger.
// A zero point broadcasts to its operand by numpy's rule and is constant along K: a scalar, one per row of a ([M,1]) or one
// per column of b ([N] or [1,N]). Sums are int32 and wrap.
var QnnMatmul = op.Define(op.Spec[op.None]{
	Name:   "qnn.matmul",
	Doc:    "qnn.matmul is the int32 product of the matrices a - a_zero and b - b_zero in the last two axes; leading axes broadcast.",
	Args:   []string{"a", "a_zero", "b", "b_zero"},
	Fusion: op.OutFusable,
	Layout: op.Plain,

	Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
		a, b := in[0], in[2]
		if a.Rank() < 2 || b.Rank() < 2 || a.Shape[a.Rank()-1] != b.Shape[b.Rank()-2] {
			return nil, fmt.Errorf("a is %s, b is %s: not [..., M, K] and [..., K, N]", a, b)
		}
		if err := zeroAlong("a", a.Tensor, in[1].Tensor, 1); err != nil {
			return nil, err
		}
		if err := zeroAlong("b", b.Tensor, in[3].Tensor, 2); err != nil {
			return nil, err
		}
		batch, err := broadcastShape(a.Shape[:a.Rank()-2], b.Shape[:b.Rank()-2])
		if err != nil {
			return nil, fmt.Errorf("batch %w", err)
		}
		return []types.Tensor{types.Of(types.I32, append(batch, a.Shape[a.Rank()-2], b.Shape[b.Rank()-1])...)}, nil
	},
	Eval: func(_ op.None, in, out []*tensor.Tensor) error {
		a, b, n := in[0], in[2], len(out[0].Shape)
		depth := b.Shape[len(b.Shape)-2]
		value := func(t, zero *tensor.Tensor, at []int) int32 {
			at = at[len(at)-len(t.Shape):]
			return int32(t.Int(broadcastOffset(t.Shape, at)) - zero.Int(broadcastOffset(zero.Shape, at)))
		}
		rows, cols, done := out[0].Shape[n-2], out[0].Shape[n-1], 0
		eachIndex(out[0].Shape[:n-2], func(batch []int) {
			var x, y []int32
			at := append(slices.Clone(batch), 0, 0)
			for i := range rows {
				for k := range depth {
					at[n-2], at[n-1] = i, k
					x = append(x, value(a, in[1], at))
				}
			}
			for j := range cols {
				for k := range depth {
					at[n-2], at[n-1] = k, j
					y = append(y, value(b, in[3], at))
				}
			}
			products(x, y, depth, out[0], done)
			done += rows * cols
		})
		return nil
	},
	Compute: func(_ op.None, in []*te.Stage, out []types.Tensor) []*te.Stage {
		n := len(out[0].Shape)
		depth := in[2].Type.Shape[len(in[2].Type.Shape)-2]
		value := func(t, zero *te.Stage, batch []expr.Expr, row, col expr.Expr) expr.Expr {
			lead := t.Type.Shape[:len(t.Type.Shape)-2]
			at := append(broadcastIndex(lead, out[0].Shape[:n-2], batch), row, col)
			return shifted(t.At(at...), zero.At(broadcastIndex(zero.Type.Shape, t.Type.Shape, at)...))
		}
		y := te.Fold("qnn_matmul", out[0], te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(value(in[0], in[1], i[:n-2], i[n-2], r[0]), value(in[2], in[3], i[:n-2], r[0], i[n-1]))
		})
		return []*te.Stage{y}
	},
	Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
		d := draw{r}
		m, k, n, batch := d.between(1, 6), d.between(1, 9), d.between(1, 6), d.full(0, 2)
		a, b := types.Of(quantized[r.IntN(2)], m, k), types.Of(quantized[r.IntN(2)], k, n)
		az, bz := [][]int{nil, {1}, {m, 1}}[r.IntN(3)], [][]int{nil, {n}, {1, n}}[r.IntN(3)]
		if a.Shape = slices.Concat(batch, a.Shape); d.coin(2) {
			b.Shape = slices.Concat(d.stretched(batch), b.Shape)
		}
		return op.None{}, []types.Tensor{a, types.Of(a.DType, az...), b, types.Of(b.DType, bz...)}
	},
})

// zeroAlong checks a quantised matrix and its zero point, which is constant along the axis that is the k-th from the end.
func zeroAlong(name string, t, zero types.Tensor, k int) error {
	if err := zeroPoint(name, t, types.Of(zero.DType), nil); err != nil {
		return err
	}
	if !broadcastsTo(zero.Shape, t.Shape) || zero.Rank() >= k && zero.Shape[zero.Rank()-k] != 1 {
		return fmt.Errorf("%s_zero is %s: it must broadcast to %s and be constant along the summed axis", name, zero, t)
	}
	return nil
}
