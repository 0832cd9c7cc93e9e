package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// fuseAttention makes one group of softmax(f(Q K)) V, where f scales, masks or bounds the scores one by one, so that the
// scores never go to memory. The sum of softmax divides the product with V, which is smaller, instead of the weights:
//
//	s = f(Q K); softmax(s) V   →   group { s = f(Q K); w = exp(s - max(s)); (w V) / sum(w) }
//
// The views through which Q, K and V are read (slices, reshapes, transposes) and a transpose of the result that keeps its
// last axis become part of the group.
func fuseAttention(c *Context) error {
	f := &attentionFusion{g: c.Graph, users: c.Graph.Users(), outs: map[*graph.Value]bool{}}
	for _, o := range c.Graph.Outputs {
		f.outs[o] = true
	}
	for i := 0; i < len(f.g.Nodes); i++ {
		a, ok := f.match(f.g.Nodes[i])
		if !ok {
			continue
		}
		group, err := a.group()
		if err != nil {
			return err
		}
		last := a.last.Out[0]
		at := slices.Index(f.g.Nodes, a.last)
		f.g.Nodes[at] = group
		group.Out[0].Name = last.Name
		f.g.Replace(last, group.Out[0])
		if f.outs[last] {
			f.outs[group.Out[0]] = true
		}
		f.g.DeadCode()
		f.users = f.g.Users()
		i = slices.Index(f.g.Nodes, group)
	}
	return nil
}

// minQueries is the number of queries from which on arranging keys and values for a kernel of their own pays.
const minQueries = 4

// maxKeys bounds keys times width: what one head keeps in a worker's scratch.
const maxKeys = 1 << 20

type attentionFusion struct {
	g     *graph.Graph
	users map[*graph.Value][]*graph.Node
	outs  map[*graph.Value]bool
}

// An attention is the nodes of softmax(f(Q K)) V.
type attention struct {
	scores  *graph.Node   // Q K
	adjust  []*graph.Node // f, in order
	softmax *graph.Node
	product *graph.Node // with V
	last    *graph.Node // product, or the transpose of its result
}

// match recognises the product that ends an attention.
func (f *attentionFusion) match(n *graph.Node) (*attention, bool) {
	if !isProduct(n) || n.Attrs.(ops.MatmulAttrs).TransposeA {
		return nil, false
	}
	a := &attention{product: n, last: n}
	a.softmax = f.inner(n.In[0])
	if a.softmax == nil || a.softmax.Op != ops.Softmax || a.softmax.Attrs.(ops.SoftmaxAttrs).Axis != n.In[0].Type.Rank()-1 {
		return nil, false
	}
	if !f.chain(a, a.softmax.In[0]) {
		return nil, false
	}
	shape := a.scores.Out[0].Type.Shape
	rows, keys := shape[len(shape)-2], shape[len(shape)-1]
	width := max(reduced(a.scores), n.Out[0].Type.Shape[n.Out[0].Type.Rank()-1])
	if rows < minQueries || keys < 2 || width < 2 || keys*width > maxKeys {
		return nil, false
	}
	if users := f.users[n.Out[0]]; len(users) == 1 && !f.outs[n.Out[0]] && users[0].Op == ops.Transpose {
		axes := users[0].Attrs.(ops.TransposeAttrs).Axes
		if last := len(axes) - 1; axes[last] == last {
			a.last = users[0]
		}
	}
	return a, true
}

// isProduct reports whether n multiplies two plain float32 matrices that are both computed.
func isProduct(n *graph.Node) bool {
	return n.Op == ops.Matmul && !n.In[0].IsConst() && !n.In[1].IsConst() && plainFloat(n.Out[0].Type) &&
		n.In[0].Type.Layout == "" && n.In[1].Type.Layout == ""
}

func plainFloat(t types.Tensor) bool { return t.DType == types.F32 && t.Layout == "" }

// reduced is the extent over which a product sums.
func reduced(n *graph.Node) int {
	s := n.In[0].Type.Shape
	if n.Attrs.(ops.MatmulAttrs).TransposeA {
		return s[len(s)-2]
	}
	return s[len(s)-1]
}

