package onnx

import (
	"errors"
	"fmt"
	"strings"
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
		return nil, fmt.Errorf("the call has %d inputs and %d outputs, the function %d and %d",
			len(call.Inputs), len(call.Outputs), len(f.Inputs), len(f.Outputs))
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

// A binding is one call being expanded.
type binding struct {
	*expander
	call     *Node
	function *Function
	prefix   string
}

// A frame maps the names of a function body, or of a graph within it, to those of the expansion.
type frame struct {
	around *frame
	names  map[string]string
}

func (f *frame) lookup(name string) (string, bool) {
	for ; f != nil; f = f.around {
		if to, ok := f.names[name]; ok {
			return to, true
		}
	}
	return "", false
}

// identity hands a value on under another name.
func (b *binding) identity(from, to string) *Node {
	version := b.function.Opsets[""]
	return &Node{Name: b.prefix + "/" + to, OpType: "Identity", Version: max(version, 1), Inputs: []string{from}, Outputs: []string{to}}
}

// nodes copies nodes with the frame's names. The outputs are named before the first use, since the frame's map
// decides what a name means.
func (b *binding) nodes(nodes []*Node, f *frame) ([]*Node, error) {
	for _, n := range nodes {
		for _, out := range n.Outputs {
			if err := b.define(f, out); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*Node, 0, len(nodes))
	for _, n := range nodes {
		copied, err := b.node(n, f)
		if err != nil {
			return nil, err
		}
		out = append(out, copied)
	}
	return out, nil
}

// define gives a value of the body a name in the expansion, unless it has one.
func (b *binding) define(f *frame, name string) (err error) {
	if _, ok := f.names[name]; ok || name == "" {
		return nil
	}
	f.names[name], err = b.fresh(b.prefix, name)
	return err
}

func (b *binding) node(n *Node, f *frame) (*Node, error) {
	c := *n
	label := n.Name
	if label == "" {
		label = n.OpType
	}
	size := 160 + len(b.prefix) + len(label) + 16*(len(n.Inputs)+len(n.Outputs)) + 64*len(n.Attrs)
	if b.room.take(size) != nil {
		return nil, errExpansion
	}
	c.Name = b.prefix + "/" + label
	c.Inputs = make([]string, len(n.Inputs))
	for i, name := range n.Inputs {
		c.Inputs[i], _ = f.lookup(name)
	}
	c.Outputs = make([]string, len(n.Outputs))
	for i, name := range n.Outputs {
		c.Outputs[i], _ = f.lookup(name)
	}
	c.Attrs = make([]Attr, 0, len(n.Attrs))
	for _, a := range n.Attrs {
		bound, ok, err := b.attr(a, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Label(), err)
		}
		if ok {
			c.Attrs = append(c.Attrs, bound)
		}
	}
	return &c, nil
}

// attr copies an attribute, with the value of the parameter that it refers to, if any. A reference to a parameter
// that has no value removes the attribute, so that the operator's own default holds.
func (b *binding) attr(a Attr, f *frame) (Attr, bool, error) {
	if a.Ref != "" {
		value := b.call.Attr(a.Ref)
		for i := range b.function.Defaults {
			if d := &b.function.Defaults[i]; value == nil && d.Name == a.Ref {
				value = d
			}
		}
		if value == nil {
			return a, false, nil
		}
		if a.Type != 0 && value.Type != a.Type {
			return a, false, fmt.Errorf("attribute %q is of type %s, its parameter %q of type %s", a.Name, a.Type, a.Ref, value.Type)
		}
		// The graphs of a value are of the caller's scope and keep their names.
		bound := *value
		bound.Name = a.Name
		return bound, true, nil
	}
	var err error
	switch v := a.value.(type) {
	case *Graph:
		a.value, err = b.graph(v, f)
	case []*Graph:
		list := make([]*Graph, len(v))
		for i, g := range v {
			if list[i], err = b.graph(g, f); err != nil {
				break
			}
		}
		a.value = list
	}
	return a, true, err
}

// graph copies a graph of the body. What it defines gets names of its own; what it uses may come from around it.
func (b *binding) graph(g *Graph, around *frame) (*Graph, error) {
	parts := len(g.Inputs) + len(g.Outputs) + len(g.ValueInfo) + len(g.Initializers) + len(g.SparseInitializers)
	if b.room.take(256+parts*mapEntrySize) != nil {
		return nil, errExpansion
	}
	f := &frame{around: around, names: map[string]string{}}
	c := &Graph{Name: g.Name}
	for _, v := range g.Inputs {
		if err := b.define(f, v.Name); err != nil {
			return nil, err
		}
	}
	for _, t := range g.Initializers {
		if err := b.define(f, t.Name); err != nil {
			return nil, err
		}
		named := *t
		named.Name = f.names[t.Name]
		c.Initializers = append(c.Initializers, &named)
	}
	for _, t := range g.SparseInitializers {
		if err := b.define(f, t.Name()); err != nil {
			return nil, err
		}
		values := *t.Values
		values.Name = f.names[t.Name()]
		c.SparseInitializers = append(c.SparseInitializers, &SparseTensor{&values, t.Indices, t.Dims})
	}
	var err error
	if c.Nodes, err = b.nodes(g.Nodes, f); err != nil {
		return nil, err
	}
	c.Inputs, c.Outputs, c.ValueInfo = f.rename(g.Inputs), f.rename(g.Outputs), f.rename(g.ValueInfo)
	for _, v := range c.Outputs {
		if v.Name == "" {
			return nil, fmt.Errorf("graph %q hands out an input that the call leaves out", g.Name)
		}
	}
	return c, nil
}

// rename gives values their names in the expansion.
func (f *frame) rename(values []ValueInfo) []ValueInfo {
	out := make([]ValueInfo, len(values))
	for i, v := range values {
		out[i] = v
		out[i].Name, _ = f.lookup(v.Name)
	}
	return out
}
