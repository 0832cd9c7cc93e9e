package onnx

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Control flow is resolved here: the branch that a known condition takes is inlined, loops of a known length become loops of the
// graph, or are unrolled where iterations differ by more than their data. A condition that depends on input data computes both
// branches and selects: operators are total and have no side effects.
var controlRows = []row{
	{"If", "", 1, ifElse}, {"Loop", "", 1, loop}, {"Scan", "", 8, scanBatched}, {"Scan", "", 9, scan},
}

// maxIterations bounds how far a loop is unrolled.
const maxIterations = 1024

// inline converts a sub-graph in place, with its inputs bound to values, and returns its outputs.
func (c *call) inline(g *Graph, inputs values) values {
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
	var out values
	for _, o := range g.Outputs {
		v := e.lookup(o.Name)
		if v == nil {
			compose.Fail("graph %q: output %q has no value", g.Name, o.Name)
		}
		out = append(out, v)
	}
	return out
}

func ifElse(c *call) values {
	yes, no := c.attrGraph("then_branch"), c.attrGraph("else_branch")
	if known := c.x(0).Value(); known != nil {
		if known.Len() != 1 {
			compose.Fail("the condition has %s instead of one", spelling.Count(known.Len(), "element"))
		}
		if known.Int(0) != 0 {
			c.becomes("takes then_branch, always")
			return c.inline(yes, nil)
		}
		c.becomes("takes else_branch, always")
		return c.inline(no, nil)
	}
	condition := c.scalar(c.x(0))
	if out, err := c.branches(condition, yes, no); err == nil {
		return out
	}
	c.becomes("computes both branches and selects")
	a, b := c.inline(yes, nil), c.inline(no, nil)
	if len(a) != len(b) {
		compose.Fail("its branches have %d and %s", len(a), spelling.Count(len(b), "output"))
	}
	out := make(values, len(a))
	for i := range a {
		out[i] = c.selected(condition, a[i], b[i], i)
	}
	return out
}

// becomes tells what becomes of the node.
func (c *call) becomes(format string, args ...any) {
	node, operator, text := c.node.describeFirst(), c.node.OpType, fmt.Sprintf(format, args...)
	c.told = append(c.told, func() { c.opts.Control(node, operator, text) })
}

// selected is a where condition holds and b elsewhere.
func (c *call) selected(condition, a, b *graph.Value, i int) *graph.Value {
	switch {
	case a == b:
		return a
	case c.isList(a) || c.isList(b):
		compose.Fail("output %d is a sequence chosen by a condition that depends on input data, which is not supported", i)
	case !a.Type.Equal(b.Type):
		compose.Fail("its condition depends on input data, and output %d is %s in one branch and %s in the other, which is not supported%s", i, a.Type, b.Type, c.fixHint(condition))
	}
	return c.Do(ops.Where, condition, a, b)
}

// loop becomes a loop of the graph, is unrolled where iterations differ by more than their data, or runs until its condition is false.
func loop(c *call) values {
	body := c.attrGraph("body")
	w := whileLoop{body: body, most: c.opt(0), condition: c.opt(1), carried: slices.Clone(c.in[min(2, len(c.in)):])}
	if len(body.Outputs) < 1+len(w.carried) {
		compose.Fail("the body has %s for %s", spelling.Count(len(body.Outputs), "output"), spelling.Count(len(w.carried), "carried value"))
	}
	if len(body.Inputs) != 2+len(w.carried) {
		compose.Fail("the body has %s for %s", spelling.Count(len(body.Inputs), "input"), spelling.Count(len(w.carried), "carried value"))
	}
	if w.depends() != nil && !c.unroll {
		out, err := c.whileRegion(w)
		if err != nil {
			compose.Fail("how often it runs depends on input data, and it is no loop: %w%s", err, c.fixHint(w.depends()))
		}
		return out
	}
	trips := -1
	if c.present(0) {
		trips = max(0, c.knownInt(0, "the trip count"))
	}
	if out, ok := c.loopRegion(body, trips, w.condition, w.carried); ok {
		return out
	}
	var out values
	c.unrolls++
	err := c.attempt(func() { out = c.unrolled(body, trips, w.condition, slices.Clone(w.carried)) })
	if c.unrolls--; err == nil {
		return out
	}
	if c.full && c.unrolls > 0 { // the outermost loop that does not unroll is one
		compose.Fail("%w", err)
	}
	c.full = false
	if !c.unroll && !slices.ContainsFunc(w.carried, c.isList) {
		if out, failed := c.whileRegion(w); failed == nil {
			return out
		}
	}
	compose.Fail("%w", err)
	return nil
}

