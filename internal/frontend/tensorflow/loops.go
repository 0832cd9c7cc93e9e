package tensorflow

import (
	"fmt"
	"slices"

	"lathe/internal/frontend"
)

// loop adds the loop that an Exit leaves, with all of its exits.
func (r *region) loop(exit *vertex) error {
	f, err := r.frameOf(exit)
	if err != nil {
		return err
	}
	n := &frontend.Node{Op: "While", Name: f.name}
	var inputs []ref
	var next []ref
	var before []string
	out := make([]string, len(f.merges))
	for i, m := range f.merges {
		var init, again *ref
		for k := range m.data {
			if w := r.vertices[m.data[k].node]; w != nil && w.isOp("NextIteration") {
				again = &m.data[k]
			} else {
				init = &m.data[k]
			}
		}
		if init == nil || again == nil {
			return fmt.Errorf("node %q of loop %q does not merge one Enter and one NextIteration", m.name, f.name)
		}
		inputs = append(inputs, ref{node: m.name})
		next = append(next, *again)
		name, err := r.operandOf(*init)
		if err != nil {
			return err
		}
		before = append(before, name)
		for _, e := range f.exits {
			if from, err := r.carried(e); err == nil && from == m.name {
				out[i] = r.value(ref{node: e.name})
				r.done[e.name] = finished
			}
		}
	}
	inside := func(v *vertex) bool { return v.frame.within(f) }
	goes, err := r.inner(f.name+"/cond", inputs, inside, []ref{f.goes.data[0]})
	if err == nil {
		n.Sub = append(n.Sub, goes)
		var body *frontend.Graph
		if body, err = r.inner(f.name+"/body", inputs, inside, next); err == nil {
			n.Sub = append(n.Sub, body)
		}
	}
	if err != nil {
		return err
	}
	n.In, n.Out = before, out
	n.Attrs = attributes{node: &node{}, bodies: map[string]*frontend.Graph{"cond": n.Sub[0], "body": n.Sub[1]}}
	r.g.Nodes = append(r.g.Nodes, n)
	return nil
}

// frameOf is the loop that an Exit leaves.
func (r *region) frameOf(exit *vertex) (*frame, error) {
	for _, f := range r.frames {
		if slices.Contains(f.exits, exit) {
			if f.goes == nil || len(f.goes.data) == 0 {
				return nil, fmt.Errorf("loop %q has no condition (LoopCond)", f.name)
			}
			slices.SortFunc(f.merges, func(a, b *vertex) int { return a.place - b.place })
			return f, nil
		}
	}
	return nil, fmt.Errorf("node %q (Exit) leaves no loop", exit.name)
}

// carried is the Merge of the value that an Exit gives.
func (r *region) carried(exit *vertex) (string, error) {
	x, err := exit.operand(0)
	if err != nil {
		return "", err
	}
	x, err = r.resolve(x)
	return x.node, err
}
