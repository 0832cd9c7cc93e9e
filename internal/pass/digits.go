package pass

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// leastOfDigits is the power of two that is taken for the greatest number of rows that have none so great: a float32 holds the units per number,
// and its reciprocal.
const leastOfDigits = -95

// digitProduct is the product of x, float32 [..., K], and w, int8 [K, N], that stands for n: each row of x becomes integers, in units of a
// part of its greatest number, and these become digits of 8 bits, which integer products take. No product or sum is rounded until the sums of
// all digits are joined. Rows with an infinity or NaN become NaN.
//
//	x ≈ u (d0 + 2^8 d1 + 2^16 d2)   →   x w ≈ u (d0 w + 2^8 (d1 w) + 2^16 (d2 w))
//
// It is the scheme of Ootomo, Ozaki and Yokota (DGEMM on Integer Matrix Multiplication Unit, 2024) with one operand that is an integer already.
func (c *Context) digitProduct(r *rewrite.Rewriter, n *graph.Node, x, w *graph.Value) *graph.Value {
	do := func(d *op.Def, in ...*graph.Value) *graph.Value { return r.Apply(d, op.None{}, in...) }
	number := func(f float64) *graph.Value { return graph.NewConst("", tensor.Scalar(float32(f))) }
	integer := func(i int) *graph.Value { return graph.NewConst("", tensor.Scalar(int32(i))) }
	reshape := func(v *graph.Value, shape ...int) *graph.Value {
		return r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
	}
	depth, columns := w.Type.Shape[0], w.Type.Shape[1]
	rows := x.Type.Elements() / depth
	x = reshape(x, rows, depth)

	most := r.Apply(ops.Max, ops.ReduceAttrs{Axis: []int{1}, KeepDims: true}, do(ops.Abs, x))
	digits := make([]*graph.Value, impl.DigitsOf(depth, c.Level))
	units := 127 * 257 << (8 * (len(digits) - 2)) // that digits hold, and a float32
	perUnit := do(ops.Divide, number(float64(units)), do(ops.Maximum, most, number(math.Exp2(leastOfDigits))))
	whole := r.Apply(ops.Cast, ops.CastAttrs{DType: types.I32}, do(ops.Round, do(ops.Multiply, x, perUnit)))
	data := dotData(c.Target)
	middle := 0
	if data == types.U8 {
		middle = 128
	}
	for i := range digits {
		rest := do(ops.Add, whole, integer(128*(1<<(8*i)-1)/255)) // so that a shift takes what is below from -128 on
		digit := do(ops.Add, do(ops.RightShift, rest, integer(8*i)), integer(middle))
		digits[i] = r.Apply(ops.Cast, ops.CastAttrs{DType: data}, digit)
	}
	zero := tensor.New(data)
	zero.SetInt(0, int64(middle))
	sums := do(ops.QnnMatmul, r.Apply(ops.Concatenate, ops.ConcatenateAttrs{}, digits...), graph.NewConst("", zero), w, graph.NewConst("", tensor.New(types.I8)))
	sums.Def.Impl = n.Impl // what is decided later is decided for the product
	var y *graph.Value
	for i := len(digits) - 1; i >= 0; i-- {
		of := r.Apply(ops.StridedSlice, ops.StridedSliceAttrs{Begin: []int{i * rows, 0}, End: []int{(i + 1) * rows, columns}, Strides: []int{1, 1}}, sums)
		of = r.Apply(ops.Cast, ops.CastAttrs{DType: types.F32}, of)
		if y != nil {
			of = do(ops.Add, do(ops.Multiply, y, number(256)), of)
		}
		y = of
	}
	return reshape(do(ops.Divide, y, perUnit), n.Out[0].Type.Shape...)
}
