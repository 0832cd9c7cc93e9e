package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var listRows = []listRow{
	{"RNN", rnn}, {"SliceChannel", sliceChannel}, {"split", sliceChannel}, {"_split_v2", splitV2}, {"topk", topK}, {"amp_multicast", multicast},
	{"MultiBoxDetection", one(multiBoxDetection)}, {"_contrib_MultiBoxDetection", one(multiBoxDetection)}, {"_contrib_box_nms", one(boxNMS)}, {"_contrib_box_non_maximum_suppression", one(boxNMS)},
	{"_contrib_Proposal", proposal}, {"_contrib_MultiProposal", proposal},
}

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// rnn is MXNet's fused recurrent layer: data [steps, batch, in], one vector of parameters, and initial states [layers*directions, batch, units]. The
// vector has the weights of input and state of each layer and direction, then the biases of both likewise. Gates of LSTM stand in the order input,
// forget, cell, output, those of GRU reset, update, new; GRU resets behind the product.
func rnn(c *call) values {
	c.Ignore("p", "projection_size", "lstm_state_clip_nan", "use_sequence_length")
	if c.Has("projection_size") || c.Bool("use_sequence_length", false) || c.Has("lstm_state_clip_min") {
		compose.Fail("with a projection, lengths or clipped states it is not supported")
	}
	c.Ignore("lstm_state_clip_min", "lstm_state_clip_max")
	mode := c.OneOf("mode", "", "rnn_relu", "rnn_tanh", "lstm", "gru")
	x, units, layers := c.X(0), c.Int("state_size", 0), c.Int("num_layers", 1)
	directions := 1
	if c.Bool("bidirectional", false) {
		directions = 2
	}
	if x.Type.Rank() != 3 || units < 1 || units > 1<<20 || layers < 1 || layers > 64 {
		compose.Fail("%d layers of %d units for %s", layers, units, x.Type)
	}
	gates, order := 1, []int{0}
	switch mode {
	case "lstm":
		gates, order = 4, []int{0, 3, 1, 2}
	case "gru":
		gates, order = 3, []int{1, 0, 2}
	}
	p := c.Reshape(c.X(1), c.X(1).Type.Elements())
	at := 0
	take := func(n int) *graph.Value {
		if at+n > p.Type.Elements() {
			compose.Fail("%d parameters, more are needed", p.Type.Elements())
		}
		at += n
		return c.Slice(p, 0, at-n, at)
	}
	turned := func(w *graph.Value, columns int) *graph.Value { // [1, gates*units, columns]
		parts := c.Split(c.Reshape(w, gates*units, columns), 0, slices.Repeat([]int{units}, gates)...)
		ordered := make(values, gates)
		for k, from := range order {
			ordered[k] = parts[from]
		}
		return c.ExpandDims(c.Concat(0, ordered...), 0)
	}
	type weights struct{ w, r, b values }
	all := make([]weights, layers)
	in := x.Type.Shape[2]
	for l := range layers {
		for range directions {
			all[l].w = append(all[l].w, turned(take(gates*units*in), in))
			all[l].r = append(all[l].r, turned(take(gates*units*units), units))
		}
		in = units * directions
	}
	for l := range layers {
		for range directions {
			b := values{turned(take(gates*units), 1), turned(take(gates*units), 1)}
			all[l].b = append(all[l].b, c.Reshape(c.Concat(1, b...), 1, 2*gates*units))
		}
	}
	batch := x.Type.Shape[1]
	state := func(i, l int) *graph.Value {
		if !c.Present(i) {
			return nil
		}
		s := c.X(i)
		if s.Type.Shape[0] != layers*directions {
			compose.Fail("states %s of %d layers", s.Type, layers*directions)
		}
		if s.Type.Shape[1] != batch {
			s = c.BroadcastTo(s, s.Type.Shape[0], batch, s.Type.Shape[2])
		}
		return c.Slice(s, 0, l*directions, (l+1)*directions)
	}
	function := func(name string) compose.Activation {
		d := map[string]func(b *compose.Builder, x *graph.Value) *graph.Value{
			"relu":    func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Relu, x) },
			"tanh":    func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Tanh, x) },
			"sigmoid": func(b *compose.Builder, x *graph.Value) *graph.Value { return b.Do(ops.Sigmoid, x) }}
		return d[name]
	}
	functions := map[string][]string{"rnn_relu": {"relu"}, "rnn_tanh": {"tanh"}, "lstm": {"sigmoid", "tanh", "tanh"}, "gru": {"sigmoid", "tanh"}}[mode]
	var list []compose.Activation
	for _, name := range functions {
		list = append(list, function(name))
	}
	var hs, cs values
	for l, w := range all {
		r := compose.Recurrent{X: x, W: c.Concat(0, w.w...), R: c.Concat(0, w.r...), B: c.Concat(0, w.b...), H: state(2, l), LinearBeforeReset: true, Reverse: []bool{false, true}[:directions],
			Activations: slices.Repeat([][]compose.Activation{list}, directions)}
		var y, h, cell *graph.Value
		switch mode {
		case "lstm":
			r.C = state(3, l)
			y, h, cell = c.LSTM(r)
			cs = append(cs, cell)
		case "gru":
			y, h = c.GRU(r)
		default:
			y, h = c.RNN(r)
		}
		hs = append(hs, h)
		s := y.Type.Shape // [steps, directions, batch, units]
		x = c.Reshape(c.Transpose(y, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
	}
	if !c.Bool("state_outputs", false) {
		return values{x}
	}
	out := values{x, c.Concat(0, hs...)}
	if cs != nil {
		out = append(out, c.Concat(0, cs...))
	}
	return out
}

// sequenceRows are operators on [steps, batch, ...], or [batch, steps, ...] with axis 1, whose sequences have lengths.
var sequenceRows = []row{{"SequenceMask", sequenceMask}, {"SequenceLast", sequenceLast}, {"SequenceReverse", sequenceReverse}}

// lengths are those of sequences, nil where they are whole.
func (c *call) lengths() *graph.Value {
	if !c.Bool("use_sequence_length", false) {
		return nil
	}
	return c.Cast(c.X(1), types.I64)
}

func sequenceMask(c *call) *graph.Value {
	x, lens, axis, value := c.X(0), c.lengths(), c.Int("axis", 0), c.Float("value", 0)
	c.WantRank(0, 2)
	if lens == nil {
		return x
	}
	steps := c.Arange(x.Type.Shape[frontend.Axis(axis, 2)])
	var valid *graph.Value
	if axis == 0 {
		valid = c.Do(ops.Less, c.ExpandDims(steps, 1), c.ExpandDims(lens, 0))
	} else {
		valid = c.Do(ops.Less, c.ExpandDims(steps, 0), c.ExpandDims(lens, 1))
	}
	for valid.Type.Rank() < x.Type.Rank() {
		valid = c.ExpandDims(valid, valid.Type.Rank())
	}
	return c.Do(ops.Where, valid, x, compose.Like(x, value))
}

func sequenceLast(c *call) *graph.Value {
	x, lens, axis := c.X(0), c.lengths(), c.Int("axis", 0)
	c.WantRank(0, 2)
	axis = frontend.Axis(axis, 2)
	if lens == nil {
		return c.At(x, axis, x.Type.Shape[axis]-1)
	}
	shape := slices.Repeat([]int{1}, x.Type.Rank())
	shape[1-axis] = x.Type.Shape[1-axis]
	full := slices.Clone(x.Type.Shape)
	full[axis] = 1
	last := c.BroadcastTo(c.Reshape(c.Do(ops.Subtract, lens, compose.Number(types.I64, 1)), shape...), full...)
	return c.Squeeze(c.Apply(ops.Gather, ops.GatherAttrs{Axis: axis}, x, last), axis)
}

func sequenceReverse(c *call) *graph.Value {
	x, lens := c.X(0), c.lengths()
	c.WantRank(0, 2)
	if c.Int("axis", 0) != 0 {
		compose.Fail("along axis %d", c.Int("axis", 0))
	}
	if lens == nil {
		return c.Reverse(x, 0)
	}
	return c.Apply(ops.ReverseSequence, ops.ReverseSequenceAttrs{SeqAxis: 0, BatchAxis: 1}, x, lens)
}
