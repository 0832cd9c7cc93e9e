package tensorflow

import (
	"fmt"
	"slices"

	"lathe/internal/frontend"
)

// choice adds what a Merge chooses by a predicate, with other values that are chosen by it.
func (r *region) choice(m *vertex) error {
	if r.loopMerge(m) {
		return fmt.Errorf("node %q (Merge) of a loop is read from outside", m.name)
	}
	p, yes, no, err := r.sides(m)
	if err != nil {
		return err
	}
	n := &frontend.Node{Op: "If", Name: m.name, Out: []string{r.value(ref{node: m.name})}}
	yesSide, noSide := []ref{yes}, []ref{no}
	for _, other := range r.order { // Merges behind the same Switches, that do not depend on each other
		if other == m || !other.isOp("Merge") || !r.need[other] || r.done[other.name] != 0 || !r.inside(other) || r.loopMerge(other) {
			continue
		}
		q, a, b, err := r.sides(other)
		if err != nil || q != p || !slices.Equal(other.guards, m.guards) || r.choices(p, other) != r.choices(p, m) {
			continue
		}
		n.Out = append(n.Out, r.value(ref{node: other.name}))
		yesSide, noSide = append(yesSide, a), append(noSide, b)
		r.done[other.name] = started
		defer func() { r.done[other.name] = finished }()
	}
	condition, err := r.operandOf(p)
	if err != nil {
		return err
	}
	n.In = []string{condition}
	branch := func(name string, side bool, outputs []ref) error {
		g, err := r.inner(m.name+"/"+name, nil, func(v *vertex) bool { return r.inside(v) && slices.Contains(v.guards, guard{p, side}) }, outputs)
		n.Sub = append(n.Sub, g)
		return err
	}
	if err := branch("then", true, yesSide); err != nil {
		return err
	}
	if err := branch("else", false, noSide); err != nil {
		return err
	}
	n.Attrs = attributes{node: &node{}, bodies: map[string]*frontend.Graph{"then_branch": n.Sub[0], "else_branch": n.Sub[1]}}
	r.g.Nodes = append(r.g.Nodes, n)
	return nil
}

// sides are the predicate of a Merge, and its operands where that is true and false.
func (l *level) sides(m *vertex) (p, yes, no ref, err error) {
	if len(m.data) != 2 {
		return p, yes, no, fmt.Errorf("node %q (Merge) has %d operands, which is not supported", m.name, len(m.data))
	}
	guards := func(x ref) []guard {
		if w := l.vertices[x.node]; w != nil {
			return l.guardsBehind(w, x.at)
		}
		return nil
	}
	first, second := guards(m.data[0]), guards(m.data[1])
	for _, g := range slices.Backward(first) {
		if !slices.Contains(second, guard{g.predicate, !g.side}) {
			continue
		}
		if g.side {
			return g.predicate, m.data[0], m.data[1], nil
		}
		return g.predicate, m.data[1], m.data[0], nil
	}
	return p, yes, no, fmt.Errorf("node %q (Merge) joins values that no Switch parted, which is not supported", m.name)
}

// choices is how many Merges of a predicate there are on a way to v, at most.
func (l *level) choices(p ref, v *vertex) int {
	if l.chosen == nil {
		l.chosen = map[ref]map[*vertex]int{}
	}
	known := l.chosen[p]
	if known == nil {
		known = map[*vertex]int{}
		l.chosen[p] = known
	}
	if n, ok := known[v]; ok {
		return n
	}
	known[v] = 0 // of a loop
	n := 0
	for _, x := range v.data {
		if w := l.vertices[x.node]; w != nil && !w.isOp("NextIteration") {
			n = max(n, l.choices(p, w))
		}
	}
	if v.isOp("Merge") && !l.loopMerge(v) {
		if q, _, _, err := l.sides(v); err == nil && q == p {
			n++
		}
	}
	known[v] = n
	return n
}
