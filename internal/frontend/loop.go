package frontend

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

const (
	// MaxIterations bounds how far a loop is unrolled.
	MaxIterations = 1024
	// maxTrips bounds the iterations of a loop whose number is an operand: a small file can ask for any.
	maxTrips = 1 << 20
	// defaultLoopBound is how many slices the stacked results of a loop have at most whose model does not say.
	defaultLoopBound = 1024
)

// A Loop is a body that runs while a condition holds, and a number of times at most.
type Loop struct {
	Trips     *graph.Value // at most; nil: any number
	Condition *graph.Value // before the first iteration; nil: true
	Carried   []*graph.Value
	Slices    []Info // what each iteration adds to the stacked results, as the model declares it
	Counts    bool   // the body looks at the number of its iteration
	// Body takes the number of the iteration, the condition and the carried values; it gives the condition of the next iteration, its
	// carried values, and a slice of each stacked result.
	Body func(in []*graph.Value) []*graph.Value
}

// depends is an operand that is not known and says how often the loop runs, or nil.
func (l Loop) depends() *graph.Value {
	for _, v := range []*graph.Value{l.Trips, l.Condition} {
		if v != nil && v.Value() == nil {
			return v
		}
	}
	return nil
}

// RunLoop gives the carried values behind the last iteration, then the stacked results. The loop becomes one of the graph, is
// unrolled where iterations differ by more than their data, or runs until its condition is false.
func (c *Call) RunLoop(l Loop) []*graph.Value {
	if d := l.depends(); d != nil && !c.unroll {
		out, err := c.whileRegion(l)
		if err != nil {
			compose.Fail("how often it runs depends on input data, and it is no loop: %w%s", err, c.FixHint(d))
		}
		return out
	}
	trips := -1
	if l.Trips != nil {
		trips = max(0, c.trips(l.Trips))
	}
	if out, ok := c.loopRegion(l, trips); ok {
		return out
	}
	var out []*graph.Value
	c.unrolls++
	err := c.attempt(func() { out = c.unrolled(l, trips) })
	if c.unrolls--; err == nil {
		return out
	}
	if c.full && c.unrolls > 0 { // the outermost loop that does not unroll is one
		compose.Fail("%w", err)
	}
	c.full = false
	if !c.unroll && !slices.ContainsFunc(l.Carried, c.isList) {
		if out, failed := c.whileRegion(l); failed == nil {
			return out
		}
	}
	compose.Fail("%w", err)
	return nil
}

// trips is the value of the trip count.
func (c *Call) trips(v *graph.Value) int {
	switch t := v.Value(); {
	case t == nil:
		compose.Fail("the trip count (%q) depends on input data, which is not supported%s", v.Name, c.FixHint(v))
	case !t.DType.IsInt():
		compose.Fail("the trip count is %s; it must be integers", t.DType)
	case t.Len() != 1:
		compose.Fail("the trip count has %s instead of one", spelling.Count(t.Len(), "element"))
	}
	return v.Value().Ints()[0]
}

// unrolled is a loop one iteration after the other, where it is known when it ends.
func (c *Call) unrolled(l Loop, trips int) []*graph.Value {
	condition, carried := l.Condition, slices.Clone(l.Carried)
	if condition == nil && trips < 0 {
		compose.Fail("an endless loop is not supported")
	}
	stacks := make([][]*graph.Value, len(l.Slices))
	i := 0
	defer func() { c.Becomes("is unrolled, %s (at most %d are)", spelling.Count(i, "iteration"), MaxIterations) }()
	scanned := 1 + len(carried)
	for ; trips < 0 || i < trips; i++ {
		if condition != nil && !c.holds(condition) {
			break
		}
		if i == MaxIterations {
			compose.Fail("a loop of more than %s is not supported", spelling.Count(MaxIterations, "iteration"))
		}
		out := l.Body(l.operands(i, condition, carried))
		if condition != nil || out[0].Value() == nil || out[0].Value().Int(0) == 0 {
			condition = out[0]
		}
		carried = out[1:scanned]
		for k, v := range out[scanned:] {
			stacks[k] = append(stacks[k], v)
		}
	}
	if i == 0 {
		in := l.operands(0, condition, l.Carried)
		return append(slices.Clone(carried), c.EmptyStacks(l.Slices, nil, func() []*graph.Value { return l.Body(in)[scanned:] })...)
	}
	return append(slices.Clone(carried), c.Stacks(stacks, nil, nil)...)
}

// operands are those of the body in iteration i.
func (l Loop) operands(i int, condition *graph.Value, carried []*graph.Value) []*graph.Value {
	return append([]*graph.Value{compose.Const(tensor.Scalar(int64(i))), trueOr(condition)}, carried...)
}

// holds reports whether a loop goes on.
func (c *Call) holds(condition *graph.Value) bool {
	t := condition.Value()
	if t == nil || t.Len() != 1 {
		compose.Fail("the condition of the loop depends on input data, which is not supported%s", c.FixHint(condition))
	}
	return t.Int(0) != 0
}

