package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// simplifyInference replaces batch_norm(x, gamma, beta, mean, var) by x*s + t with the per-channel s = gamma /
// sqrt(var+epsilon) and t = beta - mean*s.
func simplifyInference(c *Context) error { return rewrite.Walk(c.Graph, scaleAndShift) }

func scaleAndShift(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.BatchNorm {
		return
	}
	a := n.Attrs.(ops.BatchNormAttrs)
	x := n.In[0]
	shape := make([]int, len(x.Type.Shape))
	for i := range shape {
		shape[i] = 1
	}
	shape[a.Axis] = x.Type.Shape[a.Axis]
	column := func(v *graph.Value) *graph.Value { return r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v) }
	gamma, beta, mean, variance := n.In[1], n.In[2], n.In[3], n.In[4]
	epsilon := tensor.New(variance.Type.DType, 1)
	epsilon.SetFloat(0, a.Epsilon)
	deviation := r.Apply(ops.Sqrt, op.None{}, r.Apply(ops.Add, op.None{}, variance, graph.NewConst("epsilon", epsilon)))
	s := r.Apply(ops.Divide, op.None{}, gamma, deviation)
	t := r.Apply(ops.Subtract, op.None{}, beta, r.Apply(ops.Multiply, op.None{}, mean, s))
	y := r.Apply(ops.Add, op.None{}, r.Apply(ops.Multiply, op.None{}, x, column(s)), column(t))
	r.Replace(n.Out[0], y)
}
