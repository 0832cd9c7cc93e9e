// Package rewrite edits graphs. A pass says what it looks for and what it puts there; the Rewriter keeps who reads a value,
// infers types, carries names and origins on, and erases what nothing reads any more.
package rewrite

import (
	"container/list"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/types"
)

// A Rewriter changes one graph. Every change shows in Users at once and in the graph's list of nodes when Finish writes it.
// The first error stays: Finish returns it.
type Rewriter struct {
	g      *graph.Graph
	users  map[*graph.Value][]*graph.Node // whose slices are never changed in place, so that they may be iterated
	order  *list.List                     // of the nodes
	place  map[*graph.Node]*list.Element
	next   *list.Element // what is added goes before it; nil: at the end
	origin []string      // of what is added
	err    error
}

// New starts to change g.
func New(g *graph.Graph) *Rewriter {
	r := &Rewriter{g: g, users: g.Users(), order: list.New(), place: make(map[*graph.Node]*list.Element, len(g.Nodes))}
	for _, n := range g.Nodes {
		r.place[n] = r.order.PushBack(n)
	}
	return r
}

// A Rule changes the graph around n where it applies.
type Rule func(r *Rewriter, n *graph.Node)

// Walk applies the rules, each in a walk of its own.
func Walk(g *graph.Graph, rules ...Rule) error {
	for _, rule := range rules {
		r := New(g)
		r.Walk(func(n *graph.Node) { rule(r, n) })
		if err := r.Finish(); err != nil {
			return err
		}
	}
	return nil
}

// Walk visits every node that was in the graph before, in order, unless it has been erased. Nodes that a visit adds stand
// before n and stem from the model's nodes that n does. They are not visited: a walk ends whatever is added.
func (r *Rewriter) Walk(visit func(n *graph.Node)) {
	for _, n := range r.g.Nodes {
		if r.err == nil && r.place[n] != nil {
			r.Before(n)
			visit(n)
		}
	}
}

// Finish writes the nodes back, without those that no output needs, and returns the first error. It ends the use of r.
func (r *Rewriter) Finish() error {
	r.g.Nodes = make([]*graph.Node, 0, r.order.Len())
	for e := r.order.Front(); e != nil; e = e.Next() {
		r.g.Nodes = append(r.g.Nodes, e.Value.(*graph.Node))
	}
	r.g.DeadCode()
	return r.err
}

// Fail notes an error, unless it is nil or not the first, about the nodes of the model that nodes are added from. It ends a walk.
func (r *Rewriter) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("node %q: %w", r.origin, err)
	}
}

// Before makes nodes that are added stand before n, and stem from the same nodes of the model.
func (r *Rewriter) Before(n *graph.Node) {
	r.next = r.place[n]
	r.From(n)
}

// Behind is Before for a place right behind n.
func (r *Rewriter) Behind(n *graph.Node) {
	r.Before(n)
	r.next = r.next.Next()
}

// AtEnd makes nodes that are added stand behind all others.
func (r *Rewriter) AtEnd() { r.next = nil }

// From makes nodes that are added stem from the nodes of the model that the given ones do.
func (r *Rewriter) From(nodes ...*graph.Node) {
	r.origin = nil
	for _, n := range nodes {
		r.origin = slices.Concat(r.origin, n.Origin)
	}
}

// Apply adds a node and returns its first result. After an error it adds nothing, and the result is nobody's.
func (r *Rewriter) Apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n := &graph.Node{Op: d, Attrs: attrs, In: slices.Clone(in), Origin: r.origin}
	if r.err == nil {
		r.Fail(n.Infer())
	}
	if r.err != nil {
		return &graph.Value{Type: in[0].Type, Def: n}
	}
	r.Insert(n)
	return n.Out[0]
}

// Insert adds a node that has its types.
func (r *Rewriter) Insert(n *graph.Node) {
	if r.next == nil {
		r.place[n] = r.order.PushBack(n)
	} else {
		r.place[n] = r.order.InsertBefore(n, r.next)
	}
	r.reads(n)
}

// Change makes n compute something else in its place. Its results stay the same values, with the types that they have then.
func (r *Rewriter) Change(n *graph.Node, d *op.Def, attrs any, in ...*graph.Value) {
	old := n.In
	n.Op, n.Attrs, n.In = d, attrs, slices.Clone(in)
	r.reads(n)
	for _, v := range old {
		r.unread(v, n)
	}
	r.Infer(n)
}

// SetOperand makes n read v as its operand i.
func (r *Rewriter) SetOperand(n *graph.Node, i int, v *graph.Value) {
	r.Change(n, n.Op, n.Attrs, slices.Replace(slices.Clone(n.In), i, i+1, v)...)
}

// Infer infers the types of n's results, whose operands have others than before. Readers of the results are the caller's.
func (r *Rewriter) Infer(n *graph.Node) {
	if len(n.Sub) == 0 {
		r.Fail(n.Infer())
	}
}

// SetLayout gives v a physical layout.
func (r *Rewriter) SetLayout(v *graph.Value, to types.Layout) { v.Type.Layout = to }

// Replace makes every reader of old, graph outputs included, read v, which has the same elements or stands for them. A value
// without a name takes over old's.
func (r *Rewriter) Replace(old, v *graph.Value) {
	if !old.Type.With("").Equal(v.Type.With("")) {
		r.Fail(fmt.Errorf("%s: a result of type %s would become %s", old.Def.Op.Name, old.Type, v.Type))
	}
	if r.err != nil || old == v {
		return
	}
	for _, n := range r.users[old] {
		n.In[slices.Index(n.In, old)] = v
	}
	r.users[v] = slices.Concat(r.users[v], r.users[old])
	delete(r.users, old)
	if r.IsOutput(old) {
		r.ReplaceOutput(old, v)
	} else if v.Name == "" {
		v.Name = old.Name
	}
	r.eraseUnread(old.Def)
}

// ReplaceOutput makes the graph return v instead of old, under old's name.
func (r *Rewriter) ReplaceOutput(old, v *graph.Value) {
	for i, o := range r.g.Outputs {
		if o == old {
			r.g.Outputs[i] = v
		}
	}
	if v.Def != nil {
		v.Name, old.Name = old.Name, ""
	}
}

// Merge replaces n by a node that computes the same: it stems from n's nodes of the model as well.
func (r *Rewriter) Merge(n, into *graph.Node) {
	into.Origin = slices.Concat(into.Origin, n.Origin)
	for i, o := range n.Out {
		r.Replace(o, into.Out[i])
	}
}
