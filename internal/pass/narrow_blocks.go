package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// narrowBlocks makes a product with constant weights that are dequantized in blocks along the sum one nn.matmul_nbits. Weights of 4 bits always
// stay narrow, since they are chosen for their size.
//
//	nn.matmul(x, dequantize[block_size](w, s, z))   →   nn.matmul_nbits(x, transpose(w), transpose(s), transpose(z))
func (c *Context) narrowBlocks(r *rewrite.Rewriter, n *graph.Node, all int) {
	if n.Out[0].Type.Elements() == 0 {
		return
	}
	columns := ops.ColumnsOf(n.Attrs)
	in, block := blocksOf(n.In[1], columns)
	if block == 0 {
		return
	}
	if d := in[0].DType; !d.IsNibble() {
		shape := in[0].Shape
		taken, err := c.decide(n, algorithms.Table.WeightsDecision(c.Target, impl.Weights{
			Rows: n.Out[0].Type.Elements() / shape[0], Columns: shape[0], Depth: shape[1], Type: d, All: all,
		}))
		if r.Fail(err); taken != "narrow" {
			return
		}
	}
	x := n.In[0]
	if a, ok := n.Attrs.(ops.MatmulAttrs); ok && a.TransposeA {
		x = turned(r, x)
	}
	args := []*graph.Value{x}
	for _, t := range in {
		args = append(args, graph.NewConst(n.In[1].Name, t))
	}
	y := r.Apply(ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: block}, args...)
	y.Def.Impl = n.Impl
	r.Replace(n.Out[0], y)
	centre(r, y.Def)
}

// turned is x with its last two axes in the other order.
func turned(r *rewrite.Rewriter, x *graph.Value) *graph.Value {
	axes := make([]int, x.Type.Rank())
	for i := range axes {
		axes[i] = i
	}
	last := len(axes) - 1
	axes[last-1], axes[last] = last, last-1
	return r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: axes}, x)
}

// blocksOf are the constants of a matrix that is dequantized in blocks along the axis that is not columns: numbers, scales and perhaps zero
// points, each with the columns first. The block is 0 where the matrix is none such.
func blocksOf(v *graph.Value, columns int) (in []*tensor.Tensor, block int) {
	n := v.Def
	if n == nil || len(v.Type.Shape) != 2 || v.Type.DType != types.F32 {
		return nil, 0
	}
	if n.Op == ops.Transpose {
		return blocksOf(n.In[0], 1-columns)
	}
	a, ok := n.Attrs.(ops.DequantizeAttrs)
	if !ok || n.Op != ops.Dequantize || a.BlockSize == 0 || a.Axis == columns || n.In[1].Type.Rank() != 2 {
		return nil, 0
	}
	if d := n.In[0].Type.DType; !d.IsNibble() && d != types.I8 && d != types.U8 {
		return nil, 0
	}
	for i, v := range n.In {
		t := v.Value()
		if t == nil {
			return nil, 0
		}
		if i == 2 && t.Len() == 1 && n.In[1].Type.Elements() != 1 {
			t = repeated(t, n.In[1].Type.Shape)
		}
		if columns == 1 {
			t = t.Transpose()
		}
		in = append(in, t)
	}
	return in, a.BlockSize
}

// repeated is a tensor whose elements are all the one of t.
func repeated(t *tensor.Tensor, shape []int) *tensor.Tensor {
	all := tensor.New(t.DType, slices.Clone(shape)...)
	for i := range all.Len() {
		all.SetInt(i, t.Int(0))
	}
	return all
}

// centre brings the zero points of nn.matmul_nbits into the form that kernels read fastest: none where numbers can have another sign instead,
// else bytes, which vectors of columns load at once.
//
//	(uint4 - 8) * s   →   int4 * s
func centre(r *rewrite.Rewriter, n *graph.Node) {
	if len(n.In) < 4 || n.In[3].Value() == nil || n.In[3].Type.DType.IsFloat() {
		return
	}
	zero, args := n.In[3].Value(), n.In[:3:3]
	w := n.In[1].Value()
	switch d := n.In[1].Type.DType; {
	case every(zero, 0):
	case w != nil && d == types.U4 && every(zero, 8):
		args[1] = graph.NewConst(n.In[1].Name, flipped(w, types.I4, 0x88))
	case w != nil && d == types.U8 && every(zero, 128):
		args[1] = graph.NewConst(n.In[1].Name, flipped(w, types.I8, 0x80))
	case zero.DType.IsNibble():
		wide, _ := zero.Convert(ofBytes(zero.DType))
		args = append(args, graph.NewConst(n.In[3].Name, wide))
	default:
		return
	}
	r.Change(n, n.Op, n.Attrs, args...)
}

// every reports whether each element of t is x.
func every(t *tensor.Tensor, x int64) bool {
	for i := range t.Len() {
		if t.Int(i) != x {
			return false
		}
	}
	return true
}

// flipped is t as type d, with bits of every byte changed: what is left of unsigned numbers less the middle of their range.
func flipped(t *tensor.Tensor, d types.DType, bits byte) *tensor.Tensor {
	out := tensor.New(d, t.Shape...)
	for i, b := range t.Bytes() {
		out.Bytes()[i] = b ^ bits
	}
	return out
}
