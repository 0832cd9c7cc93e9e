package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
)

// cellParams are those of layers whose weights are packed; data of such layers stay floats here, where PyTorch rounds them to 8 bits.
const cellParams = " params has_biases:b num_layers:i dropout:n train:b bidirectional:b batch_first:b dtype use_dynamic:b"

const layerParams = " params:L has_biases:b num_layers:i dropout:n train:b bidirectional:b batch_first:b"

var recurrentRows = []row{
	sig("lstm", "input hx:L"+layerParams, func(c *call) any { return c.recurrent("lstm") }),
	sig("gru", "input hx:T"+layerParams, func(c *call) any { return c.recurrent("gru") }),
	sig("quantized_lstm", "input hx:L"+cellParams, func(c *call) any { return c.quantizedCells("lstm") }), sig("quantized_gru", "input hx:T"+cellParams, func(c *call) any { return c.quantizedCells("gru") }),
	sig("rnn_tanh", "input hx:T"+layerParams, func(c *call) any { return c.recurrent("rnn_tanh") }), sig("rnn_relu", "input hx:T"+layerParams, func(c *call) any { return c.recurrent("rnn_relu") }),
}

// gateOrder is where the gates that compose wants lie in torch's weights: input, output, forget, cell of i, f, g, o, and update, reset, new of r, z, n.
var gateOrder = map[string][]int{"lstm": {0, 3, 1, 2}, "gru": {1, 0, 2}, "rnn_tanh": {0}, "rnn_relu": {0}}

// gates brings the blocks of rows of a weight or bias into another order.
func (m *machine) gates(w *graph.Value, order []int) *graph.Value {
	if len(order) == 1 {
		return w
	}
	n := w.Type.Shape[0] / len(order)
	if w.Type.Shape[0]%len(order) != 0 {
		fail("a weight %s for %d gates", w.Type, len(order))
	}
	if w.Const != nil {
		out := hosttensor.New(w.Type.DType, w.Type.Shape...)
		block := w.Const.Size() / len(order)
		for i, from := range order {
			copy(out.Bytes()[i*block:(i+1)*block], w.Const.Bytes()[from*block:])
		}
		return compose.Const(out)
	}
	var parts []*graph.Value
	for _, from := range order {
		parts = append(parts, m.Slice(w, 0, from*n, (from+1)*n))
	}
	return m.Concat(0, parts...)
}

// recurrent gives the outputs of the last layer and the last states of all. Weights are, by layer and direction, those of the input and of the
// state, then their biases.
func (c *call) recurrent(kind string) any {
	x := c.x("input")
	batchFirst, alone := c.bool("batch_first", false), x.Type.Rank() == 2
	if alone {
		x, batchFirst = c.ExpandDims(x, 1), false
	}
	if batchFirst {
		x = c.Transpose(x, 1, 0, 2)
	}
	var states []*graph.Value // each [layers*directions, batch, hidden]
	if kind == "lstm" {
		states = c.values("hx")
	} else {
		states = []*graph.Value{c.x("hx")}
	}
	for i, s := range states {
		if alone && s.Type.Rank() == 2 {
			states[i] = c.ExpandDims(s, 1)
		}
	}
	params, layers, directions, each := c.values("params"), c.int("num_layers", 1), 1, 2
	if c.bool("bidirectional", false) {
		directions = 2
	}
	if c.bool("has_biases", true) {
		each = 4
	}
	if len(params) != layers*directions*each {
		fail("%d weights for %d layers of %d directions: projections are not supported", len(params), layers, directions)
	}
	order := gateOrder[kind]
	last := make([][]*graph.Value, len(states))
	for layer := range layers {
		r := compose.Recurrent{X: x, LinearBeforeReset: true}
		var w, u, b []*graph.Value
		for d := range directions {
			p := params[(layer*directions+d)*each:][:each]
			w, u = append(w, c.gates(p[0], order)), append(u, c.gates(p[1], order))
			if each == 4 {
				b = append(b, c.joined1(c.gates(p[2], order), c.gates(p[3], order)))
			}
			r.Reverse = append(r.Reverse, d == 1)
			r.Activations = append(r.Activations, activationsOf(kind))
		}
		r.W, r.R = c.stacked(w), c.stacked(u)
		if b != nil {
			r.B = c.stacked(b)
		}
		state := func(i int) *graph.Value { return c.Slice(states[i], 0, layer*directions, (layer+1)*directions) }
		r.H = state(0)
		var y *graph.Value
		out := make([]*graph.Value, len(states))
		switch kind {
		case "lstm":
			r.C = state(1)
			y, out[0], out[1] = c.LSTM(r)
		case "gru":
			y, out[0] = c.GRU(r)
		default:
			y, out[0] = c.RNN(r)
		}
		for i, v := range out {
			last[i] = append(last[i], v)
		}
		s := y.Type.Shape // [steps, directions, batch, hidden]
		x = c.Reshape(c.Transpose(y, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
	}
	if batchFirst {
		x = c.Transpose(x, 1, 0, 2)
	}
	results := []*graph.Value{x}
	for _, list := range last {
		results = append(results, c.Concat(0, list...))
	}
	if alone {
		for i := range results {
			results[i] = c.Squeeze(results[i], 1)
		}
	}
	return results
}

// stacked joins weights of directions along a new first axis, on the spot where they are constants.
func (m *machine) stacked(list []*graph.Value) *graph.Value {
	if len(list) == 1 {
		return m.ExpandDims(list[0], 0)
	}
	if t := joinedBytes(list); t != nil {
		t.Shape = append([]int{len(list)}, list[0].Type.Shape...)
		return compose.Const(t)
	}
	return m.Stack(0, list...)
}

// joined1 joins vectors.
func (m *machine) joined1(list ...*graph.Value) *graph.Value {
	if t := joinedBytes(list); t != nil {
		return compose.Const(t)
	}
	return m.Concat(0, list...)
}

// joinedBytes joins constants of one type along their first axis; nil where they are no such.
func joinedBytes(list []*graph.Value) *hosttensor.Tensor {
	var data []byte
	shape := slices.Clone(list[0].Type.Shape)
	shape[0] = 0
	for _, v := range list {
		if v.Const == nil || !v.Type.Equal(list[0].Type) {
			return nil
		}
		data = append(data, v.Const.Bytes()...)
		shape[0] += v.Type.Shape[0]
	}
	return hosttensor.Over(list[0].Type.DType, shape, data)
}

// activationsOf are the functions of a layer's gates.
func activationsOf(kind string) []compose.Activation {
	of := func(d *op.Def) compose.Activation {
		return func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(d, x) }
	}
	switch kind {
	case "lstm":
		return []compose.Activation{of(ops.Sigmoid), of(ops.Tanh), of(ops.Tanh)}
	case "gru":
		return []compose.Activation{of(ops.Sigmoid), of(ops.Tanh)}
	case "rnn_relu":
		return []compose.Activation{of(ops.Relu)}
	}
	return []compose.Activation{of(ops.Tanh)}
}
