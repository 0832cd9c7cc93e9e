package rewrite

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
)

// Enclose makes one node of nodes, which are convex: nothing that reads a result of one of them is read by another of
// them, unless it is one of them itself. d is graph.Composite or graph.External, attrs are its attributes. What others read of the
// nodes are the results, in order; what they read of others the operands. Constants stay inside. Groups are opened, and in a region other regions. The node stands where the last of nodes
// stood, and behind it those that stood before it and read its results.
func (r *Rewriter) Enclose(d *op.Def, attrs any, nodes ...*graph.Node) *graph.Node {
	inside := map[*graph.Node]bool{}
	for _, n := range nodes {
		inside[n] = true
	}
	nodes = r.inOrder(inside)
	r.moveReaders(nodes, inside)
	f := &fusion{inside: map[*graph.Value]*graph.Value{}, regions: d == graph.External}
	operands := make([][]*graph.Value, len(nodes))
	var results []*graph.Value
	for i, n := range nodes {
		operands[i] = n.In
		f.take(n)
		for _, o := range n.Out {
			if r.IsOutput(o) || slices.ContainsFunc(r.users[o], func(m *graph.Node) bool { return !inside[m] }) {
				results = append(results, o)
				f.sub.Outputs = append(f.sub.Outputs, f.inside[o])
			}
		}
	}
	region := graph.NewRegion(d, attrs, &f.sub, f.in)
	last := nodes[len(nodes)-1]
	r.Before(last)
	r.Insert(region)
	for _, n := range nodes {
		r.remove(n)
	}
	for i, n := range nodes {
		for _, v := range operands[i] {
			r.unread(v, n)
		}
	}
	for i, o := range results {
		name := o.Name
		r.Replace(o, region.Out[i])
		f.sub.Outputs[i].Name = name // in the sub-graph too
	}
	return region
}

// inOrder lists a set of nodes as they stand.
func (r *Rewriter) inOrder(set map[*graph.Node]bool) (nodes []*graph.Node) {
	for e := r.order.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*graph.Node); set[n] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// moveReaders moves the nodes among those to enclose that read results of theirs behind the last of them.
func (r *Rewriter) moveReaders(nodes []*graph.Node, inside map[*graph.Node]bool) {
	made := map[*graph.Value]bool{}
	after := r.place[nodes[len(nodes)-1]]
	for e := r.place[nodes[0]]; e != r.place[nodes[len(nodes)-1]]; {
		n, next := e.Value.(*graph.Node), e.Next()
		if inside[n] || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return made[v] }) {
			for _, o := range n.Out {
				made[o] = true
			}
			if !inside[n] {
				r.order.MoveAfter(e, after)
				after = e
			}
		}
		e = next
	}
}
