// Package attention computes softmax(f(Q K)) V in one kernel, block of rows by block of rows.
package attention

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Algorithm schedules the groups that Fuse makes.
var Algorithm = impl.Algorithm{
	Rule: &impl.Rule{Name: "attention", Applies: applies, Apply: schedule},
	NodeDecisions: []impl.DecisionInfo{
		{Name: "attention", Owner: "FuseAttention", Doc: "whether softmax(Q K) V, named by its second product, is one kernel that keeps no scores in memory", Prefer: "least cycles, but `off` with fewer than 4 queries"},
	},
	Decisions: []impl.DecisionInfo{
		{Name: "rows", Owner: "attention", Doc: "rows of scores that are computed at a time"},
		{Name: "vectors", Owner: "attention", Doc: "vectors of the tiles of both products", Prefer: "2 that divide the columns"},
		{Name: "pieces", Owner: "attention", Doc: "into how many pieces workers divide the rows of a head"},
	},
}

// Fuse makes one group of softmax(f(Q K)) V, where f scales, masks or bounds the scores one by one, so that the
// scores never go to memory. The sum of softmax divides the product with V, which is smaller, instead of the weights:
//
//	s = f(Q K); softmax(s) V   →   group { s = f(Q K); w = exp(s - max(s)); (w V) / sum(w) }
//
// The views through which Q, K and V are read (slices, reshapes, transposes) and a transpose of the result that keeps its
// last axis become part of the group.
func Fuse(g *graph.Graph, t *target.Target, ask impl.Ask) error {
	return rewrite.Walk(g, func(r *rewrite.Rewriter, n *graph.Node) {
		a, ok := match(r, n)
		if !ok {
			return
		}
		taken, err := ask(n, a.size.decision(t))
		if r.Fail(err); err != nil || taken == "off" {
			return
		}
		group, err := a.group()
		if r.Fail(err); err != nil {
			return
		}
		r.Before(a.last)
		r.Insert(group)
		r.Replace(a.last.Out[0], group.Out[0])
	})
}

// An attention is the nodes of softmax(f(Q K)) V.
type attention struct {
	scores  *graph.Node   // Q K
	adjust  []*graph.Node // f, in order
	softmax *graph.Node
	product *graph.Node // with V
	last    *graph.Node // product, or the transpose of its result
	size    size
}

// match recognises the product that ends an attention.
func match(r *rewrite.Rewriter, n *graph.Node) (*attention, bool) {
	if !isProduct(n) || n.Attrs.(ops.MatmulAttrs).TransposeA {
		return nil, false
	}
	a := &attention{product: n, last: n}
	a.softmax = inner(r, n.In[0])
	if a.softmax == nil || a.softmax.Op != ops.Softmax || a.softmax.Attrs.(ops.SoftmaxAttrs).Axis != n.In[0].Type.Rank()-1 {
		return nil, false
	}
	if !chain(r, a, a.softmax.In[0]) {
		return nil, false
	}
	a.size = sizeOf(a.scores, n)
	width := max(a.size.width, a.size.columns)
	if a.size.queries < 2 || a.size.keys < 2 || width < 2 || a.size.keys*width > maxKeys {
		return nil, false
	}
	if t := r.Reader(n.Out[0]); t != nil && t.Op == ops.Transpose {
		axes := t.Attrs.(ops.TransposeAttrs).Axes
		if last := len(axes) - 1; axes[last] == last {
			a.last = t
		}
	}
	return a, true
}

// isProduct reports whether n multiplies two plain float32 matrices that are both computed.
func isProduct(n *graph.Node) bool {
	return n.Op == ops.Matmul && !n.In[0].IsConst() && !n.In[1].IsConst() && n.Out[0].Type.IsPlain(types.F32) &&
		n.In[0].Type.Layout == "" && n.In[1].Type.Layout == ""
}

// inner is the node that computes v for a single reader, or nil.
func inner(r *rewrite.Rewriter, v *graph.Value) *graph.Node {
	if v.Def == nil || r.Reader(v) == nil || len(v.Def.Sub) > 0 {
		return nil
	}
	return v.Def
}

// chain follows the elementwise nodes that make the scores v back to the product, and notes both.
func chain(r *rewrite.Rewriter, a *attention, v *graph.Value) bool {
	n := inner(r, v)
	switch {
	case n == nil || !v.Type.IsPlain(types.F32):
		return false
	case isProduct(n):
		a.scores = n
		return true
	case n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast:
		return false
	}
	for _, x := range n.In {
		if slices.Equal(x.Type.Shape, v.Type.Shape) && chain(r, a, x) {
			a.adjust = append(a.adjust, n)
			return true
		}
	}
	return false
}

