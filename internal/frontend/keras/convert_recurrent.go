package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var recurrentRows = []row{{"LSTM", lstm}, {"GRU", gru}, {"SimpleRNN", simpleRNN}, {"CuDNNLSTM", cudnnLSTM}, {"CuDNNGRU", cudnnGRU}}

// lstm has gates in the order input, forget, cell, output.
func lstm(c *call) values {
	c.Ignore("unit_forget_bias") // matters when weights are made
	r := c.recurrent([]int{0, 3, 1, 2}, "recurrent_activation", "activation", "activation")
	r.H, r.C = c.state(0), c.state(1)
	y, h, cell := c.LSTM(r)
	return c.sequence(r, y, h, cell)
}

// gru has the gates update, reset, candidate; with reset_after the reset gate applies behind the product, which has a bias of its own.
func gru(c *call) values {
	r := c.recurrent([]int{0, 1, 2}, "recurrent_activation", "activation")
	r.LinearBeforeReset = c.Bool("reset_after", false)
	r.H = c.state(0)
	y, h := c.GRU(r)
	return c.sequence(r, y, h)
}

func simpleRNN(c *call) values {
	r := c.recurrent([]int{0}, "activation")
	r.H = c.state(0)
	y, h := c.RNN(r)
	return c.sequence(r, y, h)
}

// cudnnLSTM has the functions of lstm, and two biases.
func cudnnLSTM(c *call) values { return lstm(c.cudnn()) }

// cudnnGRU resets behind the product.
func cudnnGRU(c *call) values {
	c = c.cudnn()
	c.Values["reset_after"] = true
	return gru(c)
}

// cudnn is the call with the options that layers for cuDNN, which have none of them, stand for.
func (c *call) cudnn() *call {
	v := c.with(map[string]any{"recurrent_activation": "sigmoid", "activation": "tanh"})
	return &call{c.Call, v}
}

// recurrent reads what recurrent layers share. Kernels [in, gates*units] and [units, gates*units] become [1, gates*units, in], with
// gate k being that of place order[k].
func (c *call) recurrent(order []int, functions ...string) compose.Recurrent {
	if c.Bool("stateful", false) {
		c.Note("layer %q keeps its state between calls in Keras; here each run begins with zeros", c.Node.Name)
	}
	c.Ignore("implementation")
	c.WantRank(0, 3)
	r := compose.Recurrent{X: c.X(0), Mask: c.mask(0), Reverse: []bool{c.Bool("go_backwards", false)}}
	if !c.Bool("time_major", false) {
		r.X = c.Transpose(r.X, 1, 0, 2)
		if r.Mask != nil {
			r.Mask = c.Transpose(r.Mask, 1, 0)
		}
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
		list = append(list, c.gate(option))
	}
	r.Activations = [][]compose.Activation{list}
	return r
}

// gate is the function that an option of a recurrent layer names.
func (c *call) gate(option string) compose.Activation {
	absent := "tanh"
	if option == "recurrent_activation" {
		absent = "sigmoid"
		if c.Node.Version < 2 {
			absent = "hard_sigmoid"
		}
	}
	f := c.function(option, absent)
	return func(_ *compose.Builder, x *graph.Value) *graph.Value { return f(c, x) }
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
	if c.Node.Op == "CuDNNLSTM" || c.Node.Op == "CuDNNGRU" {
		b = c.Reshape(b, 2, b.Type.Elements()/2)
	}
	if b.Type.Rank() == 2 {
		b = c.gates(b, 1, order)
		return c.Reshape(b, 1, b.Type.Elements())
	}
	b = c.gates(b, 0, order)
	n := b.Type.Elements()
	return c.Concat(1, c.Reshape(b, 1, n), c.Full(b.Type.DType, 0, 1, n))
}

// given is initial state number i as the call has it, nil where it gives none.
func (c *call) given(i int) *graph.Value {
	at := 1 + i
	if from, ok := c.named["initial_state"]; ok {
		at = from.first + i
	}
	if at >= c.data {
		return nil
	}
	return c.X(at)
}

// state is initial state number i with an axis of directions.
func (c *call) state(i int) *graph.Value {
	if s := c.given(i); s != nil {
		return c.ExpandDims(s, 0)
	}
	return nil
}

// sequence gives the layer's results: all steps or the last one, and the states where they are wanted.
func (c *call) sequence(r compose.Recurrent, y *graph.Value, states ...*graph.Value) values {
	for i, s := range states {
		states[i] = c.Squeeze(s, 0)
	}
	out := c.steps(recurrence{y: c.Squeeze(y, 1), last: states[0], mask: r.Mask, started: r.H != nil, reverse: r.Reverse[0]})
	if c.Bool("return_state", false) {
		return append(values{out}, states...)
	}
	return values{out}
}

// A recurrence is what steps gave: the outputs y [steps, batch, ...], in the order of the input, and the last output.
type recurrence struct {
	y, last, mask    *graph.Value
	started, reverse bool // from a state that was given; from the last step on
}

// steps is the result without states. A masked step has the output of the one before, which is zero in front of the first that counts, or
// with zero_output_for_mask zero.
func (c *call) steps(r recurrence) *graph.Value {
	y, out := r.y, r.last
	zeros := c.Bool("zero_output_for_mask", false)
	if r.mask != nil && (zeros || r.started) {
		counts := r.mask
		if !zeros {
			sum := c.Apply(ops.CumSum, ops.CumulativeAttrs{Reverse: r.reverse}, c.Cast(counts, types.I32))
			counts = c.Do(ops.Greater, sum, compose.Like(sum, 0))
		}
		for counts.Type.Rank() < y.Type.Rank() {
			counts = c.ExpandDims(counts, counts.Type.Rank())
		}
		y = c.Do(ops.Where, counts, y, compose.Like(y, 0))
		at := y.Type.Shape[0] - 1
		if r.reverse {
			at = 0
		}
		out = c.At(y, 0, at)
	}
	aligned := c.Bool("aligned", false)
	if !c.Bool("return_sequences", false) {
		return out
	}
	if r.reverse && !aligned {
		y = c.Reverse(y, 0)
	}
	if c.Bool("time_major", false) {
		return y
	}
	axes := []int{1, 0}
	for k := 2; k < y.Type.Rank(); k++ {
		axes = append(axes, k)
	}
	return c.Transpose(y, axes...)
}
