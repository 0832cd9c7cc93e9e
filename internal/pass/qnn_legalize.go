package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dotData is the type of the data of integer products: uint8, except where the target's dot products want int8.
func dotData(t *target.Target) types.DType {
	if t != nil && t.SignedDot {
		return types.I8
	}
	return types.U8
}

// qnnLegalize brings integer convolutions and matrix products with constant weights into the form that dot products
// compute: data of type dotData, weights int8, and no zero points.
//
//	sum over k of (x - zx) * (w - zw)  →  sum of x*(w - zw), less zx times the sum of w - zw, which is a constant
//
// Padding then holds zx.
func qnnLegalize(c *Context) error {
	data := dotData(c.Target)
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if y := legal(r, n, data); y != nil {
			r.Replace(n.Out[0], y)
		}
	})
}

// legal is the result of n computed in that form; nil where n stays as it is.
func legal(r *rewrite.Rewriter, n *graph.Node, data types.DType) *graph.Value {
	conv := slices.Contains(ops.QnnConv[1:], n.Op)
	if !conv && n.Op != ops.QnnMatmul {
		return nil
	}
	x, xz, w, wz := n.In[0], n.In[1].Value(), n.In[2].Value(), n.In[3].Value()
	if xz == nil || w == nil || wz == nil || xz.Len() != 1 || w.DType.Size() > 1 || x.Type.DType.Size() > 1 || !conv && len(w.Shape) != 2 {
		return nil
	}
	zero := xz.Int(0)
	if zero == 0 && x.Type.DType == data && w.DType == types.I8 && wz.Len() == 1 && wz.Int(0) == 0 {
		return nil
	}
	axis := 0 // of the weights' output channels
	if !conv {
		axis = 1
	}
	weight, sums := withoutZero(w, wz, axis)
	if weight == nil {
		return nil
	}
	if x.Type.DType != data {
		x, zero = shifted(r, x, data), zero+shift(data)
	}
	attrs := n.Attrs
	if conv && zero != 0 {
		x, attrs = padded(r, x, n.Attrs.(ops.ConvAttrs), zero)
	}
	none := func(t types.DType) *graph.Value { return graph.NewConst("", tensor.New(t)) }
	y := r.Apply(n.Op, attrs, x, none(data), graph.NewConst(n.In[2].Name, weight), none(types.I8))
	if zero == 0 {
		return y
	}
	shape := []int{len(sums)}
	if conv {
		shape = append(shape, slices.Repeat([]int{1}, len(y.Type.Shape)-2)...)
	}
	for i := range sums {
		sums[i] *= -int32(zero)
	}
	correction := tensor.Of(shape, sums)
	if addConstant(r, n, correction) {
		return y
	}
	return r.Apply(ops.Add, op.None{}, y, graph.NewConst("", correction))
}

// addConstant adds t to the constant of an addition right behind n, and reports whether there is one.
func addConstant(r *rewrite.Rewriter, n *graph.Node, t *tensor.Tensor) bool {
	add := r.Reader(n.Out[0])
	if add == nil || add.Op != ops.Add {
		return false
	}
	other := slices.IndexFunc(add.In, func(v *graph.Value) bool { return v.IsConst() })
	if other < 0 || add.In[other].Const.Len() != t.Len() {
		return false
	}
	c := add.In[other].Const
	if a, b := slices.Index(c.Shape, c.Len()), slices.Index(t.Shape, t.Len()); len(c.Shape)-a != len(t.Shape)-b {
		return false // along another axis
	}
	sum := tensor.New(types.I32, c.Shape...)
	for i := range sum.Len() {
		sum.SetInt(i, int64(int32(c.Int(i))+int32(t.Int(i))))
	}
	r.SetOperand(add, other, graph.NewConst("", sum))
	return true
}

// withoutZero is w less its zero point as int8, with the sum of each output channel; nil where int8 does not hold it.
func withoutZero(w, wz *tensor.Tensor, axis int) (*tensor.Tensor, []int32) {
	r := tensor.New(types.I8, w.Shape...)
	sums := make([]int32, w.Shape[axis])
	each := types.Count(w.Shape[axis+1:])
	for i := range w.Len() {
		channel := i / each % len(sums)
		v := w.Int(i) - wz.Int(min(channel, wz.Len()-1))
		if v < -128 || v > 127 {
			return nil, nil
		}
		r.SetInt(i, v)
		sums[channel] += int32(v)
	}
	return r, sums
}

// shifted is x, of the other type of bytes, as the numbers of type t that stand for the same.
func shifted(r *rewrite.Rewriter, x *graph.Value, t types.DType) *graph.Value {
	u := r.Apply(ops.Cast, ops.CastAttrs{DType: t}, x)
	half := tensor.New(t)
	half.SetInt(0, -128)
	if t == types.U8 {
		half.SetInt(0, 128)
	}
	return r.Apply(ops.Add, op.None{}, u, graph.NewConst("", half))
}

// padded makes the padding of a convolution explicit, with the given value; what is left is the attributes without it.
func padded(r *rewrite.Rewriter, x *graph.Value, a ops.ConvAttrs, value int64) (*graph.Value, ops.ConvAttrs) {
	rank := len(a.Padding) / 2
	if !slices.ContainsFunc(a.Padding, func(n int) bool { return n != 0 }) {
		return x, a
	}
	before, after := append([]int{0, 0}, a.Padding[:rank]...), append([]int{0, 0}, a.Padding[rank:]...)
	a.Padding = make([]int, 2*rank)
	return r.Apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant", Value: float64(value)}, x), a
}
