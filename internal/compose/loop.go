package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/types"
)

// FewTrips is how often a body is rather repeated than looped over: what one iteration leaves joins the next one's kernels.
const FewTrips = 4

// Loop runs what body adds again and again: see graph.Loop. in are the first carried values, then the sequences; body gets what
// stands for them in an iteration, and gives the carried values of the next one, then the slices of the stacked results. What else
// it reads is captured, what it adds that is the same in each iteration is computed once, and what it does not need is left out. Behind the results is how often
// a loop with While ran.
func (b *Builder) Loop(a graph.LoopAttrs, in []*graph.Value, body func(in []*graph.Value) []*graph.Value) []*graph.Value {
	l := &looping{LoopAttrs: a, in: slices.Clone(in), capturing: newCapturing()}
	for i, v := range in {
		t := v.Type
		if i >= a.Carried {
			t = types.Of(t.DType, t.Shape[1:]...)
		}
		p := l.body.Input("", t)
		l.inside[p] = p
	}
	outside, inputs := b.Graph, slices.Clone(l.body.Inputs)
	b.Graph = l.body
	defer func() { b.Graph = outside }()
	l.body.Outputs = body(slices.Clone(inputs))

	// A carried value that never changes is what it is outside.
	results := make([]*graph.Value, len(l.body.Outputs))
	first := 0
	if a.While {
		first = 1
	}
	for k := a.Carried - 1; k >= first; k-- {
		if l.body.Outputs[k] != inputs[k] {
			continue
		}
		results[k] = in[k]
		l.body.Inputs = slices.Delete(l.body.Inputs, k, k+1)
		l.body.Outputs, l.in = slices.Delete(l.body.Outputs, k, k+1), slices.Delete(l.in, k, k+1)
		l.Carried--
		delete(l.inside, inputs[k])
		l.body.Substitute(inputs[k], in[k])
	}
	outside.Nodes = append(outside.Nodes, l.invariant()...)
	l.body.DeadCode()
	l.capture()
	l.dropSequences()
	n, err := graph.NewLoop(l.body, l.LoopAttrs, append(l.in, l.captured...))
	if err != nil {
		panic(failure{err})
	}
	n.Origin = b.Origin
	outside.Nodes = append(outside.Nodes, n)
	left := n.Out
	for k := range results {
		if results[k] == nil {
			results[k], left = left[0], left[1:]
		}
	}
	return append(results, left...)
}

// Iterate is Loop of a known number of iterations, with the body repeated where these are few.
func (b *Builder) Iterate(a graph.LoopAttrs, in []*graph.Value, body func(in []*graph.Value) []*graph.Value) []*graph.Value {
	if a.Trips > FewTrips {
		return b.Loop(a, in, body)
	}
	now := slices.Clone(in[:a.Carried])
	var stacks [][]*graph.Value
	for i := range a.Trips {
		t := a.Slice(i)
		operands := slices.Clone(now)
		for _, s := range in[a.Carried:] {
			operands = append(operands, b.At(s, 0, t))
		}
		out := body(operands)
		now = out[:a.Carried]
		if stacks == nil {
			stacks = make([][]*graph.Value, len(out)-a.Carried)
		}
		for k, v := range out[a.Carried:] {
			if stacks[k] == nil {
				stacks[k] = make([]*graph.Value, a.Trips)
			}
			stacks[k][t] = v
		}
	}
	out := slices.Clone(now)
	for _, steps := range stacks {
		out = append(out, b.Stack(0, steps...))
	}
	return out
}

// looping is a loop that is being made.
type looping struct {
	graph.LoopAttrs
	in []*graph.Value // carried values and sequences
	*capturing
}

// invariant takes the nodes from the body that read nothing of an iteration.
func (l *looping) invariant() (nodes []*graph.Node) {
	l.body.Nodes = slices.DeleteFunc(l.body.Nodes, func(n *graph.Node) bool {
		if !slices.ContainsFunc(n.In, func(v *graph.Value) bool { return l.inside[v] != nil }) {
			nodes = append(nodes, n)
			return true
		}
		for _, v := range n.Out {
			l.inside[v] = v
		}
		return false
	})
	return nodes
}

// dropSequences drops those that nothing reads, but the last one where its order is the loop's.
func (l *looping) dropSequences() {
	for k := l.Carried + l.Sequences - 1; k >= l.Carried && (!l.Reverse || l.Sequences > 1); k-- {
		if !l.reads(l.body.Inputs[k]) {
			l.body.Inputs, l.in = slices.Delete(l.body.Inputs, k, k+1), slices.Delete(l.in, k, k+1)
			l.Sequences--
		}
	}
}

// reads reports whether the body reads v or gives it.
func (l *looping) reads(v *graph.Value) bool {
	return slices.Contains(l.body.Outputs, v) || slices.ContainsFunc(l.body.Nodes, func(n *graph.Node) bool { return slices.Contains(n.In, v) })
}