// inner is the node that computes v for a single reader, or nil.
func (f *attentionFusion) inner(v *graph.Value) *graph.Node {
	if v.Def == nil || f.outs[v] || len(f.users[v]) != 1 || len(v.Def.Sub) > 0 {
		return nil
	}
	return v.Def
}

// chain follows the elementwise nodes that make the scores v back to the product, and notes both.
func (f *attentionFusion) chain(a *attention, v *graph.Value) bool {
	n := f.inner(v)
	switch {
	case n == nil || !plainFloat(v.Type):
		return false
	case isProduct(n):
		a.scores = n
		return true
	case n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast:
		return false
	}
	for _, x := range n.In {
		if slices.Equal(x.Type.Shape, v.Type.Shape) && f.chain(a, x) {
			a.adjust = append(a.adjust, n)
			return true
		}
	}
	return false
}

// group makes the group node.
func (a *attention) group() (*graph.Node, error) {
	t := &transplant{values: map[*graph.Value]*graph.Value{}}
	for _, v := range []*graph.Value{a.scores.In[0], a.scores.In[1], a.product.In[1]} {
		t.views(v)
	}
	t.copy(a.scores)
	for _, n := range a.adjust {
		t.adjust(n)
	}
	s := t.inside(a.softmax.In[0])
	b := &builder{origin: a.softmax.Origin}
	row := ops.ReduceAttrs{Axis: []int{s.Type.Rank() - 1}, KeepDims: true}
	w := b.apply(ops.Exp, op.None{}, b.apply(ops.Subtract, op.None{}, s, b.apply(ops.Max, row, s)))
	sum := b.apply(ops.Sum, row, w)
	b.origin = a.product.Origin
	y := b.apply(ops.Divide, op.None{}, b.apply(ops.Matmul, a.product.Attrs, w, t.inside(a.product.In[1])), sum)
	if b.err != nil {
		return nil, b.err
	}
	t.sub.Nodes = append(t.sub.Nodes, b.nodes...)
	t.values[a.product.Out[0]] = y
	if a.last != a.product {
		t.copy(a.last)
		y = t.inside(a.last.Out[0])
	}
	t.sub.Outputs = []*graph.Value{y}
	return graph.NewGroup(&t.sub, t.in), t.err
}

// A transplant copies nodes into the sub-graph of a group; values from elsewhere become its inputs.
type transplant struct {
	sub    graph.Graph
	in     []*graph.Value
	values map[*graph.Value]*graph.Value
	err    error
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
	t.add(n.Op, n.Attrs, n.Origin, n.Out[0], n.In...)
}

// adjust adds a copy of n, which changes scores. They go through exp, so that a division may be a product.
func (t *transplant) adjust(n *graph.Node) {
	if n.Op == ops.Divide && n.In[1].IsConst() && n.In[1].Const.Len() == 1 {
		if c := inverse(n.In[1]); c != nil {
			t.add(ops.Multiply, op.None{}, n.Origin, n.Out[0], n.In[0], c)
			return
		}
	}
	t.copy(n)
}

func (t *transplant) add(d *op.Def, attrs any, origin []string, out *graph.Value, in ...*graph.Value) {
	if t.values[out] != nil || t.err != nil {
		return
	}
	m := &graph.Node{Op: d, Attrs: attrs, Origin: origin}
	for _, v := range in {
		m.In = append(m.In, t.inside(v))
	}
	t.err = m.Infer()
	if t.err == nil {
		t.sub.Nodes = append(t.sub.Nodes, m)
		t.values[out] = m.Out[0]
	}
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
		t.add(ops.StridedSlice, slice, n.Origin, v, n.In[0])
		return true
	case ops.Multiply, ops.Divide:
		if x := n.In[1]; x.IsConst() && x.Const.Len() == 1 && t.views(n.In[0]) {
			t.copy(n)
			return true
		}
	}
	return false
}
