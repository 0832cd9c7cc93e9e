package onnx

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// defaultLoopBound is how many slices the stacked results of a loop have at most whose model does not say.
const defaultLoopBound = 1024

// branches runs one of two graphs where that depends on data. It is none where their results differ in type, and where extents depend on data.
func (c *call) branches(condition *graph.Value, yes, no *Graph) (out values, err error) {
	if c.unroll {
		return nil, fmt.Errorf("regions are not kept")
	}
	g := c.Graph
	err = c.attempt(func() {
		inline := func(sub *Graph) func() []*graph.Value {
			return func() []*graph.Value { return c.tensors(func(values) values { return c.inline(sub, nil) })(nil) }
		}
		out = c.If(condition, inline(yes), inline(no))
		c.checkRegion(g.Nodes[len(g.Nodes)-1])
	})
	if err == nil {
		c.regions++
		c.becomes("runs the branch that its condition takes")
	}
	return out, err
}

// A whileLoop is a Loop whose end depends on data.
type whileLoop struct {
	body      *Graph
	most      *graph.Value // trip count; nil: none
	condition *graph.Value // nil: true
	carried   values
}

// depends is an operand that is not known and says how often the loop runs, or nil.
func (w whileLoop) depends() *graph.Value {
	for _, v := range []*graph.Value{w.most, w.condition} {
		if v != nil && v.Value() == nil {
			return v
		}
	}
	return nil
}

// whileRegion adds a loop that runs as long as its condition holds. Its stacked results have as many slices as it ran, and so many
// at most as the model says, or the options.
func (c *call) whileRegion(w whileLoop) (out values, err error) {
	stacked := len(w.body.Outputs) - 1 - len(w.carried)
	a := graph.LoopAttrs{While: true}
	if w.most != nil {
		w.most = c.Cast(c.scalar(w.most), types.I64)
		if v := w.most.Value(); v != nil && v.Int(0) <= maxTrips {
			a.Trips = max(int(v.Int(0)), 1)
			if v.Int(0) > 0 {
				w.most = nil // the loop counts itself
			}
		} else if v != nil {
			w.most = nil // more than any loop runs
		}
	}
	if bound := c.opts.LoopBound; stacked > 0 && bound > 0 && (a.Trips == 0 || a.Trips > bound) {
		a.Trips, a.Strict = bound, true
	} else if stacked > 0 && a.Trips == 0 {
		a.Trips, a.Strict = defaultLoopBound, true
	}
	counts := w.most != nil || reads(w.body, w.body.Inputs[0].Name)
	in := values{c.scalar(c.trueOr(w.condition))}
	if w.most != nil {
		in[0] = c.Do(ops.LogicalAnd, in[0], c.Do(ops.Greater, w.most, compose.Number(types.I64, 0)))
	}
	if counts {
		in = append(in, compose.Number(types.I64, 0))
	}
	own := len(in)
	in = append(in, w.carried...)
	a.Carried = len(in)
	g := c.Graph
	err = c.attempt(func() {
		out = c.Loop(a, in, c.tensors(func(in values) values {
			i := compose.Number(types.I64, 0)
			if counts {
				i = in[1]
			}
			out := c.inline(w.body, append(values{i, c.trueOr(nil)}, in[own:]...))
			goes := c.scalar(out[0])
			if v := goes.Value(); v != nil && v.Int(0) != 0 && w.most == nil && (a.Trips == 0 || a.Strict) {
				compose.Fail("an endless loop is not supported")
			}
			next := values{goes}
			if counts {
				next = append(next, c.Do(ops.Add, i, compose.Number(types.I64, 1)))
			}
			if w.most != nil {
				next[0] = c.Do(ops.LogicalAnd, goes, c.Do(ops.Less, next[1], w.most))
			}
			return append(next, out[1:]...)
		}))
		c.checkRegion(g.Nodes[len(g.Nodes)-1])
	})
	if err != nil {
		return nil, err
	}
	c.regions++
	c.becomes("runs as a loop until its condition ends it")
	if a.Strict && c.opts.LoopBound == 0 {
		c.note(fmt.Sprintf("%s: how often it runs depends on data, and its stacked results have room for %s (--loop-bound)", c.node.Label(), spelling.Count(a.Trips, "iteration")))
	}
	return out[own : len(out)-1], nil
}

// reads reports whether a node of g, those in its sub-graphs included, reads the value of a name.
func reads(g *Graph, name string) bool {
	wanted := map[string]bool{}
	for _, n := range g.Nodes {
		wantOperands(n, wanted)
	}
	return wanted[name] || slices.ContainsFunc(g.Outputs, func(o ValueInfo) bool { return o.Name == name })
}
