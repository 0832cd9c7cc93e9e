package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// fuseOps partitions the graph into groups. A group is a heavy node or a reduction with the elementwise nodes after it,
// or a chain of elementwise and injective nodes; the look-up of channels that a convolution reads belongs to it. A node
// joins the group of its readers when they are all in one group that still takes it. At -O0 every node is a group of its
// own.
//
//	conv2d → add → relu             becomes   group { conv2d; add; relu }
//	conv2d → {sigmoid →} multiply   becomes   group { conv2d; sigmoid; multiply }
func fuseOps(c *Context) error {
	f := &fusion{Rewriter: rewrite.New(c.Graph), target: c.Target, decide: c.decide, group: map[*graph.Node]*members{}, place: map[*graph.Node]int{}, apart: map[*graph.Node]bool{}, wide: map[*graph.Node]bool{},
		computed: map[*graph.Node]float64{}, places: map[*graph.Node]map[*graph.Value]int{}}
	for i, n := range c.Graph.Nodes {
		f.place[n] = i
	}
	for _, n := range c.Graph.Nodes {
		m := &members{nodes: []*graph.Node{n}, class: n.Op.Fusion, size: expansionOf(n)}
		f.group[n] = m
		f.computed[n], f.places[n] = float64(types.Count(n.Out[0].Type.Shape)), placesOf(m.size)
		if c.Level == 0 || n.Op.Fusion == op.Opaque || len(n.Sub) > 0 || f.widens(n) {
			continue
		}
		for f.grow(m) {
		}
	}
	f.Walk(func(n *graph.Node) {
		if m := f.group[n].nodes; m[len(m)-1] == n && len(n.Sub) == 0 {
			f.Fuse(m...)
		}
	})
	return f.Finish()
}

// A kernel has at most maxGroup nodes, which is Relay's limit, and an element of it is computed from an expression of at most
// maxExpansion nodes.
const (
	maxGroup     = 256
	maxExpansion = 1 << 12
)

func expansionOf(n *graph.Node) *impl.Expansion {
	in, out := make([]types.Tensor, len(n.In)), make([]types.Tensor, len(n.Out))
	for i, v := range n.In {
		in[i] = v.Type
	}
	for i, v := range n.Out {
		out[i] = v.Type
	}
	return impl.ExpansionOf(n.Op, n.Attrs, in, out, func(i int) any { return n.In[i] })
}

type members struct {
	nodes []*graph.Node // in graph order; the last one post-dominates the others
	class op.Fusion     // of the heaviest member
	size  *impl.Expansion
}

type fusion struct {
	*rewrite.Rewriter
	target *target.Target // nil: none is known
	group  map[*graph.Node]*members
	place  map[*graph.Node]int  // position in the graph
	apart  map[*graph.Node]bool // of which it was decided that no reader takes it
	wide   map[*graph.Node]bool // integers that were made larger for their readers, see widens

	computed map[*graph.Node]float64              // elements of the node's result that its group computes
	places   map[*graph.Node]map[*graph.Value]int // elements of each operand that one of them is computed from

	decide func(*graph.Node, choice.Decision) (string, error)
}

// widens reports whether n makes larger elements of its operand's for readers that can do so themselves, and that it goes
// into their groups, so that memory holds the small ones, which is asked. What else has one operand that is not constant, and is of
// elements that were made larger, goes with them.
func (f *fusion) widens(n *graph.Node) bool {
	x := n.In
	if f.IsOutput(n.Out[0]) || slices.ContainsFunc(f.Users(n.Out[0]), func(r *graph.Node) bool {
		return r.Op.Fusion < op.Elementwise || r.Op.Fusion > op.CommReduce || r.Op == ops.Concatenate
	}) {
		return false
	}
	if integers := n.Op == ops.Cast && x[0].Type.DType.IsInt() && n.Out[0].Type.DType.IsInt(); n.Op != ops.Dequantize && (!integers || f.Reader(n.Out[0]) == nil) ||
		x[0].Type.DType.Size() >= n.Out[0].Type.DType.Size() {
		return f.staysWide(n)
	}
	taken, err := f.decide(n, choice.Whether("inline", true))
	f.Fail(err)
	f.wide[n] = taken == "on" && n.Op == ops.Cast
	return taken == "on"
}

// staysWide reports whether n computes on integers that were made larger for it, and hands as large ones to one reader.
func (f *fusion) staysWide(n *graph.Node) bool {
	if n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast || f.Reader(n.Out[0]) == nil {
		return false
	}
	var x *graph.Node
	for _, v := range n.In {
		if v.IsConst() {
			continue
		}
		if x != nil || !f.wide[v.Def] || v.Type.DType.Size() > n.Out[0].Type.DType.Size() || !sameShape(v.Def, n) {
			return false
		}
		x = v.Def
	}
	f.wide[n] = x != nil
	return f.wide[n]
}

// grow takes one more group into m, the one of the graph's latest node so far, where that is legal and useful.
func (f *fusion) grow(m *members) bool {
	for _, n := range slices.Backward(m.nodes) {
		for _, v := range n.In {
			if f.join(v, m) {
				return true
			}
		}
	}
	return false
}

