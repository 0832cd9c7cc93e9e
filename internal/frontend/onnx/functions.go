package onnx

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/tool/spelling"
)

// A functionKey identifies a local function, and a node that calls one.
type functionKey struct{ domain, name, overload string }

func (f *Function) key() functionKey { return functionKey{f.Domain, f.Name, f.Overload} }
func (n *Node) key() functionKey     { return functionKey{n.Domain, n.OpType, n.Overload} }

func functionIndex(functions []*Function) (map[functionKey]*Function, error) {
	index := make(map[functionKey]*Function, len(functions))
	for _, f := range functions {
		if index[f.key()] != nil {
			return nil, fmt.Errorf("function %q of domain %q is defined twice", f.Name, f.Domain)
		}
		index[f.key()] = f
	}
	return index, nil
}

// maxExpansion bounds what expanded functions may take in memory: functions that call each other twice can ask for
// exponentially many nodes.
const maxExpansion = 256 << 20

// Expand replaces every call of a local function by the nodes of the function, so that only operators remain.
// Values and nodes of a body get the name of the call in front, and a number behind where that is taken.
func Expand(m *Model) error { return expand(m, maxExpansion) }

func expand(m *Model, limit int) error {
	if len(m.Functions) == 0 {
		return nil
	}
	index, err := functionIndex(m.Functions)
	if err != nil {
		return err
	}
	if err := checkRecursion(m.Functions, index); err != nil {
		return err
	}
	x := &expander{index: index, room: &room{limit}, taken: map[string]bool{}, next: map[string]int{}}
	x.noteNames(m.Graph)
	if err := x.graph(m.Graph); err != nil {
		return err
	}
	m.Functions = nil
	return nil
}

// maxCalls bounds how deep calls of functions may nest.
const maxCalls = 256

// checkRecursion follows the calls between functions and names a cycle among them.
func checkRecursion(functions []*Function, index map[functionKey]*Function) error {
	const open = -1
	height := make(map[*Function]int, len(functions)) // of the calls below a function, once that is known
	var path []string
	var visit func(f *Function) error
	visit = func(f *Function) error {
		path = append(path, f.Name)
		defer func() { path = path[:len(path)-1] }()
		if height[f] == open {
			return fmt.Errorf("local functions call each other without end: %s", strings.Join(path[max(0, len(path)-8):], " -> "))
		}
		if height[f] > 0 {
			return nil
		}
		height[f] = open
		below := 0
		err := eachNode(f.Nodes, func(n *Node) error {
			callee := index[n.key()]
			if callee == nil {
				return nil
			}
			err := visit(callee)
			below = max(below, height[callee])
			return err
		})
		height[f] = below + 1
		if err == nil && max(below, len(path)) > maxCalls {
			err = fmt.Errorf("local functions call each other more than %d deep", maxCalls)
		}
		return err
	}
	for _, f := range functions {
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// eachNode calls f with every node, those of nested graphs included.
func eachNode(nodes []*Node, f func(*Node) error) error {
	for _, n := range nodes {
		if err := f(n); err != nil {
			return err
		}
		for i := range n.Attrs {
			for _, g := range n.Attrs[i].graphs() {
				if err := eachNode(g.Nodes, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// An expander carries what is shared by all expansions of a model.
type expander struct {
	index map[functionKey]*Function
	room  *room
	taken map[string]bool // names of values in use anywhere in the model
	next  map[string]int  // the number to try next for a name that is taken
}

// noteNames marks the names of a graph's values as taken.
func (x *expander) noteNames(g *Graph) {
	for _, v := range g.Inputs {
		x.taken[v.Name] = true
	}
	for _, t := range g.Initializers {
		x.taken[t.Name] = true
	}
	for _, t := range g.SparseInitializers {
		x.taken[t.Name()] = true
	}
	for _, n := range g.Nodes {
		for _, out := range n.Outputs {
			x.taken[out] = true
		}
		for i := range n.Attrs {
			for _, sub := range n.Attrs[i].graphs() {
				x.noteNames(sub)
			}
		}
	}
}

// fresh returns a name that no value has yet.
func (x *expander) fresh(prefix, name string) (string, error) {
	if err := x.room.take(len(prefix) + len(name) + 2*mapEntrySize); err != nil {
		return "", errExpansion
	}
	want := prefix + "/" + name
	got := want
	for x.taken[got] {
		x.next[want]++
		got = fmt.Sprintf("%s_%d", want, x.next[want])
	}
	x.taken[got] = true
	return got, nil
}

var errExpansion = errors.New("the local functions of the model expand to more nodes than fit into memory")

// graph expands the calls in a graph and in the graphs within it.
func (x *expander) graph(g *Graph) error {
	nodes, err := x.nodes(g.Nodes)
	if err != nil {
		return fmt.Errorf("graph %q: %w", g.Name, err)
	}
	g.Nodes = nodes
	return nil
}

func (x *expander) nodes(nodes []*Node) ([]*Node, error) {
	var out []*Node
	for _, n := range nodes {
		for i := range n.Attrs {
			for _, g := range n.Attrs[i].graphs() {
				if err := x.graph(g); err != nil {
					return nil, err
				}
			}
		}
		f := x.index[n.key()]
		if f == nil {
			out = append(out, n)
			continue
		}
		body, err := x.body(f, n)
		if err == nil {
			body, err = x.nodes(body)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Label(), err)
		}
		out = append(out, body...)
	}
	return out, nil
}

// body returns the nodes of f with the operands, attributes and name of a call put in.
func (x *expander) body(f *Function, call *Node) ([]*Node, error) {
	if len(call.Inputs) > len(f.Inputs) || len(call.Outputs) > len(f.Outputs) {
		return nil, fmt.Errorf("the call has %s and %s, the function %d and %d",
			spelling.Count(len(call.Inputs), "input"), spelling.Count(len(call.Outputs), "output"), len(f.Inputs), len(f.Outputs))
	}
	b := &binding{expander: x, call: call, function: f, prefix: call.Name}
	if b.prefix == "" {
		b.prefix = call.OpType
	}
	if x.room.take((len(f.Inputs)+len(f.Nodes)+4)*mapEntrySize) != nil {
		return nil, errExpansion
	}
	names := make(map[string]string, len(f.Inputs)+len(f.Nodes))
	for i, formal := range f.Inputs {
		names[formal] = "" // an optional input that the call leaves out
		if i < len(call.Inputs) {
			names[formal] = call.Inputs[i]
		}
	}
	var copies []*Node
	for i, actual := range call.Outputs {
		formal := f.Outputs[i]
		source, known := names[formal]
		switch {
		case actual == "":
		case !known:
			names[formal] = actual
		case source == "":
			return nil, fmt.Errorf("its output %q is the input %q that the call leaves out", actual, formal)
		default: // an input handed on, or one value handed out twice
			copies = append(copies, b.identity(source, actual))
		}
	}
	frame := &frame{names: names}
	nodes, err := b.nodes(f.Nodes, frame)
	return append(nodes, copies...), err
}