// unrolled is a loop one iteration after the other, where it is known when it ends.
func (c *call) unrolled(body *Graph, trips int, condition *graph.Value, carried values) values {
	if condition == nil && trips < 0 {
		compose.Fail("an endless loop is not supported")
	}
	stacks := make([]values, len(body.Outputs)-1-len(carried))
	first, i := slices.Clone(carried), 0
	defer func() { c.becomes("is unrolled, %s (at most %d are)", spelling.Count(i, "iteration"), maxIterations) }()
	for ; trips < 0 || i < trips; i++ {
		if condition != nil && !c.holds(condition) {
			break
		}
		if i == maxIterations {
			compose.Fail("a loop of more than %s is not supported", spelling.Count(maxIterations, "iteration"))
		}
		inputs := append(values{compose.Const(scalarInt(i)), c.trueOr(condition)}, carried...)
		out := c.inline(body, inputs)
		if condition != nil || out[0].Value() == nil || out[0].Value().Int(0) == 0 {
			condition = out[0]
		}
		carried = out[1 : 1+len(carried)]
		for k, v := range out[1+len(carried):] {
			stacks[k] = append(stacks[k], v)
		}
	}
	scanned := 1 + len(carried)
	if i == 0 {
		in := append(values{compose.Const(scalarInt(0)), c.trueOr(condition)}, first...)
		return append(slices.Clone(carried), c.emptyStacks(body.Outputs[scanned:], nil, func() values { return c.inline(body, in)[scanned:] })...)
	}
	return append(slices.Clone(carried), c.stacked(stacks, nil, nil)...)
}

// holds reports whether a loop goes on.
func (c *call) holds(condition *graph.Value) bool {
	t := condition.Value()
	if t == nil || t.Len() != 1 {
		compose.Fail("the condition of the loop depends on input data, which is not supported%s", c.fixHint(condition))
	}
	return t.Int(0) != 0
}

func (c *call) trueOr(condition *graph.Value) *graph.Value {
	if condition != nil {
		return condition
	}
	return compose.Number(types.Bool, 1)
}

// stacked joins the slices that the iterations of a loop or scan gave. axes and reversed, where there are any, say along
// which axis and whether the last slice comes first.
func (c *call) stacked(stacks []values, axes []int, reversed []bool) values {
	var out values
	for k, steps := range stacks {
		for _, v := range steps {
			if c.isList(v) {
				compose.Fail("a sequence as a scan output is not supported")
			}
			if !v.Type.Equal(steps[0].Type) {
				compose.Fail("scan output %d is %s in one iteration and %s in another", k, steps[0].Type, v.Type)
			}
		}
		at := 0
		if axes != nil {
			at = axis(axes[k], steps[0].Type.Rank()+1)
		}
		if reversed != nil && reversed[k] {
			slices.Reverse(steps)
		}
		out = append(out, c.Stack(at, steps...))
	}
	return out
}

// emptyStacks are the scan outputs of a loop or scan without iterations, along axes, where there are any. slice gives one
// of each as the body would, whose types count, for a model need not declare them; where the body can't be converted, the declared
// types do.
func (c *call) emptyStacks(infos []ValueInfo, axes []int, slice func() values) (out values) {
	var of []types.Tensor
	dropped := errors.New("the body does not run")
	err := c.attempt(func() {
		for _, v := range slice() {
			if c.isList(v) {
				compose.Fail("a sequence as a scan output is not supported")
			}
			of = append(of, v.Type)
		}
		compose.Fail("%w", dropped)
	})
	for k, info := range infos {
		t := c.declared(info)
		if errors.Is(err, dropped) {
			t = &of[k]
		}
		if t == nil {
			compose.Fail("scan output %q of a loop without iterations has no declared type, and the body gives none: %w", info.Name, err)
		}
		at := 0
		if axes != nil {
			at = axis(axes[k], t.Rank()+1)
		}
		out = append(out, c.Full(t.DType, 0, slices.Insert(slices.Clone(t.Shape), at, 0)...))
	}
	return out
}

// declared is the type that a model gives a value, with extents of zero where it leaves them open, or nil.
func (c *call) declared(info ValueInfo) *types.Tensor {
	d, err := dtypeFor(info.Elem)
	if err != nil || !info.Ranked {
		return nil
	}
	t := &types.Tensor{DType: d}
	for _, x := range info.Dims {
		t.Shape = append(t.Shape, max(int(x.Value), 0))
	}
	return t
}

