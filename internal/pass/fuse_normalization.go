package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// fuseNormalization writes a normalisation that a model spells out as the operator it is, so that one kernel computes it
// row by row:
//
//	d = x - mean(x); d / sqrt(mean(d * d) + epsilon) * gamma + beta   →   nn.layer_norm(x, gamma, beta)
//	x / sqrt(mean(x * x) + epsilon) * gamma                          →   nn.rms_norm(x, gamma)
//
// The means are over the last axes, and nothing else reads what lies between.
func fuseNormalization(c *Context) error {
	f := &normFusion{g: c.Graph, users: c.Graph.Users(), outs: map[*graph.Value]bool{}}
	for _, o := range c.Graph.Outputs {
		f.outs[o] = true
	}
	for i, n := range c.Graph.Nodes {
		r, ok := f.match(n)
		if !ok {
			continue
		}
		m := &graph.Node{Op: r.def, Attrs: r.attrs, In: r.in, Origin: r.last.Origin}
		if err := m.Infer(); err != nil {
			return err
		}
		if r.last != n {
			i = slices.Index(c.Graph.Nodes, r.last)
		}
		old := r.last.Out[0]
		m.Out[0].Name = old.Name
		c.Graph.Nodes[i] = m
		c.Graph.Replace(old, m.Out[0])
		if f.outs[old] {
			f.outs[m.Out[0]] = true
		}
		f.users[m.Out[0]] = f.users[old]
	}
	c.Graph.DeadCode()
	return nil
}

type normFusion struct {
	g     *graph.Graph
	users map[*graph.Value][]*graph.Node
	outs  map[*graph.Value]bool
}

// A normalization is an operator and its operands for the nodes up to last.
type normalization struct {
	def   *op.Def
	attrs ops.LayerNormAttrs
	in    []*graph.Value
	last  *graph.Node
}

// match recognises the quotient or product that scales d by the inverse of its root mean square.
func (f *normFusion) match(n *graph.Node) (*normalization, bool) {
	var d, radicand *graph.Value
	switch n.Op {
	case ops.Divide:
		d, radicand = n.In[0], f.root(n.In[1])
	case ops.Multiply:
		for i, v := range n.In {
			if x := f.inverseRoot(v); x != nil {
				d, radicand = n.In[1-i], x
			}
		}
	}
	if radicand == nil || !plainFloat(d.Type) || !slices.Equal(n.Out[0].Type.Shape, d.Type.Shape) {
		return nil, false
	}
	r := &normalization{def: ops.RMSNorm, last: n}
	mean, epsilon := f.withConst(f.only(radicand, ops.Add))
	axis, square := f.average(mean)
	if square == nil || axis < 0 || !f.isSquare(square, d) {
		return nil, false
	}
	r.attrs = ops.LayerNormAttrs{Axis: axis, Epsilon: epsilon}
	r.in = []*graph.Value{d}
	if x := f.centred(d, axis, n, square); x != nil {
		r.def, r.in = ops.LayerNorm, []*graph.Value{x}
	}
	f.scale(r)
	return r, true
}

// only is the node with operator d that computes v for one reader.
func (f *normFusion) only(v *graph.Value, d *op.Def) *graph.Node {
	if v == nil || v.Def == nil || v.Def.Op != d || len(f.users[v]) != 1 || f.outs[v] {
		return nil
	}
	return v.Def
}

// root is x when v is sqrt(x).
func (f *normFusion) root(v *graph.Value) *graph.Value {
	if n := f.only(v, ops.Sqrt); n != nil {
		return n.In[0]
	}
	return nil
}

// inverseRoot is x when v is 1/sqrt(x).
func (f *normFusion) inverseRoot(v *graph.Value) *graph.Value {
	if n := f.only(v, ops.Rsqrt); n != nil {
		return n.In[0]
	}
	if n := f.only(v, ops.Reciprocal); n != nil {
		return f.root(n.In[0])
	}
	if n := f.only(v, ops.Divide); n != nil && n.In[0].IsConst() && n.In[0].Const.Len() == 1 && n.In[0].Const.Float(0) == 1 {
		return f.root(n.In[1])
	}
	return nil
}

// withConst splits the operands of a sum into a value and a constant of one element.
func (f *normFusion) withConst(n *graph.Node) (*graph.Value, float64) {
	if n == nil {
		return nil, 0
	}
	for i, v := range n.In {
		if v.IsConst() && v.Const.Len() == 1 {
			return n.In[1-i], v.Const.Float(0)
		}
	}
	return nil, 0
}

// average is what v is the mean of, over axis and all axes after it, which stay as axes of one element.
func (f *normFusion) average(v *graph.Value) (axis int, of *graph.Value) {
	n := f.only(v, ops.Mean)
	if n == nil {
		return 0, nil
	}
	return trailing(n), n.In[0]
}

// trailing is the first axis of a mean over the last axes, or -1.
func trailing(n *graph.Node) int {
	a := n.Attrs.(ops.ReduceAttrs)
	axes, rank := slices.Sorted(slices.Values(a.Axis)), n.In[0].Type.Rank()
	if !a.KeepDims || len(axes) == 0 {
		return -1
	}
	for i, k := range axes {
		if k != rank-len(axes)+i {
			return -1
		}
	}
	return axes[0]
}

// isSquare reports whether v is d*d, read once.
func (f *normFusion) isSquare(v, d *graph.Value) bool {
	n := f.only(v, ops.Multiply)
	return n != nil && n.In[0] == d && n.In[1] == d
}

// centred is x when d = x - mean(x) over the axes from axis on and only the quotient and the square read d.
func (f *normFusion) centred(d *graph.Value, axis int, quotient *graph.Node, square *graph.Value) *graph.Value {
	if d.Def == nil || d.Def.Op != ops.Subtract || f.outs[d] {
		return nil
	}
	for _, u := range f.users[d] {
		if u != quotient && u != square.Def {
			return nil
		}
	}
	x := d.Def.In[0]
	if m := f.only(d.Def.In[1], ops.Mean); m != nil && m.In[0] == x && trailing(m) == axis {
		return x
	}
	return nil
}

// scale takes the constants that scale and shift the result as operands.
func (f *normFusion) scale(r *normalization) {
	for _, d := range []*op.Def{ops.Multiply, ops.Add} {
		v := r.last.Out[0]
		if f.outs[v] || len(f.users[v]) != 1 || f.users[v][0].Op != d || d == ops.Add && (r.def == ops.RMSNorm || len(r.in) < 2) {
			return
		}
		n := f.users[v][0]
		other := n.In[0]
		if other == v {
			other = n.In[1]
		}
		if !other.IsConst() || !n.Out[0].Type.Equal(v.Type) || !broadcasts(other.Type, v.Type) {
			return
		}
		r.in, r.last = append(r.in, other), n
	}
}

// broadcasts reports whether the axes of t, aligned at the last, are those of a larger type or 1.
func broadcasts(t, to types.Tensor) bool {
	lead := len(to.Shape) - len(t.Shape)
	for i, n := range t.Shape {
		if lead < 0 || n != 1 && n != to.Shape[lead+i] {
			return false
		}
	}
	return lead >= 0
}
