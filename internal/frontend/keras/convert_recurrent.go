package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var recurrentRows = []row{{"LSTM", lstm}, {"GRU", gru}, {"SimpleRNN", simpleRNN}}

// lstm has gates in the order input, forget, cell, output.
func lstm(c *call) values {
	r := c.recurrent([]int{0, 3, 1, 2}, "recurrent_activation", "activation", "activation")
	if !c.Bool("unit_forget_bias", true) { // matters when weights are made
		c.Ignore("unit_forget_bias")
	}
	r.H, r.C = c.state(0), c.state(1)
	y, h, cell := c.LSTM(r)
	return c.sequence(y, h, cell)
}

// gru has the gates update, reset, candidate; with reset_after the reset gate applies behind the product, which has a bias of its own.
func gru(c *call) values {
	r := c.recurrent([]int{0, 1, 2}, "recurrent_activation", "activation")
	r.LinearBeforeReset = c.Bool("reset_after", false)
	r.H = c.state(0)
	y, h := c.GRU(r)
	return c.sequence(y, h)
}

func simpleRNN(c *call) values {
	r := c.recurrent([]int{0}, "activation")
	r.H = c.state(0)
	y, h := c.RNN(r)
	return c.sequence(y, h)
}

// recurrent reads what recurrent layers share. Kernels [in, gates*units] and [units, gates*units] become [1, gates*units, in], with
// gate k being that of place order[k].
func (c *call) recurrent(order []int, functions ...string) compose.Recurrent {
	if c.Bool("stateful", false) {
		c.Note("layer %q keeps its state between calls in Keras; here each run begins with zeros", c.Node.Name)
	}
	c.WantRank(0, 3)
	r := compose.Recurrent{X: c.X(0), Reverse: []bool{false}}
	if !c.Bool("time_major", false) {
		r.X = c.Transpose(r.X, 1, 0, 2)
	}
	if c.Bool("go_backwards", false) {
		r.X = c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: []int{0}}, r.X)
	}
	kernel := func(i int) *graph.Value {
		w := c.weight(i)
		if w.Type.Rank() != 2 {
			compose.Fail("a kernel %s", w.Type)
		}
		return c.ExpandDims(c.Transpose(c.gates(w, 1, order), 1, 0), 0)
	}
	r.W, r.R = kernel(0), kernel(1)
	if c.Bool("use_bias", true) {
		r.B = c.biases(order)
	}
	var list []compose.Activation
	for _, option := range functions {
		absent := "tanh"
		if option == "recurrent_activation" {
			absent = "sigmoid"
			if c.Node.Version < 2 {
				absent = "hard_sigmoid"
			}
		}
		f := c.function(option, absent)
		list = append(list, func(_ *compose.Builder, x *graph.Value) *graph.Value { return f(c, x) })
	}
	r.Activations = [][]compose.Activation{list}
	return r
}

// gates are the equal parts of w along an axis in another order.
func (c *call) gates(w *graph.Value, axis int, order []int) *graph.Value {
	n := w.Type.Shape[axis]
	if n%len(order) != 0 {
		compose.Fail("weights %s of %d gates", w.Type, len(order))
	}
	size := n / len(order)
	parts := make(values, len(order))
	for k, from := range order {
		parts[k] = c.Slice(w, axis, from*size, (from+1)*size)
	}
	return c.Concat(axis, parts...)
}

// biases are [1, 2*gates*units]: those of the input's product and those of the state's, zeros where the layer has one bias.
func (c *call) biases(order []int) *graph.Value {
	b := c.weight(2)
	if b.Type.Rank() == 2 {
		b = c.gates(b, 1, order)
		return c.Reshape(b, 1, b.Type.Elements())
	}
	b = c.gates(b, 0, order)
	n := b.Type.Elements()
	return c.Concat(1, c.Reshape(b, 1, n), c.Full(b.Type.DType, 0, 1, n))
}

// state is initial state number i, nil where the call gives none.
func (c *call) state(i int) *graph.Value {
	at := 1 + i
	if from, ok := c.named["initial_state"]; ok {
		at = from + i
	}
	if at >= c.data {
		return nil
	}
	return c.ExpandDims(c.X(at), 0)
}

// sequence gives the layer's results: all steps or the last one, and the states where they are wanted.
func (c *call) sequence(y *graph.Value, states ...*graph.Value) values {
	out := c.Squeeze(states[0], 0)
	backwards, aligned := c.Bool("go_backwards", false), c.Bool("aligned", false)
	if c.Bool("return_sequences", false) {
		out = c.Squeeze(y, 1)
		if backwards && aligned {
			out = c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: []int{0}}, out)
		}
		if !c.Bool("time_major", false) {
			out = c.Transpose(out, 1, 0, 2)
		}
	}
	list := values{out}
	if c.Bool("return_state", false) {
		for _, s := range states {
			list = append(list, c.Squeeze(s, 0))
		}
	}
	return list
}
