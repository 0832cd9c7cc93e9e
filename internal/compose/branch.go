package compose

import (
	"slices"

	"lathe/internal/graph"
)

// A capturing is a body that is being made: what it reads from outside becomes inputs of it.
type capturing struct {
	captured []*graph.Value
	body     *graph.Graph
	inside   map[*graph.Value]*graph.Value // what a value is called in the body
}

func newCapturing() *capturing {
	return &capturing{body: &graph.Graph{Name: "body"}, inside: map[*graph.Value]*graph.Value{}}
}

// capture makes what the body reads from outside inputs of it.
func (l *capturing) capture() {
	for _, n := range l.body.Nodes {
		in := make([]*graph.Value, len(n.In))
		for i, v := range n.In {
			in[i] = l.enter(v)
		}
		n.In = in
	}
	for i, v := range l.body.Outputs {
		l.body.Outputs[i] = l.enter(v)
	}
}

// enter is what v is called in the body.
func (l *capturing) enter(v *graph.Value) *graph.Value {
	if v.IsConst() {
		return v
	}
	if l.inside[v] == nil {
		l.inside[v] = l.body.Input("", v.Type)
		l.captured = append(l.captured, v)
	}
	return l.inside[v]
}

// If runs what yes adds where condition, one truth value, holds, and what no adds elsewhere: see graph.If. Both give the results, of
// the same types.
func (b *Builder) If(condition *graph.Value, yes, no func() []*graph.Value) []*graph.Value {
	var ways []*capturing
	var captured []*graph.Value
	for _, add := range []func() []*graph.Value{yes, no} {
		w := b.branch(add)
		ways = append(ways, w)
		for _, v := range w.captured {
			if !slices.Contains(captured, v) {
				captured = append(captured, v)
			}
		}
	}
	for _, w := range ways {
		w.body.Inputs = nil
		for _, v := range captured {
			if w.inside[v] == nil {
				w.inside[v] = &graph.Value{Type: v.Type}
			}
			w.body.Inputs = append(w.body.Inputs, w.inside[v])
		}
	}
	n, err := graph.NewIf(ways[0].body, ways[1].body, append([]*graph.Value{condition}, captured...))
	if err != nil {
		panic(failure{err})
	}
	n.Origin = b.Origin
	b.Graph.Nodes = append(b.Graph.Nodes, n)
	return n.Out
}

// branch makes a body of what add adds.
func (b *Builder) branch(add func() []*graph.Value) *capturing {
	w := newCapturing()
	outside := b.Graph
	b.Graph = w.body
	defer func() { b.Graph = outside }()
	w.body.Outputs = slices.Clone(add())
	w.body.DeadCode()
	for _, n := range w.body.Nodes {
		for _, v := range n.Out {
			w.inside[v] = v
		}
	}
	w.capture()
	return w
}
