package onnx

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tool/spelling"
)

var controlRows = []row{
	{"If", "", 1, ifElse}, {"Loop", "", 1, loop}, {"Scan", "", 8, scanBatched}, {"Scan", "", 9, scan},
}

func ifElse(c *call) values { return c.Branch(c.X(0), "then_branch", "else_branch", nil) }

func loop(c *call) values {
	body, carried := c.Body("body"), slices.Clone(c.In[min(2, len(c.In)):])
	if len(body.Outputs) < 1+len(carried) {
		compose.Fail("the body has %s for %s", spelling.Count(len(body.Outputs), "output"), spelling.Count(len(carried), "carried value"))
	}
	if len(body.Inputs) != 2+len(carried) {
		compose.Fail("the body has %s for %s", spelling.Count(len(body.Inputs), "input"), spelling.Count(len(carried), "carried value"))
	}
	return c.RunLoop(frontend.Loop{
		Trips: c.Opt(0), Condition: c.Opt(1), Carried: carried, Slices: body.Outputs[1+len(carried):], Counts: body.Reads(body.Inputs[0].Name),
		Body: func(in []*graph.Value) []*graph.Value { return c.Inline(body, in) },
	})
}

// A scanning holds the attributes of Scan.
type scanning struct {
	body                  *frontend.Graph
	states, inputs, outs  int
	inAxes, outAxes       []int
	inReverse, outReverse []bool
}

func (c *call) scanning(operands int) scanning {
	s := scanning{body: c.Body("body"), inputs: c.Int("num_scan_inputs", 0)}
	s.states = operands - s.inputs
	s.outs = len(s.body.Outputs) - s.states
	if s.states < 0 || s.inputs < 1 || s.outs < 0 {
		compose.Fail("num_scan_inputs is %d; there are %s, and the body has %s", s.inputs, spelling.Count(operands, "operand"), spelling.Count(len(s.body.Outputs), "output"))
	}
	return s
}

func scan(c *call) values {
	s := c.scanning(len(c.In))
	s.inAxes, s.outAxes = c.IntsOr("scan_input_axes", s.inputs, 0), c.IntsOr("scan_output_axes", s.outs, 0)
	s.inReverse = flags(c.IntsOr("scan_input_directions", s.inputs, 0))
	s.outReverse = flags(c.IntsOr("scan_output_directions", s.outs, 0))
	return c.scan(s, c.All())
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
		s.inAxes[k] = frontend.Axis(s.inAxes[k], x.Type.Rank())
		n := x.Type.Shape[s.inAxes[k]]
		if k > 0 && n != length {
			compose.Fail("scan inputs of %d and %s", length, spelling.Count(n, "step"))
		}
		length = n
	}
	if out, ok := c.scanRegion(s, states, sources, length); ok {
		return out
	}
	if length > frontend.MaxIterations {
		compose.Fail("a scan of %s is not supported; %d are", spelling.Count(length, "step"), frontend.MaxIterations)
	}
	stacks := make([][]*graph.Value, s.outs)
	c.Becomes("is unrolled, %s (at most %d are)", spelling.Count(length, "step"), frontend.MaxIterations)
	for i := range length {
		inputs := slices.Clone(states)
		for k, x := range sources {
			at := i
			if s.inReverse[k] {
				at = length - 1 - i
			}
			inputs = append(inputs, c.At(x, s.inAxes[k], at))
		}
		out := c.Inline(s.body, inputs)
		states = out[:s.states]
		for k, v := range out[s.states:] {
			stacks[k] = append(stacks[k], v)
		}
	}
	if length == 0 {
		return append(slices.Clone(states), c.EmptyStacks(s.body.Outputs[s.states:], s.outAxes, func() values {
			in := slices.Clone(states)
			for k, x := range sources {
				in = append(in, c.Full(x.Type.DType, 0, slices.Delete(slices.Clone(x.Type.Shape), s.inAxes[k], s.inAxes[k]+1)...))
			}
			return c.Inline(s.body, in)[s.states:]
		})...)
	}
	return append(slices.Clone(states), c.Stacks(stacks, s.outAxes, s.outReverse)...)
}

// scanBatched is opset 8: operand 0 holds the lengths, and every other operand has a batch axis in front, whose entries
// are scanned on their own.
func scanBatched(c *call) values {
	if c.Present(0) {
		compose.Fail("sequence_lens is not supported")
	}
	in := c.In[1:]
	s := c.scanning(len(in))
	s.inAxes, s.outAxes = make([]int, s.inputs), make([]int, s.outs)
	s.inReverse, s.outReverse = flags(c.IntsOr("directions", s.inputs, 0)), make([]bool, s.outs)
	if len(in) == 0 || in[0].Type.Rank() == 0 {
		compose.Fail("operand %s has no batch axis", fmt.Sprint(in))
	}
	var parts []values
	for b := range in[0].Type.Shape[0] {
		var one values
		for i := range in {
			x := c.X(1 + i)
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

// scanRegion is a Scan. A loop takes slices along axis 0, all in one order.
func (c *call) scanRegion(s scanning, states, sources values, length int) (values, bool) {
	a := graph.LoopAttrs{Trips: length, Carried: s.states, Sequences: s.inputs, Reverse: s.inReverse[0]}
	if !c.Loops(length) {
		return nil, false
	}
	before := len(c.Graph.Nodes)
	in := slices.Clone(states)
	for k, x := range sources {
		in = append(in, c.ordered(c.moved(x, s.inAxes[k], 0), s.inReverse[k] != a.Reverse))
	}
	out, ok := c.Region(a, in, func(in values) values { return c.Inline(s.body, in) })
	if !ok {
		c.Undo(before)
		return nil, false
	}
	for k := range s.outs {
		y := c.ordered(out[s.states+k], s.outReverse[k] != a.Reverse)
		out[s.states+k] = c.moved(y, 0, frontend.Axis(s.outAxes[k], y.Type.Rank()))
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
	return c.Reverse(x, 0)
}
