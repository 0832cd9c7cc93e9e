package caffe

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var recurrentRows = []row{{"LSTM", one(lstm)}, {"RNN", one(rnn)}}

// lstm has data [steps, batch, ...], for each step and sequence whether it goes on (0 starts another), and perhaps data for all steps; gates stand in the
// order input, forget, output, cell. Blobs: weights and bias of the data, weights of the data for all steps, weights of the state.
func lstm(c *call) *graph.Value {
	n := c.Int("num_output", 0)
	x, state := c.stepped(4 * n)
	hidden := c.blob(state, 4*n, n)
	start := c.Full(x.Type.DType, 0, x.Type.Shape[1], n)
	return c.recur(x, []*graph.Value{start, start}, func(x, on *graph.Value, before values) (values, *graph.Value) {
		h, cell := c.Do(ops.Multiply, before[0], on), c.Do(ops.Multiply, before[1], on)
		gates := c.Split(c.Do(ops.Add, x, c.Do(ops.Dense, h, c.Reshape(hidden, 4*n, n))), 1, n, n, n, n)
		sigmoid := func(k int) *graph.Value { return c.Do(ops.Sigmoid, gates[k]) }
		cell = c.Do(ops.Add, c.Do(ops.Multiply, sigmoid(1), cell), c.Do(ops.Multiply, sigmoid(0), c.Do(ops.Tanh, gates[3])))
		h = c.Do(ops.Multiply, sigmoid(2), c.Do(ops.Tanh, cell))
		return values{h, cell}, h
	})
}

// rnn is as lstm with one gate; the result is tanh of a dense layer of the state, which the last two blobs are.
func rnn(c *call) *graph.Value {
	n := c.Int("num_output", 0)
	x, state := c.stepped(n)
	hidden, out, bias := c.blob(state, n, n), c.blob(state+1, n, n), c.vector(state+2, n)
	return c.recur(x, []*graph.Value{c.Full(x.Type.DType, 0, x.Type.Shape[1], n)}, func(x, on *graph.Value, before values) (values, *graph.Value) {
		h := c.Do(ops.Tanh, c.Do(ops.Add, x, c.Do(ops.Dense, c.Do(ops.Multiply, before[0], on), c.Reshape(hidden, n, n))))
		return values{h}, c.Do(ops.Tanh, c.Do(ops.Add, c.Do(ops.Dense, h, c.Reshape(out, n, n)), bias))
	})
}

// stepped is what the data give to width gates, [steps, batch, width], and the first blob of the state.
func (c *call) stepped(width int) (x *graph.Value, state int) {
	c.Ignore("debug_info")
	if c.Bool("expose_hidden", false) {
		compose.Fail("expose_hidden is not supported")
	}
	flat := func(x *graph.Value, lead int) *graph.Value { // rows
		s := x.Type.Shape
		if len(s) < lead+1 {
			compose.Fail("data %s", x.Type)
		}
		return c.Reshape(x, types.Count(s[:lead]), types.Count(s[lead:]))
	}
	steps, batch := c.Shape(0)[0], 0
	if c.WantRank(0, 3); c.Rank(1) != 2 {
		compose.Fail("indicators %s", c.X(1).Type)
	}
	batch = c.Shape(0)[1]
	product := func(x *graph.Value, blob int) *graph.Value {
		in := x.Type.Shape[1]
		return c.Do(ops.Dense, x, c.Reshape(c.blob(blob, width, in), width, in))
	}
	x = c.Reshape(c.Do(ops.Add, product(flat(c.X(0), 2), 0), c.vector(1, width)), steps, batch, width)
	if c.data < 3 {
		return x, 2
	}
	return c.Do(ops.Add, x, c.ExpandDims(product(flat(c.X(2), 1), 2), 0)), 3
}

// recur runs a cell over the steps: from what the data give, whether the sequence goes on, and the state before, to the state and the result.
func (c *call) recur(x *graph.Value, start values, cell func(x, on *graph.Value, before values) (values, *graph.Value)) *graph.Value {
	a := graph.LoopAttrs{Trips: x.Type.Shape[0], Carried: len(start), Sequences: 2}
	out := c.Iterate(a, append(start, x, c.ExpandDims(c.Cast(c.X(1), x.Type.DType), 2)), func(in []*graph.Value) []*graph.Value {
		state, y := cell(in[len(start)], in[len(start)+1], in[:len(start)])
		return append(state, y)
	})
	return out[len(start)]
}
