package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// simplifyInference replaces batch_norm(x, gamma, beta, mean, var) by x*s + t with the per-channel s = gamma /
// sqrt(var+epsilon) and t = beta - mean*s.
func simplifyInference(c *Context) error {
	g := &graph.Graph{}
	for _, n := range c.Graph.Nodes {
		if n.Op != ops.BatchNorm {
			g.Nodes = append(g.Nodes, n)
			continue
		}
		y, err := scaleAndShift(g, n)
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Origin, err)
		}
		y.Name = n.Out[0].Name
		c.Graph.Replace(n.Out[0], y)
	}
	c.Graph.Nodes = g.Nodes
	return nil
}

func scaleAndShift(g *graph.Graph, n *graph.Node) (*graph.Value, error) {
	a := n.Attrs.(ops.BatchNormAttrs)
	x := n.In[0]
	shape := make([]int, len(x.Type.Shape))
	for i := range shape {
		shape[i] = 1
	}
	shape[a.Axis] = x.Type.Shape[a.Axis]
	b := &builder{origin: n.Origin}
	apply := b.apply
	column := func(v *graph.Value) *graph.Value { return apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v) }
	gamma, beta, mean, variance := n.In[1], n.In[2], n.In[3], n.In[4]
	epsilon := tensor.New(variance.Type.DType, 1)
	epsilon.SetFloat(0, a.Epsilon)
	deviation := apply(ops.Sqrt, op.None{}, apply(ops.Add, op.None{}, variance, graph.NewConst("epsilon", epsilon)))
	s := apply(ops.Divide, op.None{}, gamma, deviation)
	t := apply(ops.Subtract, op.None{}, beta, apply(ops.Multiply, op.None{}, mean, s))
	y := apply(ops.Add, op.None{}, apply(ops.Multiply, op.None{}, x, column(s)), column(t))
	g.Nodes = append(g.Nodes, b.nodes...)
	return y, b.err
}