func trueOr(condition *graph.Value) *graph.Value {
	if condition != nil {
		return condition
	}
	return compose.Number(types.Bool, 1)
}

// Loops reports whether a loop of so many iterations may stay one.
func (c *Call) Loops(trips int) bool { return !c.unroll && trips > compose.FewTrips }

// Region adds a loop of the graph. It is none where the body needs to know which iteration it is in, where types change from
// one to the next, where extents depend on data, and where nothing does; then the graph is as it was.
func (c *Call) Region(a graph.LoopAttrs, in []*graph.Value, body func(in []*graph.Value) []*graph.Value) (out []*graph.Value, ok bool) {
	if !c.Loops(a.Trips) {
		return nil, false
	}
	g := c.Graph
	err := c.attempt(func() {
		out = c.Loop(a, in, func(in []*graph.Value) []*graph.Value { return c.tensors(body(in)) })
		loop := g.Nodes[len(g.Nodes)-1]
		c.checkRegion(loop)
		if a.Trips <= MaxIterations && !slices.ContainsFunc(loop.In, func(v *graph.Value) bool { return v.Value() == nil }) {
			compose.Fail("it computes a constant, perhaps a shape")
		}
	})
	if err != nil {
		return nil, false
	}
	c.regions++
	c.Becomes("runs as a loop of %s", spelling.Count(a.Trips, "iteration"))
	return out, true
}

// loopRegion is a loop whose trip count is known and whose condition is always true.
func (c *Call) loopRegion(l Loop, trips int) ([]*graph.Value, bool) {
	if trips <= compose.FewTrips || trips > maxTrips || l.Condition != nil && (l.Condition.Value() == nil || !c.holds(l.Condition)) || slices.ContainsFunc(l.Carried, c.isList) {
		return nil, false
	}
	n := len(l.Carried)
	return c.Region(graph.LoopAttrs{Trips: trips, Carried: n, Sequences: 1}, append(slices.Clone(l.Carried), c.Arange(trips)), func(in []*graph.Value) []*graph.Value {
		out := l.Body(append([]*graph.Value{in[n], trueOr(nil)}, in[:n]...))
		if v := out[0].Value(); v == nil || !c.holds(out[0]) {
			compose.Fail("the condition may end it")
		}
		return out[1:]
	})
}

// whileRegion adds a loop that runs as long as its condition holds. Its stacked results have as many slices as it ran, and so many
// at most as the model says, or the options.
func (c *Call) whileRegion(l Loop) (out []*graph.Value, err error) {
	stacked, most := len(l.Slices) > 0, l.Trips
	a := graph.LoopAttrs{While: true}
	if most != nil {
		most = c.Cast(c.Scalar(most), types.I64)
		if v := most.Value(); v != nil && v.Int(0) <= maxTrips {
			a.Trips = max(int(v.Int(0)), 1)
			if v.Int(0) > 0 {
				most = nil // the loop counts itself
			}
		} else if v != nil {
			most = nil // more than any loop runs
		}
	}
	if bound := c.opts.LoopBound; stacked && bound > 0 && (a.Trips == 0 || a.Trips > bound) {
		a.Trips, a.Strict = bound, true
	} else if stacked && a.Trips == 0 {
		a.Trips, a.Strict = defaultLoopBound, true
	}
	counts := most != nil || l.Counts
	in := []*graph.Value{c.Scalar(trueOr(l.Condition))}
	if most != nil {
		in[0] = c.Do(ops.LogicalAnd, in[0], c.Do(ops.Greater, most, compose.Number(types.I64, 0)))
	}
	if counts {
		in = append(in, compose.Number(types.I64, 0))
	}
	own := len(in)
	in = append(in, l.Carried...)
	a.Carried = len(in)
	g := c.Graph
	err = c.attempt(func() {
		out = c.Loop(a, in, func(in []*graph.Value) []*graph.Value {
			i := compose.Number(types.I64, 0)
			if counts {
				i = in[1]
			}
			out := c.tensors(l.Body(append([]*graph.Value{i, trueOr(nil)}, in[own:]...)))
			goes := c.Scalar(out[0])
			if v := goes.Value(); v != nil && v.Int(0) != 0 && most == nil && (a.Trips == 0 || a.Strict) {
				compose.Fail("an endless loop is not supported")
			}
			next := []*graph.Value{goes}
			if counts {
				next = append(next, c.Do(ops.Add, i, compose.Number(types.I64, 1)))
			}
			if most != nil {
				next[0] = c.Do(ops.LogicalAnd, goes, c.Do(ops.Less, next[1], most))
			}
			return append(next, out[1:]...)
		})
		c.checkRegion(g.Nodes[len(g.Nodes)-1])
	})
	if err != nil {
		return nil, err
	}
	c.regions++
	c.Becomes("runs as a loop until its condition ends it")
	if a.Strict && c.opts.LoopBound == 0 {
		c.Note("%s: how often it runs depends on data, and its stacked results have room for %s (--loop-bound)", c.Node.Label(), spelling.Count(a.Trips, "iteration"))
	}
	return out[own : len(out)-1], nil
}
