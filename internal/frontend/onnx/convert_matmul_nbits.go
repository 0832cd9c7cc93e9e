package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// matMulNBits is the product of A and the transpose of weights that are quantised in blocks along K: operands A, B, scales, zero_points,
// g_idx, bias (ContribOperators.md of ONNX Runtime). accuracy_level says which rounding of A is accepted; none is exact for all of them.
func matMulNBits(c *call) *graph.Value {
	c.Ignore("accuracy_level", "weight_prepacked")
	k, n, bits, block := c.Int("K", 0), c.Int("N", 0), c.Int("bits", 4), c.Int("block_size", 0)
	switch {
	case k < 1 || n < 1 || k > types.MaxElements/n:
		compose.Fail("K %d and N %d are no matrix", k, n)
	case bits != 4 && bits != 8:
		compose.Fail("weights of %d bits are not supported (4 and 8 are)", bits)
	case block < 16 || block&(block-1) != 0:
		compose.Fail("block_size %d is no power of two from 16 on", block)
	case c.Present(4):
		compose.Fail("g_idx is not supported (quantise without reordering the groups)")
	}
	p := nBits{c, k, n, bits, (k + block - 1) / block, block}
	x := c.X(0)
	in := values{x, p.weight(), c.Reshape(c.X(2), n, p.blocks), p.zero()}
	y := c.Apply(ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: block}, in...)
	if c.Present(5) {
		y = c.Do(ops.Add, y, c.X(5))
	}
	return y
}

// nBits are the operands of a MatMulNBits of n columns, each a sum over k in blocks.
type nBits struct {
	*call
	k, n, bits, blocks, block int
}

// numbers is the element type of weights and of zero points that are integers.
func (p nBits) numbers() types.DType {
	if p.bits == 4 {
		return types.U4
	}
	return types.U8
}

// constant is operand i, whose bytes hold rows of elements, the rest of the last byte of a row being empty.
func (p nBits) constant(i int, what string, rows, columns int) *tensor.Tensor {
	v := p.X(i).Const
	if v == nil {
		compose.Fail("%s is computed; only constants are supported", what)
	}
	d := p.numbers()
	if want := rows * d.Bytes(columns); v.DType != types.U8 || v.Len() != want {
		compose.Fail("%s is %s, not %s", what, v.Type(), spelling.Count(want, "byte"))
	}
	return tensor.Over(d, []int{rows, columns}, v.Bytes())
}

// weight is B, [N, blocks, bytes of a block], as a matrix [N, K].
func (p nBits) weight() *graph.Value {
	full := p.constant(1, "B", p.n, p.blocks*p.block)
	return compose.Const(firstColumns(full, p.n, p.blocks*p.block, p.k))
}

// zero are the zero points, [N, blocks]: the middle of the range where there is none.
func (p nBits) zero() *graph.Value {
	if !p.Present(3) {
		middle := tensor.New(p.numbers(), p.n, p.blocks)
		for i := range middle.Len() {
			middle.SetInt(i, 1<<(p.bits-1))
		}
		return compose.Const(middle)
	}
	if z := p.X(3); z.Type.DType != types.U8 {
		return p.Reshape(z, p.n, p.blocks)
	}
	rows := p.constant(3, "zero_points", p.n, p.blocks)
	return compose.Const(firstColumns(rows, p.n, rows.Size()/p.n*8/p.bits, p.blocks))
}

// firstColumns is a matrix of the first columns of t, whose bytes hold n rows of stride elements each.
func firstColumns(t *tensor.Tensor, n, stride, columns int) *tensor.Tensor {
	if stride == columns {
		return tensor.Over(t.DType, []int{n, columns}, t.Bytes())
	}
	out := tensor.New(t.DType, n, columns)
	for i := range n {
		for k := range columns {
			out.SetInt(i*columns+k, t.Int(i*stride+k))
		}
	}
	return out
}
