package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
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
func fuseGroupNorm(r *rewrite.Rewriter, n *graph.Node) {
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
	if len(shape) < 3 || !x.Type.IsPlain(types.F32) || !slices.Equal(shape, y.Type.Shape) || groups[0] != shape[0] || shape[1]%groups[1] != 0 {
		return
	}
	scales := []*graph.Value{channelConst("gamma", shape[1], 1), channelConst("beta", shape[1], 0)}
	last := n
	for i, d := range []*op.Def{ops.Multiply, ops.Add} {
		next := r.Reader(last.Out[0])
		if next == nil || next.Op != d {
			continue
		}
		c, other := next.In[0], next.In[1]
		if c == last.Out[0] {
			c, other = other, c
		}
		if other != last.Out[0] || !isPerChannel(c, shape) {
			break
		}
		scales[i], last = graph.NewConst(c.Name, c.Const.Reshape(shape[1])), next
	}
	r.Before(last)
	a := ops.GroupNormAttrs{Groups: groups[1], Epsilon: norm.Attrs.(ops.InstanceNormAttrs).Epsilon}
	r.Replace(last.Out[0], r.Apply(ops.GroupNorm, a, x, scales[0], scales[1]))
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
