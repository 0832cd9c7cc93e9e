package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// fuseGroupNorm writes a group normalisation that a model spells out by an instance normalisation, as exports to opsets of ONNX before 18 do, as the operator
// it is, whose data may lie in blocks of channels:
//
//	reshape(nn.instance_norm(reshape(x, [N, groups, ...]), 1, 0), shape of x) * gamma + beta   →   nn.group_norm(x, gamma, beta)
//
// n is the outer reshape. Gamma and beta are constants of one number for each channel, and may be missing.
//
// It is done for one group that SplitReductions then divides, where all channels are of one set. Others stay as they are spelled, where sets are flat.
func fuseGroupNorm(c *Context, r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Reshape {
		return
	}
	norm := only(r, n.In[0], ops.InstanceNorm)
	if norm == nil || !norm.In[1].IsConst() || !norm.In[2].IsConst() || !isAll(norm.In[1].Const, 1) || !isAll(norm.In[2].Const, 0) {
		return
	}
	inner := only(r, norm.In[0], ops.Reshape)
	if inner == nil {
		return
	}
	x, y := inner.In[0], n.Out[0]
	shape, groups := x.Type.Shape, norm.In[0].Type.Shape
	if len(shape) < 3 || !x.Type.IsPlain(types.F32) || !slices.Equal(shape, y.Type.Shape) || groups[0] != shape[0] || groups[1] != 1 || x.Type.Elements() == 0 {
		return
	}
	if c.Target == nil || impl.EnoughParts(shape[0]) || !impl.PartsPay(c.Target, x.Type.Bytes(), x.Type.Elements()/impl.Pieces) {
		return
	}
	scales := []*graph.Value{channelConst("gamma", shape[1], 1), channelConst("beta", shape[1], 0)}
	last := n
	for i, d := range []*op.Def{ops.Multiply, ops.Add} {
		next := r.Reader(last.Out[0])
		if next == nil || next.Op != d {
			continue
		}
		s, other := next.In[0], next.In[1]
		if s == last.Out[0] {
			s, other = other, s
		}
		if other != last.Out[0] || !isPerChannel(s, shape) {
			break
		}
		scales[i], last = graph.NewConst(s.Name, s.Const.Reshape(shape[1])), next
	}
	r.Before(last)
	a := ops.GroupNormAttrs{Groups: 1, Epsilon: norm.Attrs.(ops.InstanceNormAttrs).Epsilon}
	r.Replace(last.Out[0], r.Apply(ops.GroupNorm, a, x, scales[0], scales[1]))
}

// spellGroupNorm is what fuseGroupNorm recognises, for any number of groups, in place of n. It returns the instance normalisation.
func spellGroupNorm(r *rewrite.Rewriter, n *graph.Node) *graph.Node {
	x, a := n.In[0], n.Attrs.(ops.GroupNormAttrs)
	shape := x.Type.Shape
	reshape := func(v *graph.Value, to ...int) *graph.Value {
		return r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: to}, v)
	}
	flat := reshape(x, shape[0], a.Groups, x.Type.Elements()/shape[0]/a.Groups)
	norm := r.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: a.Epsilon}, flat, channelConst("gamma", a.Groups, 1), channelConst("beta", a.Groups, 0))
	column := slices.Repeat([]int{1}, len(shape))
	column[1] = shape[1]
	r.Replace(n.Out[0], scaledAndShifted(r, reshape(norm, shape...), n.In[1:], column))
	return norm.Def
}

// channelConst is x for each of n channels.
func channelConst(name string, n int, x float64) *graph.Value {
	t := tensor.New(types.F32, n)
	for i := range n {
		t.SetFloat(i, x)
	}
	return graph.NewConst(name, t)
}

// isPerChannel reports whether v is a constant of a number for each channel, the second axis, of data of some shape.
func isPerChannel(v *graph.Value, data []int) bool {
	if !v.IsConst() || v.Type.DType != types.F32 || len(v.Type.Shape) > len(data) || v.Const.Len() != data[1] {
		return false
	}
	k := 1 - (len(data) - len(v.Type.Shape))
	return k >= 0 && v.Type.Shape[k] == data[1]
}
