package coreml

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
)

// Fields of LSTM layers.
const (
	lstmParams  = "params:15{sequenceOutput:10 hasBias:20 forgetBias:30 hasPeephole:40 coupled:50 cellClip:60f}"
	lstmWeights = "{wi:1w wf:2w wz:3w wo:4w ri:20w rf:21w rz:22w ro:23w bi:40w bf:41w bz:42w bo:43w pi:60w pf:61w po:62w}"
)

var recurrentRows = []row{
	{400, "simpleRecurrent", "in:1 out:2 f:10*{" + activations + "} sequenceOutput:15 hasBias:20 w:30w r:31w b:32w reverse:100", simpleRecurrent},
	{410, "gru", "in:1 out:2 f:10*{" + activations + "} sequenceOutput:15 hasBias:20 wz:30w wr:31w wo:32w rz:50w rr:51w ro:52w bz:70w br:71w bo:72w reverse:100", gru},
	{420, "uniDirectionalLSTM", "in:1 out:2 f:10*{" + activations + "} " + lstmParams + " weights:20" + lstmWeights + " reverse:100", lstm},
	{430, "biDirectionalLSTM", "in:1 out:2 f:10*{" + activations + "} back:11*{" + activations + "} " + lstmParams + " weights:20*" + lstmWeights, lstm},
}

// recurrent reads a layer; gates are the names of weights in the order of compose.Recurrent.
func (c *call) recurrent(directions int, gates []string, functions int) compose.Recurrent {
	x := c.X(0)
	if x.Type.Rank() != 5 || x.Type.Shape[3] != 1 || x.Type.Shape[4] != 1 {
		compose.Fail("of %s; sequence, batch, channels, 1, 1 is needed", x.Type)
	}
	in, out := c.Int("in", 0), c.Int("out", 0)
	r := compose.Recurrent{X: c.Reshape(x, x.Type.Shape[:3]...)}
	joined := func(prefix, kind string, shape ...int) *graph.Value {
		parts := make(values, len(gates))
		for k, g := range gates {
			parts[k] = c.weight(prefix+kind+g, shape...)
		}
		return c.Concat(0, parts...)
	}
	bias := c.Bool("hasBias", c.Bool("params.hasBias", false))
	forget := c.Bool("params.forgetBias", false)
	saturate := true
	var w, s, b values
	for d := range directions {
		prefix := c.weightsOf(directions, d)
		w, s = append(w, joined(prefix, "w", out, in)), append(s, joined(prefix, "r", out, out))
		if bias || forget {
			var parts values
			for _, g := range gates {
				part := c.Full(x.Type.DType, 0, out)
				if bias {
					part = c.weight(prefix+"b"+g, out)
				}
				if forget && g == "f" {
					part = c.plus(part, 1)
				}
				parts = append(parts, part)
			}
			b = append(b, c.Concat(0, append(parts, c.Full(x.Type.DType, 0, len(gates)*out))...))
		}
		r.Reverse = append(r.Reverse, d == 1 || c.Bool("reverse", false))
		name := "f"
		if d == 1 {
			name = "back"
		}
		if n := c.Int(name, 0); n != functions {
			compose.Fail("%d functions instead of %d", n, functions)
		}
		var list []compose.Activation
		for k := range functions {
			prefix := fmt.Sprintf("%s.%d.", name, k)
			list = append(list, func(_ *compose.Builder, x *graph.Value) *graph.Value { return c.activated(x, prefix) })
			saturate = saturate && (c.Has(prefix+"sigmoid") || c.Has(prefix+"tanh") || c.Has(prefix+"hard"))
		}
		r.Activations = append(r.Activations, list)
	}
	r.W, r.R = c.Stack(0, w...), c.Stack(0, s...)
	if b != nil {
		r.B = c.Stack(0, b...)
	}
	if !saturate { // beyond this, others do not change
		r.Clip = 50
	}
	return r
}

// weightsOf is what names of the weights of a direction begin with.
func (c *call) weightsOf(directions, d int) string {
	switch {
	case c.Node.Op != "uniDirectionalLSTM" && c.Node.Op != "biDirectionalLSTM":
		return ""
	case directions == 1:
		c.Ignore("weights")
		return "weights."
	}
	c.Ignore("weights")
	return fmt.Sprintf("weights.%d.", d)
}

// state is an initial state of all directions, in the operands from one on by a step; nil where there is none.
func (c *call) state(first, step, directions int) *graph.Value {
	var parts values
	for d := range directions {
		i := first + d*step
		if i >= c.data {
			return nil
		}
		v := c.X(i)
		if v.Type.Rank() != 5 {
			compose.Fail("a state %s", v.Type)
		}
		parts = append(parts, c.Reshape(v, v.Type.Shape[0], v.Type.Shape[1], v.Type.Shape[2]))
	}
	return c.Concat(0, parts...)
}

// sequence gives the results: all steps or the last, and the states of each direction.
func (c *call) sequence(all bool, y *graph.Value, states ...*graph.Value) values {
	s := y.Type.Shape // [steps, directions, batch, hidden]
	wide := func(v *graph.Value) *graph.Value { return c.Reshape(v, append(slices.Clone(v.Type.Shape), 1, 1)...) }
	out := c.Reshape(c.Transpose(y, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
	if !all {
		out = c.Reshape(c.Transpose(states[0], 1, 0, 2), 1, s[2], s[1]*s[3])
	}
	list := values{wide(out)}
	for d := range s[1] {
		for _, v := range states {
			list = append(list, wide(c.Slice(v, 0, d, d+1)))
		}
	}
	return list
}

func simpleRecurrent(c *call) values {
	r := c.recurrent(1, []string{""}, 1)
	r.H = c.state(1, 1, 1)
	y, h := c.RNN(r)
	return c.sequence(c.Bool("sequenceOutput", false), y, h)
}

// gru resets the state before the product.
func gru(c *call) values {
	r := c.recurrent(1, []string{"z", "r", "o"}, 2)
	r.H = c.state(1, 1, 1)
	y, h := c.GRU(r)
	return c.sequence(c.Bool("sequenceOutput", false), y, h)
}

// lstm bounds cells by 50 unless it says otherwise, which no cell of the usual functions reaches in a sequence of that many steps.
func lstm(c *call) values {
	directions := 1
	if c.Node.Op == "biDirectionalLSTM" {
		directions = 2
	}
	c.Ignore("params")
	if clip := c.Float("params.cellClip", 0); clip != 0 && clip != 50 {
		compose.Fail("cells bounded by %v are not supported", clip)
	}
	r := c.recurrent(directions, []string{"i", "o", "f", "z"}, 3)
	r.H, r.C = c.state(1, 2, directions), c.state(2, 2, directions)
	r.InputForget = c.Bool("params.coupled", false)
	if c.Bool("params.hasPeephole", false) {
		var p values
		out := c.Int("out", 0)
		for d := range directions {
			prefix := c.weightsOf(directions, d)
			p = append(p, c.Concat(0, c.weight(prefix+"pi", out), c.weight(prefix+"po", out), c.weight(prefix+"pf", out)))
		}
		r.P = c.Stack(0, p...)
	}
	y, h, cell := c.LSTM(r)
	return c.sequence(c.Bool("params.sequenceOutput", false), y, h, cell)
}
