package onnx

import (
	"errors"
	"fmt"
)

// check verifies the form of a model, puts nodes into topological order and gives each its operator set version: every
// value is defined once and before its uses, in its own graph or one around it, and every operator domain is imported.
// It does not look at what operators mean.
func check(m *Model, r *room) error {
	if err := r.take(2 * mapEntrySize * len(m.Functions)); err != nil {
		return err
	}
	local, err := functionIndex(m.Functions)
	if err != nil {
		return err
	}
	for _, f := range m.Functions {
		c := checker{room: r, opsets: f.Opsets, local: local, body: true}
		if err := c.function(f); err != nil {
			return fmt.Errorf("function %q: %w", f.Name, err)
		}
	}
	c := checker{room: r, opsets: m.Opsets, local: local}
	return c.graph(m.Graph, nil)
}

type checker struct {
	room   *room
	opsets map[string]int
	local  map[functionKey]*Function
	body   bool // of a function, where attributes may refer to parameters
}

// A scope holds the names that one graph defines while its nodes are visited in file order.
type scope struct {
	around    *scope
	defs      map[string]int32 // index of the defining node; given for inputs and initializers
	current   int32            // node being visited
	edges     []edge
	unordered bool // some node uses a later one's output
}

// given stands for a value that is there before the first node.
const given = -1

// An edge says that node to uses an output of node from.
type edge struct{ from, to int32 }

func (c *checker) graph(g *Graph, around *scope) error {
	if err := c.scopeOf(g, around); err != nil {
		return fmt.Errorf("graph %q: %w", g.Name, err)
	}
	return nil
}

func (c *checker) scopeOf(g *Graph, around *scope) error {
	s, err := c.open(around, len(g.Inputs)+len(g.Initializers)+len(g.SparseInitializers), len(g.Outputs), g.Nodes)
	if err != nil {
		return err
	}
	for _, v := range g.Inputs {
		if err := s.define(v.Name, given, "input"); err != nil {
			return err
		}
	}
	if err := s.defineInitializers(g); err != nil {
		return err
	}
	outputs := make([]string, len(g.Outputs))
	for i, v := range g.Outputs {
		outputs[i] = v.Name
	}
	return c.nodes(s, g.Nodes, outputs)
}

func (c *checker) function(f *Function) error {
	s, err := c.open(nil, len(f.Inputs), len(f.Outputs), f.Nodes)
	if err != nil {
		return err
	}
	for _, name := range f.Inputs {
		if err := s.define(name, given, "input"); err != nil {
			return err
		}
	}
	return c.nodes(s, f.Nodes, f.Outputs)
}

// open makes the scope of a graph with so many given values and so many outputs.
func (c *checker) open(around *scope, given, outputs int, nodes []*Node) (*scope, error) {
	names, uses := given, 0
	for _, n := range nodes {
		names += len(n.Outputs)
		uses += len(n.Inputs)
	}
	perUse := 8
	if around != nil {
		perUse = 32 // the edge may be noted in a graph around this one, in a slice that has to grow
	}
	if err := c.room.take((names+given+1)*mapEntrySize + uses*perUse + outputs*16); err != nil {
		return nil, err
	}
	return &scope{around: around, defs: make(map[string]int32, names), edges: make([]edge, 0, uses)}, nil
}

func (s *scope) define(name string, at int32, what string) error {
	if name == "" {
		return fmt.Errorf("an %s has no name", what)
	}
	if _, ok := s.defs[name]; ok {
		return fmt.Errorf("value %q is defined twice", name)
	}
	s.defs[name] = at
	return nil
}

// defineInitializers adds the initializers, which may share their names with inputs but not with each other.
func (s *scope) defineInitializers(g *Graph) error {
	names := make(map[string]bool, len(g.Initializers)+len(g.SparseInitializers))
	add := func(name string) error {
		if name == "" {
			return errors.New("an initializer has no name")
		}
		if names[name] {
			return fmt.Errorf("initializer %q is defined twice", name)
		}
		names[name] = true
		s.defs[name] = given
		return nil
	}
	for _, t := range g.Initializers {
		if err := add(t.Name); err != nil {
			return err
		}
	}
	for _, t := range g.SparseInitializers {
		if err := add(t.Name()); err != nil {
			return err
		}
	}
	return nil
}

// nodes checks the nodes of a scope whose given values are defined, and sorts them where that is needed.
func (c *checker) nodes(s *scope, nodes []*Node, outputs []string) error {
	for i, n := range nodes {
		for _, out := range n.Outputs {
			if out == "" {
				continue // an optional output that nobody wants
			}
			if err := s.define(out, int32(i), "output"); err != nil {
				return fmt.Errorf("%s: %w", n.Label(), err)
			}
		}
	}
	for i, n := range nodes {
		s.current = int32(i)
		if err := c.node(s, n); err != nil {
			return fmt.Errorf("%s: %w", n.Label(), err)
		}
	}
	s.current = int32(len(nodes))
	for _, out := range outputs {
		if out == "" {
			return errors.New("an output has no name")
		}
		if !s.use(out) {
			return fmt.Errorf("output %q is not defined by any node, input or initializer", out)
		}
	}
	if !s.unordered {
		return nil
	}
	return sortNodes(nodes, s.edges, c.room)
}

func (c *checker) node(s *scope, n *Node) error {
	version, imported := c.opsets[n.Domain]
	_, local := c.local[n.key()]
	switch {
	case local:
	case !imported && n.Domain == "":
		return errors.New("the opset_import of ai.onnx is missing, so the operator's version is unknown")
	case !imported:
		return fmt.Errorf("the opset_import of its domain %q is missing, so the operator's version is unknown", n.Domain)
	default:
		n.Version = version
	}
	for _, in := range n.Inputs {
		if in != "" && !s.use(in) {
			return fmt.Errorf("input %q is not defined by any node, input or initializer", in)
		}
	}
	for i := range n.Attrs {
		if n.Attrs[i].Ref != "" && !c.body {
			return fmt.Errorf("attribute %q refers to parameter %q of a function, outside of any", n.Attrs[i].Name, n.Attrs[i].Ref)
		}
		for _, g := range n.Attrs[i].graphs() {
			if err := c.graph(g, s); err != nil {
				return fmt.Errorf("attribute %q: %w", n.Attrs[i].Name, err)
			}
		}
	}
	return nil
}

// use finds a value from the current node of s outwards and notes the dependency in the scope that defines it.
func (s *scope) use(name string) bool {
	for ; s != nil; s = s.around {
		at, ok := s.defs[name]
		if !ok {
			continue
		}
		if at != given {
			s.edges = append(s.edges, edge{at, s.current})
			s.unordered = s.unordered || at >= s.current
		}
		return true
	}
	return false
}
