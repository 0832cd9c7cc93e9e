package tensorflow

import (
	"cmp"
	"fmt"
	"slices"
)

// A guard says that a node runs only where a predicate is true, or false.
type guard struct {
	predicate ref
	side      bool
}

// A frame is a loop of TensorFlow 1. Enter brings values in; a Merge of an Enter and a NextIteration is a value that it carries, which
// Switch sends on into the body, or to an Exit where the predicate, of the LoopCond, is false.
type frame struct {
	name   string
	around *frame
	depth  int
	merges []*vertex
	exits  []*vertex
	goes   *vertex // LoopCond
}

// within reports whether f is g or in it.
func (f *frame) within(g *frame) bool {
	for ; f != nil; f = f.around {
		if f == g {
			return true
		}
	}
	return g == nil
}

// trace finds the guards of a vertex and the frame whose iterations it takes part in, those of what it reads first.
func (l *level) trace(v *vertex) error {
	switch v.state {
	case finished:
		return nil
	case started:
		return fmt.Errorf("node %q depends on itself", v.name)
	}
	v.state = started
	inputs := make([]string, 0, len(v.data)+len(v.control))
	for _, x := range v.data {
		inputs = append(inputs, x.node)
	}
	inputs = append(inputs, v.control...)
	seen := map[guard]int{}
	for _, name := range inputs {
		w := l.vertices[name]
		if w == nil || w.isOp("NextIteration") && v.isOp("Merge") {
			continue
		}
		if err := l.trace(w); err != nil {
			return err
		}
		if w.frame != nil && (v.frame == nil || w.frame.depth > v.frame.depth) {
			v.frame = w.frame
		}
	}
	for _, x := range v.data { // what passes a Switch is guarded by its side
		w := l.vertices[x.node]
		if w == nil || w.isOp("NextIteration") && v.isOp("Merge") {
			continue
		}
		for _, g := range l.guardsBehind(w, x.at) {
			seen[g]++
		}
	}
	for _, name := range v.control {
		if w := l.vertices[name]; w != nil {
			for _, g := range l.guardsBehind(w, 0) {
				seen[g]++
			}
		}
	}
	if err := l.enter(v); err != nil {
		return err
	}
	for g := range seen {
		if !v.isOp("Merge") || l.loopMerge(v) || seen[guard{g.predicate, !g.side}] == 0 {
			v.guards = append(v.guards, g)
		}
	}
	slices.SortFunc(v.guards, func(a, b guard) int {
		return cmp.Or(cmp.Compare(a.predicate.node, b.predicate.node), cmp.Compare(a.predicate.at, b.predicate.at), compareBool(a.side, b.side))
	})
	v.state = finished
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// guardsBehind are the guards of what reads a result of w.
func (l *level) guardsBehind(w *vertex, at int) []guard {
	if !w.isOp("Switch") || len(w.data) < 2 {
		return w.guards
	}
	p, err := l.predicate(w)
	if err != nil || l.vertices[p.node] != nil && l.vertices[p.node].isOp("LoopCond") {
		return w.guards
	}
	return append(slices.Clone(w.guards), guard{p, at == 1})
}

// predicate is what a Switch asks, without copies in between.
func (l *level) predicate(w *vertex) (ref, error) {
	p, err := w.operand(1)
	for range len(l.order) {
		v := l.vertices[p.node]
		if err != nil || v == nil || v.op != "Identity" || len(v.data) == 0 {
			break
		}
		p = v.data[0]
	}
	return p, err
}

// loopMerge reports whether a Merge carries a value of a loop.
func (l *level) loopMerge(v *vertex) bool {
	return slices.ContainsFunc(v.data, func(x ref) bool { w := l.vertices[x.node]; return w != nil && w.isOp("NextIteration") })
}

// enter settles what a vertex is for its frame.
func (l *level) enter(v *vertex) error {
	switch {
	case v.isOp("Enter"):
		name, err := attributes{node: v.node}.Str("frame_name")
		if err != nil {
			return fmt.Errorf("node %q: %w", v.name, err)
		}
		f := l.frames[name]
		if f == nil {
			f = &frame{name: name, around: v.frame, depth: 1}
			if v.frame != nil {
				f.depth = v.frame.depth + 1
			}
			l.frames[name] = f
		}
		if f.depth > maxDepth {
			return fmt.Errorf("loops are nested more than %d deep", maxDepth)
		}
		v.frame = f
	case v.frame == nil:
	case v.isOp("Exit"):
		v.frame.exits = append(v.frame.exits, v)
		v.frame = v.frame.around
	case v.isOp("LoopCond"):
		v.frame.goes = v
	case v.isOp("Merge") && l.loopMerge(v):
		v.frame.merges = append(v.frame.merges, v)
	}
	return nil
}
