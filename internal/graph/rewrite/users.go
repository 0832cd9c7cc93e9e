package rewrite

import (
	"slices"

	"lathe/internal/graph"
)

// Users are the nodes that read v; a node that reads it twice is there twice. Graph outputs are not users.
func (r *Rewriter) Users(v *graph.Value) []*graph.Node { return r.users[v] }

// IsOutput reports whether the graph returns v.
func (r *Rewriter) IsOutput(v *graph.Value) bool { return slices.Contains(r.g.Outputs, v) }

// Reader is the node that alone reads v, and once; nil where there is none, are several, or the graph returns v.
func (r *Rewriter) Reader(v *graph.Value) *graph.Node {
	if len(r.users[v]) != 1 || r.IsOutput(v) {
		return nil
	}
	return r.users[v][0]
}

// reads notes what n reads.
func (r *Rewriter) reads(n *graph.Node) {
	for _, v := range n.In {
		r.users[v] = append(r.users[v], n)
	}
}

// unread notes that n reads v once less, and erases what nothing reads then.
func (r *Rewriter) unread(v *graph.Value, n *graph.Node) {
	i := slices.Index(r.users[v], n)
	r.users[v] = slices.Concat(r.users[v][:i], r.users[v][i+1:])
	r.eraseUnread(v.Def)
}

// eraseUnread erases n when nothing reads its results, and then what it alone read.
func (r *Rewriter) eraseUnread(n *graph.Node) {
	if n == nil || r.place[n] == nil || slices.ContainsFunc(n.Out, func(v *graph.Value) bool { return len(r.users[v]) > 0 || r.IsOutput(v) }) {
		return
	}
	r.remove(n)
	for _, v := range n.In {
		r.unread(v, n)
	}
}

// remove takes n out of the order of nodes.
func (r *Rewriter) remove(n *graph.Node) {
	if r.next == r.place[n] {
		r.next = r.next.Next()
	}
	r.order.Remove(r.place[n])
	delete(r.place, n)
}
