package onnx

import "fmt"

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
