package frontend

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Cut makes values of the model its inputs or its outputs; of an empty list, the model's own stay. A value is named as the graph has it, by its node,
// or as NODE:K for result K of a node. Inputs of the model that outputs still need stay behind the ones that are given. An input that the
// file does not describe has the type that the import of the whole model, with o, finds for it, unless o has a shape for it; where that fails, it
// is float32 and its shape is to be given.
func (m *Model) Cut(inputs, outputs []string, o Options) error {
	if len(inputs)+len(outputs) == 0 {
		return nil
	}
	if m.Graph.Program != nil {
		return fmt.Errorf("a model of the format %s is a program: its values have no names that it could be cut at", m.Format)
	}
	if m.Reach != nil && len(outputs) > 0 {
		if err := m.Reach(outputs); err != nil {
			return fmt.Errorf("outputs: %w", err)
		}
	}
	g := *m.Graph
	c := cutting{g: &g, where: "the model", described: map[string]Info{}}
	for _, list := range [][]Info{g.Values, g.Outputs, g.Inputs} {
		for _, v := range list {
			c.described[v.Name] = v
		}
	}
	if len(outputs) > 0 {
		ends, err := c.infos(outputs)
		if err != nil {
			return fmt.Errorf("outputs: %w", err)
		}
		g.Outputs = ends
	}
	g.prune()
	c.where = "what the outputs need"
	if len(inputs) > 0 {
		given, err := c.infos(inputs)
		if err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
		m.describe(given, o)
		g.begin(given)
		names := g.prune()
		for _, in := range given {
			if !names[in.Name] {
				return fmt.Errorf("inputs: no output needs %q", in.Name)
			}
		}
	}
	m.Graph = &g
	return nil
}

// prune leaves what the outputs need, and returns the names that are read.
func (g *Graph) prune() map[string]bool {
	needed, names := g.needs()
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(in Info) bool { return !names[in.Name] })
	g.Params = slices.DeleteFunc(slices.Clone(g.Params), func(p Param) bool { return !names[p.Name] })
	var nodes []*Node
	for i, n := range g.Nodes {
		if needed[i] {
			nodes = append(nodes, n)
		}
	}
	g.Nodes = nodes
	return names
}

// begin makes values inputs: what computes them is not asked for them.
func (g *Graph) begin(given []Info) {
	is := map[string]bool{}
	for _, in := range given {
		is[in.Name] = true
	}
	rest := slices.DeleteFunc(slices.Clone(g.Inputs), func(in Info) bool { return is[in.Name] })
	g.Inputs = slices.Concat(given, rest)
	g.Params = slices.DeleteFunc(slices.Clone(g.Params), func(p Param) bool { return is[p.Name] })
	g.Nodes = slices.Clone(g.Nodes)
	for i, n := range g.Nodes {
		if slices.ContainsFunc(n.Out, func(name string) bool { return is[name] }) {
			without := *n
			without.Out = slices.Clone(n.Out)
			for k, name := range n.Out {
				if is[name] {
					without.Out[k] = ""
				}
			}
			g.Nodes[i] = &without
		}
	}
}

// A cutting finds the values of a graph.
type cutting struct {
	g         *Graph
	where     string // what it looks in, in words
	described map[string]Info
}

// infos are the values of names, each once.
func (c *cutting) infos(names []string) (list []Info, err error) {
	for _, name := range names {
		value, err := c.value(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(v Info) bool { return v.Name == value }) {
			return nil, fmt.Errorf("the value %q is given twice", value)
		}
		info, ok := c.described[value]
		if !ok {
			info = Info{Name: value, Spelt: "?"}
		}
		if name != value && !slices.Contains(info.Aliases, name) {
			info.Aliases = append(slices.Clone(info.Aliases), name)
		}
		list = append(list, info)
	}
	return list, nil
}

