package tensorflow

import (
	"fmt"
	"maps"
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
)

// A region is a part of a level that becomes one graph of the driver: all of it, the body of a loop, or a branch. What it reads
// and does not hold is read from the region around it by name.
type region struct {
	*level
	g      *frontend.Graph
	inside func(v *vertex) bool
	done   map[string]int // values that are there, or being made
	free   []ref          // values from outside
	depth  int
}

const (
	started = 1 + iota
	finished
)

// maxDepth bounds how bodies nest.
const maxDepth = 64

// outputs makes the region compute values.
func (r *region) outputs(list []ref) error {
	for _, out := range list {
		out, err := r.resolve(out)
		if err != nil {
			return err
		}
		if err := r.visit(out); err != nil {
			return err
		}
		r.g.Outputs = append(r.g.Outputs, frontend.Info{Name: r.value(out), Spelt: "?"})
	}
	return nil
}

// visit adds the node of a value, and before it what it depends on.
func (r *region) visit(x ref) error {
	if r.done[x.String()] == finished {
		return nil
	}
	v := r.vertices[x.node]
	if v == nil {
		return fmt.Errorf("there is no node %.200q, which another one reads", x.node)
	}
	if !r.inside(v) {
		r.done[x.String()] = finished
		r.free = append(r.free, x)
		return nil
	}
	switch r.done[v.name] {
	case started:
		return fmt.Errorf("node %q depends on itself", v.name)
	case finished:
		r.done[x.String()] = finished
		return nil
	}
	r.done[v.name] = started
	if err := r.add(v); err != nil {
		return err
	}
	r.done[v.name], r.done[x.String()] = finished, finished
	return nil
}

// add adds the node of a vertex.
func (r *region) add(v *vertex) error {
	switch {
	case v.isOp("Exit"):
		return r.loop(v)
	case v.isOp("Merge"):
		return r.choice(v)
	}
	if p, ok, err := r.param(v); ok || err != nil {
		if err == nil {
			r.g.Params = append(r.g.Params, p)
		}
		return err
	}
	n := &frontend.Node{Op: v.op, Name: v.name}
	a := attributes{node: v.node}
	for _, x := range v.data {
		x, err := r.operandOf(x)
		if err != nil {
			return err
		}
		n.In = append(n.In, x)
	}
	for k := range v.results {
		n.Out = append(n.Out, r.value(ref{v.name, k}))
	}
	var err error
	if n.Op, a.bodies, err = r.bodies(v.node); err != nil {
		return fmt.Errorf("node %q: %w", v.name, err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.bodies)) {
		n.Sub = append(n.Sub, a.bodies[name])
	}
	n.Attrs = a
	r.g.Nodes = append(r.g.Nodes, n)
	return nil
}

// operandOf makes the region compute a value and is its name.
func (r *region) operandOf(x ref) (string, error) {
	x, err := r.resolve(x)
	if err != nil {
		return "", err
	}
	return r.value(x), r.visit(x)
}

// param is the constant that a vertex is.
func (r *region) param(v *vertex) (p frontend.Param, ok bool, err error) {
	name := r.value(ref{node: v.name})
	if v.training() {
		return frontend.Constant(name, tensor.Scalar(false)), true, nil
	}
	switch v.op {
	case "Const", "HostConst":
		x, err := attributes{node: v.node}.value("value", 8, "a tensor")
		if err != nil {
			return p, true, fmt.Errorf("constant %q: %w", v.name, err)
		}
		c, err := readConstant(x.Data)
		if err != nil {
			return p, true, fmt.Errorf("constant %q: %w", v.name, err)
		}
		return c.param(name), true, nil
	case "VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable":
		p, err := r.variable(v.node, name)
		return p, true, err
	}
	return p, false, nil
}

// inner is a region within this one.
func (r *region) inner(name string, inputs []ref, inside func(v *vertex) bool, outputs []ref) (*frontend.Graph, error) {
	sub := &region{level: r.level, g: &frontend.Graph{Name: name}, done: map[string]int{}, inside: inside, depth: r.depth + 1}
	if sub.depth > maxDepth {
		return nil, fmt.Errorf("control flow is nested more than %d deep", maxDepth)
	}
	for _, in := range inputs {
		sub.done[in.String()] = finished
		sub.g.Inputs = append(sub.g.Inputs, frontend.Info{Name: r.value(in)})
	}
	if err := sub.outputs(outputs); err != nil {
		return nil, err
	}
	for _, x := range sub.free { // the region around gives them
		if err := r.visit(x); err != nil {
			return nil, err
		}
	}
	return sub.g, nil
}
