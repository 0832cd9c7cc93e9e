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

// MatmulNBitsAttrs are the attributes of nn.matmul_nbits: BlockSize neighbours along a row of weight share a scale and a zero point.
type MatmulNBitsAttrs struct{ BlockSize int }

// MatmulNBits is a dense layer of weights that are quantised in blocks, as ONNX Runtime's MatMulNBits computes it: of data [..., K], weight
// [N, K], and scale and zero_point [N, ceil(K/block_size)].
var MatmulNBits = op.Define(op.Spec[MatmulNBitsAttrs]{
	Name: "nn.matmul_nbits",
	Doc: "nn.matmul_nbits is data times the transpose of (weight - zero_point) * scale, where block_size weights along the sum share both. " +
		"Weights have 4 or 8 bits, zero points these types or scale's.",
	Args: []string{"data", "weight", "scale", "zero_point"}, MinIn: 3, Fusion: op.OutFusable, Layout: op.Plain,
	Infer: func(a MatmulNBitsAttrs, in []op.Arg) ([]types.Tensor, error) {
		x, w, scale := in[0], in[1], in[2]
		if x.DType.Compute() != types.F32 || scale.DType.Compute() != types.F32 {
			return nil, fmt.Errorf("data %s and scale %s are not both float32 or narrower", x.Tensor, scale.Tensor)
		}
		if !slices.Contains(nbits, w.DType) {
			return nil, fmt.Errorf("weight is %s, not one of %v", w.DType, nbits)
		}
		if x.Rank() < 1 || w.Rank() != 2 || x.Shape[x.Rank()-1] != w.Shape[1] {
			return nil, fmt.Errorf("data %s and weight %s; they must be [..., K] and [N, K]", x.Tensor, w.Tensor)
		}
		if a.BlockSize < 1 {
			return nil, fmt.Errorf("block size %d", a.BlockSize)
		}
		for i, p := range in[2:] {
			name := []string{"scale", "zero_point"}[i]
			if i > 0 && p.DType.Compute() != types.F32 && !slices.Contains(nbits, p.DType) {
				return nil, fmt.Errorf("zero_point is %s, neither one of %v nor a floating-point type", p.DType, nbits)
			}
			if err := wantShape(name, p, w.Shape[0], a.blocks(w.Shape[1])); err != nil {
				return nil, err
			}
		}
		return []types.Tensor{types.Of(x.DType, append(slices.Clone(x.Shape[:x.Rank()-1]), w.Shape[0])...)}, nil
	},
	Eval: func(a MatmulNBitsAttrs, in, out []*tensor.Tensor) error {
		products(widenedFloats(in[0]), a.widened(in[1:]), in[1].Shape[1], out[0], 0)
		return nil
	},
	Compute: func(a MatmulNBitsAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x, w := in[0], in[1]
		return []*te.Stage{te.Fold("matmul_nbits", out[0], te.Sum, w.Type.Shape[1:], func(i, r []expr.Expr) expr.Expr {
			last := len(i) - 1
			block := []expr.Expr{i[last], quotient(r[0], a.BlockSize)}
			number := w.At(i[last], r[0])
			switch {
			case len(in) < 4:
				number = expr.CastTo(types.F32, number)
			case in[3].Type.DType.IsFloat():
				number = expr.Sub(expr.CastTo(types.F32, number), in[3].At(block...))
			default:
				number = expr.CastTo(types.F32, expr.Sub(expr.CastTo(types.I32, number), expr.CastTo(types.I32, in[3].At(block...))))
			}
			return expr.Mul(expr.Mul(x.At(with(i, last, r[0])...), number), in[2].At(block...))
		})}
	},
	Sample: func(r *rand.Rand) (MatmulNBitsAttrs, []types.Tensor) {
		d := draw{r}
		t, shape := d.dtype(types.F32, types.F32, types.F16), d.shape(1, 3)
		k, n := d.between(1, 40), d.between(1, 20)
		shape[len(shape)-1] = k
		a := MatmulNBitsAttrs{[]int{1, 3, 8, 16, 32}[d.IntN(5)]}
		w := d.dtype(nbits...)
		zero := d.dtype(w, w, types.U8, types.F32)
		in := []types.Tensor{types.Of(t, shape...), types.Of(w, n, k), types.Of(t, n, a.blocks(k)), types.Of(zero, n, a.blocks(k))}
		return a, in[:d.between(3, 4)]
	},
})

// nbits lists the element types of weights that are quantised in blocks.
var nbits = []types.DType{types.I4, types.U4, types.I8, types.U8}

// blocks is the number of blocks of a row of depth weights.
func (a MatmulNBitsAttrs) blocks(depth int) int { return (depth + a.BlockSize - 1) / a.BlockSize }

// widened are the weights that numbers, scales and perhaps zero points stand for.
func (a MatmulNBitsAttrs) widened(in []*tensor.Tensor) []float64 {
	w, scale := in[0], in[1]
	depth, list := w.Shape[1], make([]float64, w.Len())
	for i := range list {
		block := i/depth*a.blocks(depth) + i%depth/a.BlockSize
		list[i] = w.Float(i)
		if len(in) > 2 {
			list[i] -= in[2].Float(block)
		}
		list[i] *= scale.Float(block)
	}
	return list
}

// WidenNBits is the matrix of float32 that the operands of nn.matmul_nbits behind data stand for.
func WidenNBits(a MatmulNBitsAttrs, in []*tensor.Tensor) *tensor.Tensor {
	t := tensor.New(types.F32, in[0].Shape...)
	for i, x := range a.widened(in) {
		t.SetFloat(i, x)
	}
	return t
}
