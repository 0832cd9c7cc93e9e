package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/op"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Verify reports the first thing that is wrong with g, naming the node and the model's nodes it came from:
//   - an operand or output that is no input, no constant and no result of an earlier node of the same graph;
//   - a node, value or sub-graph that is in two places, or a result that does not know its node;
//   - a type that is malformed, or whose element type or shape is not what inference finds;
//   - a constant or known value whose bytes do not fit its type; bytes are in plain order whatever the layout;
//   - operands and sub-graphs that do not match;
//   - inputs without a name, inputs or outputs of one name. Sub-graphs are connected by place and need no names.
func Verify(g *Graph) error {
	v := verifier{owner: map[*Value]*Graph{}, nodes: map[*Node]bool{}, graphs: map[*Graph]bool{}, consts: map[*Value]bool{}}
	if err := v.graph(g); err != nil {
		return err
	}
	if err := checkNames(g); err != nil {
		return fmt.Errorf("graph %q: %w", g.Name, err)
	}
	return nil
}

func checkNames(g *Graph) error {
	if i := slices.IndexFunc(g.Inputs, func(v *Value) bool { return v.Name == "" }); i >= 0 {
		return fmt.Errorf("input %d has no name", i)
	}
	if name := twice(g.Inputs); name != "" {
		return fmt.Errorf("two inputs are named %q", name)
	}
	if name := twice(g.Outputs); name != "" {
		return fmt.Errorf("two outputs are named %q", name)
	}
	return nil
}

// twice returns a name that two of the values have, or "".
func twice(values []*Value) string {
	seen := map[string]bool{}
	for _, v := range values {
		if v.Name != "" && seen[v.Name] {
			return v.Name
		}
		seen[v.Name] = true
	}
	return ""
}

type verifier struct {
	owner  map[*Value]*Graph // of the inputs and results met so far
	nodes  map[*Node]bool
	graphs map[*Graph]bool
	consts map[*Value]bool
}

func (v *verifier) graph(g *Graph) error {
	if g == nil {
		return errors.New("no graph")
	}
	if err := v.contents(g); err != nil {
		return fmt.Errorf("graph %q: %w", g.Name, err)
	}
	return nil
}

func (v *verifier) contents(g *Graph) error {
	if v.graphs[g] {
		return errors.New("the graph is in two places")
	}
	v.graphs[g] = true
	for i, in := range g.Inputs {
		if err := v.input(g, in); err != nil {
			return fmt.Errorf("input %d%s: %w", i, label(in), err)
		}
	}
	for i, n := range g.Nodes {
		if err := v.node(g, n); err != nil {
			return fmt.Errorf("node %d %s: %w", i, describe(n), err)
		}
	}
	for i, o := range g.Outputs {
		if err := v.use(g, o); err != nil {
			return fmt.Errorf("output %d%s %w", i, label(o), err)
		}
	}
	return nil
}

// describe names a node in errors: operator, first result and the model's nodes.
func describe(n *Node) string {
	if n == nil || n.Op == nil {
		return "without operator"
	}
	s := n.Op.Name
	if len(n.Out) > 0 {
		s += label(n.Out[0])
	}
	if len(n.Origin) > 0 {
		s += fmt.Sprintf(" (from %s)", strings.Join(n.Origin, ", "))
	}
	return s
}

// label is " %name", or nothing for values without a name.
func label(v *Value) string {
	if v == nil || v.Name == "" {
		return ""
	}
	return " %" + v.Name
}

func (v *verifier) input(g *Graph, in *Value) error {
	switch {
	case in == nil:
		return errors.New("no value")
	case in.Def != nil || in.Const != nil:
		return errors.New("the result of a node or a constant where a value without definition is expected")
	}
	return v.claim(g, in)
}

// claim records that in is defined in g.
func (v *verifier) claim(g *Graph, in *Value) error {
	if v.owner[in] != nil {
		return errors.New("the value is defined in two places")
	}
	v.owner[in] = g
	return in.Type.Check()
}