// A scanning holds the attributes of Scan.
type scanning struct {
	body                  *Graph
	states, inputs, outs  int
	inAxes, outAxes       []int
	inReverse, outReverse []bool
}

func (c *call) scanning(operands int) scanning {
	s := scanning{body: c.attrGraph("body"), inputs: c.attrInt("num_scan_inputs", 0)}
	s.states = operands - s.inputs
	s.outs = len(s.body.Outputs) - s.states
	if s.states < 0 || s.inputs < 1 || s.outs < 0 {
		compose.Fail("num_scan_inputs is %d; there are %s, and the body has %s", s.inputs, spelling.Count(operands, "operand"), spelling.Count(len(s.body.Outputs), "output"))
	}
	return s
}

func scan(c *call) values {
	s := c.scanning(len(c.in))
	s.inAxes, s.outAxes = c.attrIntsOr("scan_input_axes", s.inputs, 0), c.attrIntsOr("scan_output_axes", s.outs, 0)
	s.inReverse = flags(c.attrIntsOr("scan_input_directions", s.inputs, 0))
	s.outReverse = flags(c.attrIntsOr("scan_output_directions", s.outs, 0))
	return c.scan(s, c.all())
}

func flags(v []int) []bool {
	out := make([]bool, len(v))
	for i, n := range v {
		out[i] = n != 0
	}
	return out
}

func (c *call) scan(s scanning, in values) values {
	states, sources := slices.Clone(in[:s.states]), in[s.states:]
	length := 0
	for k, x := range sources {
		s.inAxes[k] = axis(s.inAxes[k], x.Type.Rank())
		n := x.Type.Shape[s.inAxes[k]]
		if k > 0 && n != length {
			compose.Fail("scan inputs of %d and %s", length, spelling.Count(n, "step"))
		}
		length = n
	}
	if out, ok := c.scanRegion(s, states, sources, length); ok {
		return out
	}
	if length > maxIterations {
		compose.Fail("a scan of %s is not supported; %d are", spelling.Count(length, "step"), maxIterations)
	}
	stacks := make([]values, s.outs)
	c.becomes("is unrolled, %s (at most %d are)", spelling.Count(length, "step"), maxIterations)
	for i := range length {
		inputs := slices.Clone(states)
		for k, x := range sources {
			at := i
			if s.inReverse[k] {
				at = length - 1 - i
			}
			inputs = append(inputs, c.At(x, s.inAxes[k], at))
		}
		out := c.inline(s.body, inputs)
		states = out[:s.states]
		for k, v := range out[s.states:] {
			stacks[k] = append(stacks[k], v)
		}
	}
	if length == 0 {
		return append(slices.Clone(states), c.emptyStacks(s.body.Outputs[s.states:], s.outAxes, func() values {
			in := slices.Clone(states)
			for k, x := range sources {
				in = append(in, c.Full(x.Type.DType, 0, slices.Delete(slices.Clone(x.Type.Shape), s.inAxes[k], s.inAxes[k]+1)...))
			}
			return c.inline(s.body, in)[s.states:]
		})...)
	}
	return append(slices.Clone(states), c.stacked(stacks, s.outAxes, s.outReverse)...)
}

// scanBatched is opset 8: operand 0 holds the lengths, and every other operand has a batch axis in front, whose entries
// are scanned on their own.
func scanBatched(c *call) values {
	if c.present(0) {
		compose.Fail("sequence_lens is not supported")
	}
	in := c.in[1:]
	s := c.scanning(len(in))
	s.inAxes, s.outAxes = make([]int, s.inputs), make([]int, s.outs)
	s.inReverse, s.outReverse = flags(c.attrIntsOr("directions", s.inputs, 0)), make([]bool, s.outs)
	if len(in) == 0 || in[0].Type.Rank() == 0 {
		compose.Fail("operand %s has no batch axis", fmt.Sprint(in))
	}
	var parts []values
	for b := range in[0].Type.Shape[0] {
		var one values
		for i := range in {
			x := c.x(1 + i)
			if x.Type.Rank() == 0 || x.Type.Shape[0] != in[0].Type.Shape[0] {
				compose.Fail("operand %s has another batch axis", x.Type)
			}
			one = append(one, c.At(x, 0, b))
		}
		parts = append(parts, c.scan(s, one))
	}
	if len(parts) == 0 {
		compose.Fail("an empty batch is not supported")
	}
	out := make(values, len(parts[0]))
	for i := range out {
		var all values
		for _, p := range parts {
			all = append(all, p[i])
		}
		out[i] = c.Stack(0, all...)
	}
	return out
}
