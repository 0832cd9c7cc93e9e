package paddle

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var recurrentRows = []row{{"rnn", recurrent}}

// recurrent is a stack of layers of one or two directions over [steps, batch, inputs]. The list of weights has those of all layers and directions
// first, of the input and of the state, then all biases in this order.
func recurrent(c *call) values {
	c.Ignore("dropout_prob", "input_size", "hidden_size")
	mode := c.OneOf("mode", "RNN_TANH", "LSTM", "GRU", "RNN_TANH", "RNN_RELU")
	layers, directions := c.Int("num_layers", 1), 1
	if c.Bool("is_bidirec", false) {
		directions = 2
	}
	weights, states := c.operands("WeightList"), c.operands("PreState")
	of := 2 * layers * directions
	if layers < 1 || layers > 1<<10 || len(weights) != 2*of && len(weights) != of {
		compose.Fail("%d weights of %d layers", len(weights), layers)
	}
	kind := map[string]struct {
		gates  []int // of ONNX's order, the place here
		states int
	}{"LSTM": {[]int{0, 3, 1, 2}, 2}, "GRU": {[]int{1, 0, 2}, 1}, "RNN_TANH": {[]int{0}, 1}, "RNN_RELU": {[]int{0}, 1}}[mode]
	if len(states) != kind.states {
		compose.Fail("%d initial states", len(states))
	}
	x := c.operand("Input")
	c.WantRankOf(x, 3)
	last := make([]values, kind.states)
	for l := range layers {
		r := compose.Recurrent{X: x, Lens: c.optional("SequenceLength"), LinearBeforeReset: true}
		var w, s, b values
		for d := range directions {
			at := 2 * (l*directions + d)
			w, s = append(w, c.gates(weights[at], kind.gates)), append(s, c.gates(weights[at+1], kind.gates))
			if len(weights) > of {
				b = append(b, c.Concat(0, c.gates(weights[of+at], kind.gates), c.gates(weights[of+at+1], kind.gates)))
			}
			r.Reverse = append(r.Reverse, d == 1)
			r.Activations = append(r.Activations, activationsOf(mode))
		}
		r.W, r.R = c.Stack(0, w...), c.Stack(0, s...)
		if b != nil {
			r.B = c.Stack(0, b...)
		}
		first := func(i int) *graph.Value {
			c.WantRankOf(states[i], 3)
			return c.Slice(states[i], 0, l*directions, (l+1)*directions)
		}
		r.H = first(0)
		var y *graph.Value
		var ends values
		switch mode {
		case "LSTM":
			r.C = first(1)
			var h, cell *graph.Value
			y, h, cell = c.LSTM(r)
			ends = values{h, cell}
		case "GRU":
			var h *graph.Value
			y, h = c.GRU(r)
			ends = values{h}
		default:
			var h *graph.Value
			y, h = c.RNN(r)
			ends = values{h}
		}
		for i, e := range ends {
			last[i] = append(last[i], e)
		}
		s2 := y.Type.Shape // [steps, directions, batch, hidden]
		x = c.Reshape(c.Transpose(y, 0, 2, 1, 3), s2[0], s2[2], s2[1]*s2[3])
	}
	out := values{x}
	for _, ends := range last {
		out = append(out, c.Concat(0, ends...))
	}
	if c.n() > 1+kind.states {
		compose.Fail("%d results", c.n())
	}
	return out
}

func activationsOf(mode string) []compose.Activation {
	sigmoid := func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Sigmoid, x) }
	tanh := func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Tanh, x) }
	relu := func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Relu, x) }
	return map[string][]compose.Activation{"LSTM": {sigmoid, tanh, tanh}, "GRU": {sigmoid, tanh}, "RNN_TANH": {tanh}, "RNN_RELU": {relu}}[mode]
}

// gates are the equal parts of w along its first axis in another order.
func (c *call) gates(w *graph.Value, order []int) *graph.Value {
	c.WantRankOf(w, 1)
	n := w.Type.Shape[0]
	if n%len(order) != 0 {
		compose.Fail("weights %s of %d gates", w.Type, len(order))
	}
	size := n / len(order)
	parts := make(values, len(order))
	for k, from := range order {
		parts[k] = c.Slice(w, 0, from*size, (from+1)*size)
	}
	return c.Concat(0, parts...)
}
