package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

// maxTrips bounds the iterations of a Loop whose number is an operand of the body: a small file can ask for any.
const maxTrips = 1 << 20

// region adds a loop of the graph. It is none where the body needs to know which iteration it is in, where types change from
// one to the next, where extents depend on data, and where nothing does; then the graph is as it was.
func (c *call) region(a graph.LoopAttrs, in values, body func(in values) values) (out values, ok bool) {
	if c.unroll || a.Trips <= compose.FewTrips {
		return nil, false
	}
	g := c.Graph
	err := c.attempt(func() {
		out = c.Loop(a, in, c.tensors(body))
		loop := g.Nodes[len(g.Nodes)-1]
		c.checkRegion(loop)
		if a.Trips <= maxIterations && !slices.ContainsFunc(loop.In, func(v *graph.Value) bool { return v.Value() == nil }) {
			compose.Fail("it computes a constant, perhaps a shape")
		}
	})
	if err != nil {
		return nil, false
	}
	c.regions++
	c.becomes("runs as a loop of %s", spelling.Count(a.Trips, "iteration"))
	return out, true
}

// attempt adds what f adds, or nothing where that fails.
func (c *call) attempt(f func()) error {
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

// tensors is a body that fails where it gives a sequence.
func (c *call) tensors(body func(in values) values) func(in []*graph.Value) []*graph.Value {
	return func(in []*graph.Value) []*graph.Value {
		out := body(in)
		if slices.ContainsFunc(out, c.isList) {
			compose.Fail("a sequence is carried")
		}
		return out
	}
}

// checkRegion fails where a region reads or makes values whose extents depend on data.
func (c *call) checkRegion(n *graph.Node) {
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

// loopRegion is a Loop whose trip count is known and whose condition is always true.
func (c *call) loopRegion(body *Graph, trips int, condition *graph.Value, carried values) (values, bool) {
	if trips <= compose.FewTrips || trips > maxTrips || condition != nil && (condition.Value() == nil || !c.holds(condition)) || slices.ContainsFunc(carried, c.isList) {
		return nil, false
	}
	return c.region(graph.LoopAttrs{Trips: trips, Carried: len(carried), Sequences: 1}, append(slices.Clone(carried), c.Arange(trips)), func(in values) values {
		out := c.inline(body, append(values{in[len(carried)], c.trueOr(nil)}, in[:len(carried)]...))
		if v := out[0].Value(); v == nil || !c.holds(out[0]) {
			compose.Fail("the condition may end it")
		}
		return out[1:]
	})
}

// scanRegion is a Scan. A loop takes slices along axis 0, all in one order.
func (c *call) scanRegion(s scanning, states, sources values, length int) (values, bool) {
	a := graph.LoopAttrs{Trips: length, Carried: s.states, Sequences: s.inputs, Reverse: s.inReverse[0]}
	if length <= compose.FewTrips || c.unroll {
		return nil, false
	}
	before := len(c.Graph.Nodes)
	in := slices.Clone(states)
	for k, x := range sources {
		in = append(in, c.ordered(c.moved(x, s.inAxes[k], 0), s.inReverse[k] != a.Reverse))
	}
	out, ok := c.region(a, in, func(in values) values { return c.inline(s.body, in) })
	if !ok {
		c.Undo(before)
		return nil, false
	}
	for k := range s.outs {
		y := c.ordered(out[s.states+k], s.outReverse[k] != a.Reverse)
		out[s.states+k] = c.moved(y, 0, axis(s.outAxes[k], y.Type.Rank()))
	}
	return out, true
}

// moved is x with an axis in another place.
func (c *call) moved(x *graph.Value, from, to int) *graph.Value {
	if from == to {
		return x
	}
	var axes []int
	for i := range x.Type.Rank() {
		if i != from {
			axes = append(axes, i)
		}
	}
	return c.Transpose(x, slices.Insert(axes, to, from)...)
}

// ordered is x, or x from its last slice to the first.
func (c *call) ordered(x *graph.Value, reverse bool) *graph.Value {
	if !reverse {
		return x
	}
	return c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: []int{0}}, x)
}
