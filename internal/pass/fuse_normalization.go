package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
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
// The means are over the last axes, and nothing else reads what lies between. Group normalisations are recognised too (fuseGroupNorm).
func fuseNormalization(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		fuseGroupNorm(c, r, n)
		if m, ok := matchNormalization(r, n); ok {
			r.Before(m.last)
			r.Replace(m.last.Out[0], r.Apply(m.def, m.attrs, m.in...))
		}
	})
}

// A normalization is an operator and its operands for the nodes up to last.
type normalization struct {
	def   *op.Def
	attrs ops.LayerNormAttrs
	in    []*graph.Value
	last  *graph.Node
}

// matchNormalization recognises the quotient or product that scales d by the inverse of its root mean square.
func matchNormalization(r *rewrite.Rewriter, n *graph.Node) (*normalization, bool) {
	var d, radicand *graph.Value
	switch n.Op {
	case ops.Divide:
		d, radicand = n.In[0], root(r, n.In[1])
	case ops.Multiply:
		for i, v := range n.In {
			if x := inverseRoot(r, v); x != nil {
				d, radicand = n.In[1-i], x
			}
		}
	}
	if radicand == nil || !d.Type.IsPlain(types.F32) || !slices.Equal(n.Out[0].Type.Shape, d.Type.Shape) {
		return nil, false
	}
	m := &normalization{def: ops.RMSNorm, last: n}
	mean, epsilon := withConst(only(r, radicand, ops.Add))
	axis, square := average(r, mean)
	if square == nil || axis < 0 || !isSquare(r, square, d) {
		return nil, false
	}
	m.attrs = ops.LayerNormAttrs{Axis: axis, Epsilon: epsilon}
	m.in = []*graph.Value{d}
	if x := centred(r, d, axis, n, square); x != nil {
		m.def, m.in = ops.LayerNorm, []*graph.Value{x}
	}
	takeScale(r, m)
	return m, true
}

// only is the node with operator d that computes v for one reader.
func only(r *rewrite.Rewriter, v *graph.Value, d *op.Def) *graph.Node {
	if v == nil || v.Def == nil || v.Def.Op != d || r.Reader(v) == nil {
		return nil
	}
	return v.Def
}

// root is x when v is sqrt(x).
func root(r *rewrite.Rewriter, v *graph.Value) *graph.Value {
	if n := only(r, v, ops.Sqrt); n != nil {
		return n.In[0]
	}
	return nil
}

// inverseRoot is x when v is 1/sqrt(x).
func inverseRoot(r *rewrite.Rewriter, v *graph.Value) *graph.Value {
	if n := only(r, v, ops.Rsqrt); n != nil {
		return n.In[0]
	}
	if n := only(r, v, ops.Reciprocal); n != nil {
		return root(r, n.In[0])
	}
	if n := only(r, v, ops.Divide); n != nil && n.In[0].IsConst() && n.In[0].Const.Len() == 1 && n.In[0].Const.Float(0) == 1 {
		return root(r, n.In[1])
	}
	return nil
}

// withConst splits the operands of a sum into a value and a constant of one element.
func withConst(n *graph.Node) (*graph.Value, float64) {
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
func average(r *rewrite.Rewriter, v *graph.Value) (axis int, of *graph.Value) {
	n := only(r, v, ops.Mean)
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
func isSquare(r *rewrite.Rewriter, v, d *graph.Value) bool {
	n := only(r, v, ops.Multiply)
	return n != nil && n.In[0] == d && n.In[1] == d
}

// centred is x when d = x - mean(x) over the axes from axis on and only the quotient and the square read d.
func centred(r *rewrite.Rewriter, d *graph.Value, axis int, quotient *graph.Node, square *graph.Value) *graph.Value {
	if d.Def == nil || d.Def.Op != ops.Subtract || r.IsOutput(d) {
		return nil
	}
	for _, u := range r.Users(d) {
		if u != quotient && u != square.Def {
			return nil
		}
	}
	x := d.Def.In[0]
	if m := only(r, d.Def.In[1], ops.Mean); m != nil && m.In[0] == x && trailing(m) == axis {
		return x
	}
	return nil
}

// takeScale takes the constants that scale and shift the result as operands.
func takeScale(r *rewrite.Rewriter, m *normalization) {
	for _, d := range []*op.Def{ops.Multiply, ops.Add} {
		v := m.last.Out[0]
		n := r.Reader(v)
		if n == nil || n.Op != d || d == ops.Add && (m.def == ops.RMSNorm || len(m.in) < 2) {
			return
		}
		other := n.In[0]
		if other == v {
			other = n.In[1]
		}
		if !other.IsConst() || !n.Out[0].Type.Equal(v.Type) || !broadcasts(other.Type, v.Type) {
			return
		}
		m.in, m.last = append(m.in, other), n
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
