package frontend

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

// Control flow is resolved here: the branch that a known condition takes is inlined, loops of a known length become loops of the
// graph, or are unrolled where iterations differ by more than their data. A condition that depends on input data runs one
// branch, or computes both and selects: operators are total and have no side effects.

// maxDepth bounds how bodies nest.
const maxDepth = 64

// Inline converts a body in place, with its inputs bound to values, and returns its outputs.
func (c *Call) Inline(g *Graph, inputs []*graph.Value) []*graph.Value {
	if len(inputs) != len(g.Inputs) {
		compose.Fail("graph %q has %s instead of %d", g.Name, spelling.Count(len(g.Inputs), "input"), len(inputs))
	}
	e := &env{around: c.env, values: map[string]*graph.Value{}}
	for i, in := range g.Inputs {
		e.values[in.Name] = inputs[i]
	}
	if c.depth++; c.depth > maxDepth {
		compose.Fail("control flow is nested more than %d deep", maxDepth)
	}
	defer func() { c.depth-- }()
	origin := c.Origin
	if err := c.body(g, e); err != nil {
		compose.Fail("%w", err)
	}
	c.Origin = origin
	var out []*graph.Value
	for _, o := range g.Outputs {
		v := e.lookup(o.Name)
		if v == nil {
			compose.Fail("graph %q: output %q has no value", g.Name, o.Name)
		}
		out = append(out, v)
	}
	return out
}

// Becomes tells what becomes of the node.
func (c *Call) Becomes(format string, args ...any) {
	node, operator, text := c.Node.Origin(), c.Node.Op, fmt.Sprintf(format, args...)
	c.told = append(c.told, func() { c.opts.Control(node, operator, text) })
}

// Branch runs one of two bodies. The names are those of their attributes, for messages.
func (c *Call) Branch(condition *graph.Value, yes, no string, inputs []*graph.Value) []*graph.Value {
	bodies := [2]*Graph{c.Body(yes), c.Body(no)}
	if known := condition.Value(); known != nil {
		if known.Len() != 1 {
			compose.Fail("the condition has %s instead of one", spelling.Count(known.Len(), "element"))
		}
		if known.Int(0) != 0 {
			c.Becomes("takes %s, always", yes)
			return c.Inline(bodies[0], inputs)
		}
		c.Becomes("takes %s, always", no)
		return c.Inline(bodies[1], inputs)
	}
	inline := func(sub *Graph) func() []*graph.Value {
		return func() []*graph.Value { return c.Inline(sub, inputs) }
	}
	return c.Either(condition, inline(bodies[0]), inline(bodies[1]))
}

// Either runs what yes adds where a condition, one truth value that depends on data, holds, and what no adds elsewhere, or computes both and
// selects where their results differ in type.
func (c *Call) Either(condition *graph.Value, yes, no func() []*graph.Value) []*graph.Value {
	condition = c.Scalar(condition)
	if out, err := c.branches(condition, yes, no); err == nil {
		return out
	}
	c.Becomes("computes both branches and selects")
	a, b := yes(), no()
	if len(a) != len(b) {
		compose.Fail("its branches have %d and %s", len(a), spelling.Count(len(b), "output"))
	}
	out := make([]*graph.Value, len(a))
	for i := range a {
		out[i] = c.selected(condition, a[i], b[i], i)
	}
	return out
}

// branches keeps both bodies, of which a run takes one. It fails where their results differ in type, and where extents depend on data.
func (c *Call) branches(condition *graph.Value, yes, no func() []*graph.Value) (out []*graph.Value, err error) {
	if c.unroll {
		return nil, errors.New("regions are not kept")
	}
	g := c.Graph
	err = c.attempt(func() {
		out = c.If(condition, func() []*graph.Value { return c.tensors(yes()) }, func() []*graph.Value { return c.tensors(no()) })
		c.checkRegion(g.Nodes[len(g.Nodes)-1])
	})
	if err == nil {
		c.regions++
		c.Becomes("runs the branch that its condition takes")
	}
	return out, err
}

// selected is a where condition holds and b elsewhere.
func (c *Call) selected(condition, a, b *graph.Value, i int) *graph.Value {
	switch {
	case a == b:
		return a
	case c.isList(a) || c.isList(b):
		compose.Fail("output %d is a sequence chosen by a condition that depends on input data, which is not supported", i)
	case !a.Type.Equal(b.Type):
		compose.Fail("its condition depends on input data, and output %d is %s in one branch and %s in the other, which is not supported%s", i, a.Type, b.Type, c.FixHint(condition))
	}
	return c.Do(ops.Where, condition, a, b)
}

// Attempt adds what f adds, or nothing where that fails.
func (c *Call) Attempt(f func()) error { return c.attempt(f) }

// Outer is the value of a name that a body of the node may read from around it, nil where there is none.
func (c *Call) Outer(name string) *graph.Value { return c.env.lookup(name) }

// attempt adds what f adds, or nothing where that fails.
func (c *Call) attempt(f func()) error {
	g, before, left, origin, told, depth := c.Graph, len(c.Graph.Nodes), c.nodes, c.Origin, len(c.told), c.depth
	err := compose.Try(f)
	if err != nil {
		c.Undo(before)
		c.nodes, c.Origin, c.told, c.depth = left, origin, c.told[:told], depth
		if c.dynamic.seen[g] > before {
			c.dynamic.seen[g] = before
		}
	}
	return err
}

// tensors is what a body gives, which must not hold a sequence.
func (c *Call) tensors(out []*graph.Value) []*graph.Value {
	if slices.ContainsFunc(out, c.isList) {
		compose.Fail("a sequence is carried")
	}
	return out
}

// checkRegion fails where a region reads or makes values whose extents depend on data.
func (c *Call) checkRegion(n *graph.Node) {
	if slices.ContainsFunc(n.In, func(v *graph.Value) bool { return c.dynamic.values[v] }) || hasDynamic(n) {
		compose.Fail("extents depend on data")
	}
}

func hasDynamic(region *graph.Node) bool {
	return slices.ContainsFunc(region.Sub, func(g *graph.Graph) bool {
		return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool {
			return n.IsRegion() && hasDynamic(n) || len(compose.DynamicResults(n)) > 0
		})
	})
}