// group makes the group node.
func (a *attention) group() (*graph.Node, error) {
	sub := &graph.Graph{}
	t := &transplant{Rewriter: rewrite.New(sub), sub: sub, values: map[*graph.Value]*graph.Value{}}
	for _, v := range []*graph.Value{a.scores.In[0], a.scores.In[1], a.product.In[1]} {
		t.views(v)
	}
	t.copy(a.scores)
	for _, n := range a.adjust {
		t.adjust(n)
	}
	s := t.inside(a.softmax.In[0])
	t.From(a.softmax)
	row := ops.ReduceAttrs{Axis: []int{s.Type.Rank() - 1}, KeepDims: true}
	w := t.Apply(ops.Exp, op.None{}, t.Apply(ops.Subtract, op.None{}, s, t.Apply(ops.Max, row, s)))
	sum := t.Apply(ops.Sum, row, w)
	t.From(a.product)
	y := t.Apply(ops.Divide, op.None{}, t.Apply(ops.Matmul, a.product.Attrs, w, t.inside(a.product.In[1])), sum)
	y.Def.Impl = a.product.Impl
	t.values[a.product.Out[0]] = y
	if a.last != a.product {
		t.copy(a.last)
		y = t.inside(a.last.Out[0])
	}
	sub.Outputs = []*graph.Value{y}
	if err := t.Finish(); err != nil {
		return nil, err
	}
	return graph.NewGroup(sub, t.in), nil
}

// A transplant copies nodes into the sub-graph of a group; values from elsewhere become its inputs.
type transplant struct {
	*rewrite.Rewriter
	sub    *graph.Graph
	in     []*graph.Value
	values map[*graph.Value]*graph.Value
}

// inside is what v is called inside.
func (t *transplant) inside(v *graph.Value) *graph.Value {
	if v.IsConst() {
		return v
	}
	if t.values[v] == nil {
		t.values[v] = t.sub.Input(v.Name, v.Type)
		t.in = append(t.in, v)
	}
	return t.values[v]
}

// copy adds a copy of n, which has one result.
func (t *transplant) copy(n *graph.Node) {
	t.add(n, n.Op, n.Attrs, n.Out[0], n.In...)
}

// adjust adds a copy of n, which changes scores. They go through exp, so that a division may be a product.
func (t *transplant) adjust(n *graph.Node) {
	if n.Op == ops.Divide && n.In[1].IsConst() && n.In[1].Const.Len() == 1 {
		if c := n.In[1].Const.Inverse(); c != nil {
			t.add(n, ops.Multiply, op.None{}, n.Out[0], n.In[0], graph.NewConst("", c))
			return
		}
	}
	t.copy(n)
}

// add adds a node that computes out as n does.
func (t *transplant) add(n *graph.Node, d *op.Def, attrs any, out *graph.Value, in ...*graph.Value) {
	if t.values[out] != nil {
		return
	}
	inside := make([]*graph.Value, len(in))
	for i, v := range in {
		inside[i] = t.inside(v)
	}
	t.From(n)
	t.values[out] = t.Apply(d, attrs, inside...)
}

// views copies the nodes that only arrange the elements of v, and scales between them, down to the value they view.
func (t *transplant) views(v *graph.Value) bool {
	n := v.Def
	if inside := t.values[v]; inside != nil {
		return inside.Def != nil
	}
	if n == nil || len(n.Sub) > 0 || v.Type.Layout != "" || n.In[0].Type.Layout != "" {
		return false
	}
	switch n.Op {
	case ops.Reshape, ops.Transpose, ops.StridedSlice, ops.BroadcastTo, ops.Repeat:
		if n.In[0].IsConst() {
			return false
		}
		t.views(n.In[0])
		t.copy(n)
		return true
	case ops.Split:
		s := n.Attrs.(ops.SplitAttrs)
		slice := ops.StridedSliceAttrs{Begin: make([]int, v.Type.Rank()), End: slices.Clone(n.In[0].Type.Shape), Strides: slices.Repeat([]int{1}, v.Type.Rank())}
		for _, size := range s.Sizes[:v.Index] {
			slice.Begin[s.Axis] += size
		}
		slice.End[s.Axis] = slice.Begin[s.Axis] + s.Sizes[v.Index]
		t.views(n.In[0])
		t.add(n, ops.StridedSlice, slice, v, n.In[0])
		return true
	case ops.Multiply, ops.Divide:
		if x := n.In[1]; x.IsConst() && x.Const.Len() == 1 && t.views(n.In[0]) {
			t.copy(n)
			return true
		}
	}
	return false
}