// value is the value that a name stands for.
func (c *cutting) value(name string) (string, error) {
	var values, nodes []string
	for _, in := range c.g.Inputs {
		if in.Name == name || slices.Contains(in.Aliases, name) {
			return in.Name, nil
		}
		values = append(values, in.Name)
	}
	for _, p := range c.g.Params {
		values = append(values, p.Name)
	}
	for _, n := range c.g.Nodes {
		values, nodes = append(values, n.Out...), append(nodes, n.Name)
	}
	if slices.Contains(values, name) {
		return name, nil
	}
	of, number := name, 0
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		if k, err := strconv.Atoi(name[at+1:]); err == nil && !slices.Contains(nodes, name) {
			of, number = name[:at], k
		}
	}
	for _, n := range c.g.Nodes {
		if of == "" || n.Name != of {
			continue
		}
		if number < 0 || number >= len(n.Out) || n.Out[number] == "" {
			return "", fmt.Errorf("%s has no result %d that is used", n.Label(), number)
		}
		return n.Out[number], nil
	}
	hint := ""
	if c.inside(c.g, name) {
		hint = ": it is within a function, a branch or a loop, where a model cannot be cut"
	} else {
		hint = spelling.Hint(name, slices.Compact(slices.Sorted(slices.Values(append(values, nodes...)))))
	}
	return "", fmt.Errorf("%s has no value and no node %q%s", c.where, name, hint)
}

// inside reports whether the name is that of a node, or of a value, in a body.
func (c *cutting) inside(g *Graph, name string) bool {
	for _, n := range g.Nodes {
		if g != c.g && (n.Name == name || slices.Contains(n.Out, name)) {
			return true
		}
		for _, sub := range n.Sub {
			if c.inside(sub, name) {
				return true
			}
		}
	}
	return false
}

// describe gives inputs that the file does not describe their types in the whole model.
func (m *Model) describe(given []Info, o Options) {
	var unknown []int
	for i, in := range given {
		if in.DType == types.Invalid || !in.Ranked {
			unknown = append(unknown, i)
		}
	}
	for i, t := range m.typesOf(given, unknown, o) {
		in := &given[i]
		if t == nil {
			if in.DType == types.Invalid {
				in.DType, in.Spelt = types.F32, "float32"
			}
			continue
		}
		in.DType, in.Spelt, in.Dims = t.DType, t.DType.String(), nil
		in.Ranked = !slices.ContainsFunc(append(slices.Clone(in.Aliases), in.Name), func(name string) bool { return o.Shapes[name] != nil })
		if !in.Ranked {
			continue
		}
		for _, d := range t.Shape {
			in.Dims = append(in.Dims, Dim{Value: int64(d)})
		}
	}
}

// typesOf are the types of some values in the whole model, nil where it cannot be imported as far as there.
func (m *Model) typesOf(values []Info, which []int, o Options) map[int]*types.Tensor {
	found := map[int]*types.Tensor{}
	for _, i := range which {
		found[i] = nil
	}
	probe := func(list []int) bool {
		g := *m.Graph
		g.Outputs = nil
		for _, i := range list {
			g.Outputs = append(g.Outputs, Info{Name: values[i].Name, Spelt: "?"})
		}
		out, err := Import(&Model{Format: m.Format, Graph: &g, Table: m.Table}, o.forInputs(g.Inputs))
		if err != nil {
			return false
		}
		for k, i := range list {
			found[i] = &out.Outputs[k].Type
		}
		return true
	}
	if len(which) == 0 || probe(which) || len(which) == 1 {
		return found
	}
	for _, i := range which {
		probe([]int{i})
	}
	return found
}

// forInputs are the options as far as they are about some inputs, without notes.
func (o Options) forInputs(inputs []Info) Options {
	other := func(name string) bool {
		return !slices.ContainsFunc(inputs, func(in Info) bool { return in.Name == name })
	}
	o.Notes, o.Control = nil, nil
	o.Shapes, o.Values = maps.Clone(o.Shapes), maps.Clone(o.Values)
	for name := range o.Shapes {
		if other(name) {
			delete(o.Shapes, name)
		}
	}
	for name := range o.Values {
		if other(name) {
			delete(o.Values, name)
		}
	}
	return o
}