// join takes the group of v's producer into m. All readers of v are in m then, so that nothing outside needs a value
// of the joined group and joining never makes a cycle.
func (f *fusion) join(v *graph.Value, m *members) bool {
	p := v.Def
	if p == nil || f.group[p] == m || f.apart[p] || len(p.Out) != 1 || f.IsOutput(v) {
		return false
	}
	for _, n := range f.Users(v) {
		if f.group[n] != m {
			return false
		}
	}
	a := f.group[p]
	if a.class == op.Opaque || len(a.nodes)+len(m.nodes) > maxGroup || f.tooLarge(v, a, m) || !f.accepts(a, m, p) {
		return false
	}
	// The memory plan makes a concatenation along the outermost axis free, unless it is an output, while inside a kernel every element chooses its operand.
	free := p.Op == ops.Concatenate || slices.ContainsFunc(f.Users(v), f.joinsOutermost)
	d, o := choice.Whether("fuse", !free), f.operand(v, a)
	if !free && a.size.Work > 0 && f.target != nil {
		d = impl.FuseDecision(f.target, o)
	}
	taken, err := f.decide(p, d)
	if f.Fail(err); taken != "on" {
		f.apart[p] = true
		return false
	}
	m.nodes = append(m.nodes, a.nodes...)
	slices.SortFunc(m.nodes, func(x, y *graph.Node) int { return f.place[x] - f.place[y] })
	m.class = max(a.class, m.class)
	m.size.Take(v, a.size)
	f.taken(a, o)
	for _, n := range a.nodes {
		f.group[n] = m
	}
	return true
}

// tooLarge reports whether the code of m would be out of proportion to its nodes with a, which computes v, in it.
func (f *fusion) tooLarge(v *graph.Value, a, m *members) bool {
	size := m.size.SizeWith(v, a.size)
	return size > maxExpansion && size > m.size.Size+a.size.Size
}

// accepts says whether the group b may take in the group a of producer p, whose readers are all in b.
func (f *fusion) accepts(a, b *members, p *graph.Node) bool {
	readers := f.Users(p.Out[0])
	for _, n := range readers {
		if !accepts(a, b, p, n) {
			return false
		}
	}
	// A value that several nodes read, or the sums of an anchor, are one element each to all that follows.
	return len(readers) == 1 && a.class < op.CommReduce || f.samePlace(p, b)
}

// samePlace reports whether all nodes of b that depend on p, directly or not, need p's element at their own index only.
func (f *fusion) samePlace(p *graph.Node, b *members) bool {
	depends := map[*graph.Node]bool{p: true}
	for _, n := range b.nodes {
		for _, v := range n.In {
			if v.Def == nil || !depends[v.Def] {
				continue
			}
			if n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast || !sameShape(p, n) || n.Op == ops.QnnLookup && v != n.In[0] { // a table is read anywhere
				return false
			}
			depends[n] = true
		}
	}
	return true
}

// accepts says whether reader n of group b takes the result of p, of group a, into its kernel.
func accepts(a, b *members, p, n *graph.Node) bool {
	switch n.Op.Fusion {
	case op.Elementwise, op.Broadcast:
		switch a.class {
		case op.Elementwise, op.Broadcast:
			return true
		case op.Injective:
			return b.class <= op.Injective || sameShape(p, n)
		case op.CommReduce, op.OutFusable:
			// One anchor a group, and its epilogue has the anchor's shape.
			return b.class <= op.Injective && sameShape(p, n)
		}
	case op.Injective:
		return a.class <= op.Injective && !(looksUpBlocks(n) && n.In[0] == p.Out[0]) && !(looksUpBlocks(p) && n.Op == ops.LayoutTransform) &&
			!(interpolates(n) && slices.ContainsFunc(a.nodes, interpolates))
	case op.CommReduce:
		return a.class <= op.Broadcast
	case op.OutFusable:
		// A product reads an element in a different place at no cost, once for all vectors of a tile.
		return len(a.nodes) == 1 && (takesChannels(p) && readsAnyOrder(n, p.Out[0]) || p.Op == ops.Transpose && readsAnyLayout(n, p.Out[0]))
	}
	return false
}

// readsAnyLayout reports whether n is a convolution over v whose vectors run over its weights only.
func readsAnyLayout(n *graph.Node, v *graph.Value) bool {
	return isConv(n.Op) && n.In[0] == v && v.Type.Layout == "" && n.Attrs.(ops.ConvAttrs).Groups == 1 && n.In[1].Type.Layout != "" && n.Out[0].Type.Layout != ""
}

// joinsOutermost reports whether n is a concatenation whose operands lie one behind the other in its result, in memory that is
// nobody else's.
func (f *fusion) joinsOutermost(n *graph.Node) bool {
	return n.Op == ops.Concatenate && !f.IsOutput(n.Out[0]) && types.Count(n.Out[0].Type.Shape[:n.Attrs.(ops.ConcatenateAttrs).Axis]) == 1
}

// looksUpBlocks reports whether n looks pixels up in blocks of channels: they lie so in memory.
func looksUpBlocks(n *graph.Node) bool {
	return n.Op == ops.GridSample && n.In[0].Type.Layout != ""
}

// interpolates reports whether n computes each element from several, which each would be computed from several anew.
func interpolates(n *graph.Node) bool {
	a, ok := n.Attrs.(ops.ResizeAttrs)
	return ok && a.Method != "nearest"
}

func sameShape(p, n *graph.Node) bool { return slices.Equal(p.Out[0].Type.Shape, n.Out[0].Type.Shape) }
