package pass

import (
	"slices"

	"lathe/internal/graph"
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
	l := &legalization{g: c.Graph, data: dotData(c.Target)}
	for _, n := range slices.Clone(c.Graph.Nodes) {
		b := &builder{origin: n.Origin}
		if y := l.node(b, n); y != nil && b.err == nil {
			l.nodes = append(l.nodes, b.nodes...)
			if y.Def != nil && y.Name == "" {
				y.Name = n.Out[0].Name
			}
			c.Graph.Replace(n.Out[0], y)
		} else if b.err != nil {
			return b.err
		} else {
			l.nodes = append(l.nodes, n)
		}
	}
	c.Graph.Nodes = l.nodes
	c.Graph.DeadCode()
	return nil
}

type legalization struct {
	g     *graph.Graph
	nodes []*graph.Node // the graph rebuilt
	data  types.DType
}

// node is the result of n computed in that form; nil where n stays as it is.
func (l *legalization) node(b *builder, n *graph.Node) *graph.Value {
	conv := slices.Contains(ops.QnnConv[1:], n.Op)
	if !conv && n.Op != ops.QnnMatmul {
		return nil
	}
	x, xz, w, wz := n.In[0], n.In[1].Value(), n.In[2].Value(), n.In[3].Value()
	if xz == nil || w == nil || wz == nil || xz.Len() != 1 || w.DType.Size() > 1 || x.Type.DType.Size() > 1 || !conv && len(w.Shape) != 2 {
		return nil
	}
	zero := xz.Int(0)
	if zero == 0 && x.Type.DType == l.data && w.DType == types.I8 && wz.Len() == 1 && wz.Int(0) == 0 {
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
	if x.Type.DType != l.data {
		x, zero = shifted(b, x, l.data), zero+shift(l.data)
	}
	attrs := n.Attrs
	if conv && zero != 0 {
		x, attrs = padded(b, x, n.Attrs.(ops.ConvAttrs), zero)
	}
	none := func(t types.DType) *graph.Value { return graph.NewConst("", tensor.New(t)) }
	y := b.apply(n.Op, attrs, x, none(l.data), graph.NewConst(n.In[2].Name, weight), none(types.I8))
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
	if l.merge(n, correction) {
		return y
	}
	return b.apply(ops.Add, op.None{}, y, graph.NewConst("", correction))
}

// merge adds t to the constant of an addition right behind n, and reports whether there is one.
func (l *legalization) merge(n *graph.Node, t *tensor.Tensor) bool {
	users := l.g.Users()[n.Out[0]]
	if len(users) != 1 || users[0].Op != ops.Add || slices.Contains(l.g.Outputs, n.Out[0]) {
		return false
	}
	add := users[0]
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
	add.In = slices.Clone(add.In)
	add.In[other] = graph.NewConst("", sum)
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
func shifted(b *builder, x *graph.Value, t types.DType) *graph.Value {
	u := b.apply(ops.Cast, ops.CastAttrs{DType: t}, x)
	half := tensor.New(t)
	half.SetInt(0, -128)
	if t == types.U8 {
		half.SetInt(0, 128)
	}
	return b.apply(ops.Add, op.None{}, u, graph.NewConst("", half))
}

// padded makes the padding of a convolution explicit, with the given value; what is left is the attributes without it.
func padded(b *builder, x *graph.Value, a ops.ConvAttrs, value int64) (*graph.Value, ops.ConvAttrs) {
	rank := len(a.Padding) / 2
	if !slices.ContainsFunc(a.Padding, func(n int) bool { return n != 0 }) {
		return x, a
	}
	before, after := append([]int{0, 0}, a.Padding[:rank]...), append([]int{0, 0}, a.Padding[rank:]...)
	a.Padding = make([]int, 2*rank)
	return b.apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant", Value: float64(value)}, x), a
}
