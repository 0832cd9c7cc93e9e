package tensorflow

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/frontend"
)

// A level is the nodes of a graph or of a function, with the control flow of TensorFlow 1 among them: Switch sends its operand
// to one of its results, Merge gives the operand that comes, and a loop is a frame of nodes between Enter and Exit.
type level struct {
	*builder
	vertices map[string]*vertex
	order    []*vertex
	frames   map[string]*frame
	numbered bool              // values are called "node:0" instead of "node"
	named    map[string]string // names that inputs have for the user
	need     map[*vertex]bool  // vertices that outputs depend on
	chosen   map[ref]map[*vertex]int
}

// A vertex is a node whose inputs are parsed.
type vertex struct {
	*node
	place   int // in the file
	data    []ref
	control []string
	results int // that are read

	state  int // of the walk that finds guards and frames
	guards []guard
	frame  *frame // nil outside of loops
}

// newLevel parses the inputs of nodes.
func (b *builder) newLevel(nodes []*node) (*level, error) {
	l := &level{builder: b, vertices: map[string]*vertex{}, frames: map[string]*frame{}}
	for i, n := range nodes {
		if l.vertices[n.name] != nil {
			return nil, fmt.Errorf("two nodes have the name %q", n.name)
		}
		v := &vertex{node: n, place: i, results: 1}
		l.vertices[n.name] = v
		l.order = append(l.order, v)
	}
	for _, v := range l.order {
		for _, text := range v.in {
			if c, ok := strings.CutPrefix(text, "^"); ok {
				v.control = append(v.control, c)
				continue
			}
			r, err := l.refer(text)
			if err != nil {
				return nil, fmt.Errorf("node %q: %w", v.name, err)
			}
			v.data = append(v.data, r)
		}
	}
	return l, nil
}

// refer parses the name of a value, which is read.
func (l *level) refer(text string) (ref, error) {
	r, err := parseRef(text, func(name string) string {
		if v := l.vertices[name]; v != nil {
			return v.op
		}
		return ""
	})
	if v := l.vertices[r.node]; v != nil && err == nil {
		v.results = max(v.results, r.at+1)
	}
	return r, err
}

// operand is input i of a vertex.
func (v *vertex) operand(i int) (ref, error) {
	if i >= len(v.data) {
		return ref{}, fmt.Errorf("%s %q has %d operands", v.op, v.name, len(v.data))
	}
	return v.data[i], nil
}

// isOp reports whether the operator is one of names, or its form for variables of old graphs.
func (v *vertex) isOp(names ...string) bool {
	for _, n := range names {
		if v.op == n || v.op == "Ref"+n {
			return true
		}
	}
	return false
}

// value is the name that a result has in the graph that the driver gets.
func (l *level) value(r ref) string {
	if name, ok := l.named[r.String()]; ok {
		return name
	}
	if l.numbered {
		return fmt.Sprintf("%s:%d", r.node, r.at)
	}
	return r.String()
}

// resolve follows what only passes a value on to where it comes from.
func (l *level) resolve(r ref) (ref, error) {
	for range len(l.order) + 1 {
		v := l.vertices[r.node]
		if v == nil || !v.isOp("Switch", "Enter", "NextIteration", "LoopCond") {
			return r, nil
		}
		from, err := v.operand(0)
		if err != nil {
			return r, err
		}
		r = from
	}
	return r, fmt.Errorf("node %q depends on itself", r.node)
}

// needed marks the nodes that outputs depend on. Of those in stop, what they depend on is not.
func (l *level) needed(outputs []ref, stop func(v *vertex) bool) map[*vertex]bool {
	seen := map[*vertex]bool{}
	todo := slices.Clone(outputs)
	for len(todo) > 0 {
		v := l.vertices[todo[len(todo)-1].node]
		todo = todo[:len(todo)-1]
		if v == nil || seen[v] {
			continue
		}
		seen[v] = true
		if !stop(v) {
			todo = append(todo, v.data...)
		}
	}
	return seen
}

// graph makes the driver's graph of the values that outputs depend on, of which the inputs are given.
func (l *level) graph(name string, inputs []frontend.Info, given []ref, outputs []ref) (*frontend.Graph, error) {
	r := &region{level: l, g: &frontend.Graph{Name: name, Inputs: inputs}, done: map[string]int{}, inside: func(*vertex) bool { return true }}
	for _, x := range outputs {
		if v := l.vertices[x.node]; v != nil {
			v.results = max(v.results, x.at+1)
		}
	}
	stops := map[string]bool{}
	for _, x := range given {
		r.done[x.String()] = finished
		stops[x.node] = true
	}
	l.need = l.needed(outputs, func(v *vertex) bool { return stops[v.name] })
	flows := false
	for v := range l.need {
		flows = flows || v.isOp("Switch", "Merge", "Enter")
	}
	if flows {
		for _, v := range l.order {
			if l.need[v] {
				if err := l.trace(v); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := r.outputs(outputs); err != nil {
		return nil, err
	}
	return r.g, nil
}
