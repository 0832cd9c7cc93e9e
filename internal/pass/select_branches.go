package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// selectBranches computes both branches of an if where they are so cheap that to meet and to learn which one is taken would cost more.
//
//	if(c, x) {exp(x)} {x * 2}   →   where(c, exp(x), x * 2)
//
// A branch with a loop stays one: it may end only because its condition holds.
func selectBranches(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if n.Op != graph.If || c.Target == nil {
			return
		}
		if known := n.In[0].Value(); known != nil {
			taken := n.Sub[1]
			if known.Int(0) != 0 {
				taken = n.Sub[0]
			}
			for i, v := range r.Inline(taken, n.In[1:]) {
				replaceResult(r, n.Out[i], v)
			}
			return
		}
		var flops, bytes [2]float64
		for k, body := range n.Sub {
			for _, m := range body.Nodes {
				if m.IsRegion() {
					return
				}
				flops[k] += m.Work()
				for _, v := range m.Out {
					bytes[k] += float64(v.Type.Bytes())
				}
			}
		}
		taken, err := c.decide(n, impl.BranchDecision(c.Target, flops, bytes))
		if r.Fail(err); taken != "select" {
			return
		}
		condition := n.In[0]
		if condition.Type.Rank() > 0 {
			condition = r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{}}, condition)
		}
		yes, no := r.Inline(n.Sub[0], n.In[1:]), r.Inline(n.Sub[1], n.In[1:])
		for i, v := range yes {
			selected := r.Apply(ops.Where, op.None{}, condition, v, no[i])
			if selected.Def != nil {
				selected.Def.Impl = n.Impl
			}
			replaceResult(r, n.Out[i], selected)
		}
	})
}

// replaceResult makes v a result in place of old: an output is a value of its own.
func replaceResult(r *rewrite.Rewriter, old, v *graph.Value) {
	if r.IsOutput(old) {
		v = r.Apply(ops.Copy, op.None{}, v)
	}
	r.Replace(old, v)
}