// use checks that g may read in here. Errors continue the name of the value.
func (v *verifier) use(g *Graph, in *Value) error {
	if in == nil {
		return errors.New("is no value")
	}
	if in.Const != nil {
		return v.constant(in)
	}
	switch owner := v.owner[in]; {
	case owner == g:
		return nil
	case owner != nil:
		return fmt.Errorf("belongs to graph %q: other graphs get at it through their inputs only", owner.Name)
	case in.Def == nil:
		return errors.New("is no input of the graph, no constant and no result of a node")
	case slices.Contains(g.Nodes, in.Def):
		return errors.New("is used before the node that computes it")
	}
	return fmt.Errorf("is the result of a node that is not in the graph: %s", describe(in.Def))
}

func (v *verifier) constant(c *Value) error {
	if v.consts[c] {
		return nil
	}
	v.consts[c] = true
	if err := c.Type.Check(); err != nil {
		return fmt.Errorf("is a constant: %w", err)
	}
	switch t := c.Const; {
	case c.Def != nil:
		return errors.New("is both a constant and the result of a node")
	case t.DType != c.Type.DType || !slices.Equal(t.Shape, c.Type.Shape):
		return fmt.Errorf("is a constant of type %s with elements of type %s", c.Type, t.Type())
	case t.Size() != c.Type.With("").Bytes():
		return fmt.Errorf("is a constant of type %s with %s instead of %d", c.Type, spelling.Count(t.Size(), "byte"), c.Type.With("").Bytes())
	}
	return nil
}

func (v *verifier) node(g *Graph, n *Node) error {
	switch {
	case n == nil:
		return errors.New("no node")
	case n.Op == nil:
		return errors.New("no operator")
	case v.nodes[n]:
		return errors.New("the node is in two places")
	case len(n.Out) == 0:
		return errors.New("no results")
	}
	v.nodes[n] = true
	for i, in := range n.In {
		if err := v.use(g, in); err != nil {
			return fmt.Errorf("operand %d%s %w", i, label(in), err)
		}
	}
	for i, out := range n.Out {
		if err := v.result(g, n, i, out); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	for i, sub := range n.Sub {
		if err := v.graph(sub); err != nil {
			return fmt.Errorf("sub-graph %d: %w", i, err)
		}
	}
	if rule := structural(n.Op.Name); rule != nil {
		return rule(n)
	}
	if len(n.Sub) > 0 {
		return fmt.Errorf("%d sub-graphs in a node whose operator has none", len(n.Sub))
	}
	if n.Op.Infer == nil {
		return errors.New("the operator has no inference")
	}
	return n.checkInference()
}

func (v *verifier) result(g *Graph, n *Node, i int, out *Value) error {
	switch {
	case out == nil:
		return errors.New("no value")
	case out.Def != n || out.Index != i:
		return errors.New("the value does not name this node and place as its definition")
	case out.Const != nil:
		return errors.New("the value is a constant")
	}
	if err := v.claim(g, out); err != nil {
		return err
	}
	if k := out.Known; k != nil && (!sameValueType(k.Type(), out.Type) || k.Size() != k.Type().Bytes()) {
		return fmt.Errorf("type %s, but a known value of type %s in %s", out.Type, k.Type(), spelling.Count(k.Size(), "byte"))
	}
	return nil
}

// sameValueType compares what the operator decides: layouts are chosen freely.
func sameValueType(a, b types.Tensor) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape)
}

// checkInference compares the result types with what inference finds, and leaves n as it is.
func (n *Node) checkInference() error {
	args := make([]op.Arg, len(n.In))
	for i, in := range n.In {
		args[i] = op.Arg{Tensor: in.Type.With(""), Value: in.Value()}
	}
	outs, err := n.Op.Infer(n.Attrs, args)
	if err != nil {
		return err
	}
	if len(outs) != len(n.Out) {
		return fmt.Errorf("%s instead of %d", spelling.Count(len(n.Out), "result"), len(outs))
	}
	for i, t := range outs {
		if !sameValueType(t, n.Out[i].Type) {
			return fmt.Errorf("result %d has type %s, inference finds %s", i, n.Out[i].Type, t)
		}
	}
	return nil
}
