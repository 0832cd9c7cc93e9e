package rewrite

import "lathe/internal/graph"

// Fuse makes one group of nodes, which are in order and of which only the last one has readers elsewhere. The group stands
// where that one stood and takes its readers. Groups among the nodes are opened.
func (r *Rewriter) Fuse(nodes ...*graph.Node) *graph.Node {
	f := &fusion{inside: map[*graph.Value]*graph.Value{}}
	operands := make([][]*graph.Value, len(nodes))
	for i, n := range nodes {
		operands[i] = n.In
		f.take(n)
	}
	last := nodes[len(nodes)-1]
	for _, o := range last.Out {
		f.sub.Outputs = append(f.sub.Outputs, f.inside[o])
	}
	group := graph.NewGroup(&f.sub, f.in)
	r.Before(last)
	r.Insert(group)
	for _, n := range nodes {
		r.remove(n)
	}
	for i, n := range nodes {
		for _, v := range operands[i] {
			r.unread(v, n)
		}
	}
	for i, o := range last.Out {
		name := o.Name
		r.Replace(o, group.Out[i])
		o.Name = name // in the sub-graph too
	}
	return group
}

// A fusion is the sub-graph of a group to be, and its operands.
type fusion struct {
	sub    graph.Graph
	in     []*graph.Value
	inside map[*graph.Value]*graph.Value // what a value is called in the group
	// regions among the nodes are opened
	regions bool
}

// take moves n, or what is in it, into the group.
func (f *fusion) take(n *graph.Node) {
	members, results := []*graph.Node{n}, n.Out
	if n.Op == graph.Group || f.regions && n.Op == graph.External {
		for i, v := range n.In {
			f.inside[n.Sub[0].Inputs[i]] = f.enter(v)
		}
		members, results = n.Sub[0].Nodes, n.Sub[0].Outputs
	}
	for _, m := range members {
		in := make([]*graph.Value, len(m.In))
		for i, v := range m.In {
			in[i] = f.enter(v)
		}
		m.In = in
		for _, o := range m.Out {
			f.inside[o] = o
		}
	}
	for i, o := range n.Out {
		f.inside[o] = results[i]
	}
	f.sub.Nodes = append(f.sub.Nodes, members...)
}

// enter is what v is called in the group: what the group does not compute is an operand.
func (f *fusion) enter(v *graph.Value) *graph.Value {
	if v.IsConst() {
		return v
	}
	if f.inside[v] == nil {
		f.inside[v] = f.sub.Input(v.Name, v.Type)
		f.in = append(f.in, v)
	}
	return f.inside[v]
}
