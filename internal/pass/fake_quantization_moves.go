package pass

import (
	"bytes"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// oneDataType lets int8 tensors between quantize and dequantize nodes be uint8 with a zero point 128 greater, which stands for
// the same numbers, or the other way around: the data of integer products have one type on a target.
func oneDataType(r *rewrite.Rewriter, n *graph.Node, data types.DType) {
	if n.Op != ops.Quantize || r.IsOutput(n.Out[0]) || zeroOf(n) == nil {
		return
	}
	a, readers := n.Attrs.(ops.QuantizeAttrs), r.Users(n.Out[0])
	if a.OutDType.Size() > 1 || a.OutDType == data || slices.ContainsFunc(readers, func(u *graph.Node) bool {
		return u.Op != ops.Dequantize || u.In[0] != n.Out[0] || zeroOf(u) == nil
	}) {
		return
	}
	a.OutDType = data
	r.Change(n, n.Op, a, n.In[0], n.In[1], shiftedZero(n, data))
	for _, u := range readers {
		r.Change(u, u.Op, u.Attrs, u.In[0], u.In[1], shiftedZero(u, data))
	}
}

// shiftedZero is the zero point of a node, which is of the other type of bytes, for data of type t.
func shiftedZero(n *graph.Node, t types.DType) *graph.Value {
	z := zeroOf(n).Const
	r := tensor.New(t, n.In[1].Type.Shape...)
	for i := range r.Len() {
		r.SetInt(i, z.Int(min(i, z.Len()-1))+shift(t))
	}
	return graph.NewConst("", r)
}

// shift is what turns a number of the other type of bytes into the one of type t that stands for the same.
func shift(t types.DType) int64 {
	if t == types.U8 {
		return 128
	}
	return -128
}

// integerMove takes a dequantize with one scale from before a node that only moves or compares elements to behind it, and
// drops a quantize that undoes it. It is nil for other nodes.
func integerMove(r *rewrite.Rewriter, n *graph.Node) *graph.Value {
	if len(n.In) == 0 {
		return nil
	}
	first, scales, ok := dequantized(n.In[0])
	if !ok || len(scales) != 1 || scales[0] <= 0 || n.Op == ops.Dequantize || first.In[0].Type.DType.Size() > 1 {
		return nil
	}
	switch n.Op {
	case ops.Quantize:
		if len(n.In) == len(first.In) && n.Attrs.(ops.QuantizeAttrs).OutDType == first.In[0].Type.DType && sameParams(first, n) && !r.IsOutput(n.Out[0]) {
			return first.In[0]
		}
		return nil
	case ops.MaxPool[1], ops.MaxPool[2], ops.MaxPool[3]:
		if !n.Attrs.(ops.PoolAttrs).EachReads(first.In[0].Type.Shape) {
			return nil
		}
	case ops.Reshape, ops.Transpose, ops.StridedSlice, ops.Concatenate, ops.DepthToSpaceND:
	default:
		return nil
	}
	var in []*graph.Value
	for i, v := range n.In {
		if i > 0 && n.Op != ops.Concatenate {
			in = append(in, v)
			continue
		}
		d, _, ok := dequantized(v)
		if !ok || len(d.In) != len(first.In) || d.In[0].Type.DType != first.In[0].Type.DType || !sameParams(first, d) {
			return nil
		}
		in = append(in, d.In[0])
	}
	y := r.Apply(n.Op, n.Attrs, in...)
	return r.Apply(ops.Dequantize, ops.DequantizeAttrs{}, append([]*graph.Value{y}, scalars(first.In[1:])...)...)
}

// scalars makes constants of one element ones of rank 0.
func scalars(vs []*graph.Value) []*graph.Value {
	var list []*graph.Value
	for _, v := range vs {
		list = append(list, graph.NewConst(v.Name, constant(v).Reshape()))
	}
	return list
}

// sameParams reports whether two quantize or dequantize nodes have the same constant scale and zero point, one number
// each.
func sameParams(a, b *graph.Node) bool {
	for i := range a.In[1:] {
		x, y := constant(a.In[i+1]), constant(b.In[i+1])
		if x == nil || y == nil || x.Len() != 1 || y.Len() != 1 || x.DType != y.DType || !bytes.Equal(x.Bytes(), y.Bytes()) {
			return false
		}
	}
	return true
}
