package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var recurrentRows = []row{{"LSTMBlockCell", lstmCell}, {"BlockLSTM", lstmBlock}, {"BlockLSTMV2", lstmBlock}, {"GRUBlockCell", gruCell}}

// An lstm is a cell whose gates stand one behind the other along the columns of its weight [inputs+hidden, 4*hidden]: input, cell, forget and output in
// version 1, input, forget, cell and output in version 2 (lstm_ops.cc).
type lstm struct {
	*call
	input, recurrent *graph.Value
	bias             *graph.Value
	peephole         [3]*graph.Value // to input, forget and output gate, or nil
	forget, clip     float64
	cell, gate       int // places of the cell's and the forget gate's columns
}

// lstm reads operands from the weight on, and attributes. x has its inputs along the last axis.
func (c *call) lstm(x *graph.Value, from int) *lstm {
	w := c.X(from)
	inputs := x.Type.Shape[x.Type.Rank()-1]
	if w.Type.Rank() != 2 || w.Type.Shape[0] < inputs || w.Type.Shape[1] != 4*(w.Type.Shape[0]-inputs) {
		compose.Fail("weight %s for %s", w.Type, x.Type)
	}
	l := &lstm{call: c, input: c.Slice(w, 0, 0, inputs), recurrent: c.Slice(w, 0, inputs, w.Type.Shape[0]), bias: c.X(from + 4), cell: 1, gate: 2}
	l.forget, l.clip = c.Float("forget_bias", 1), c.Float("cell_clip", 3)
	if c.Node.Op == "BlockLSTMV2" {
		l.forget, l.clip = 0, c.Float("cell_clip", 0)
		l.cell, l.gate = 2, 1
	}
	if c.Bool("use_peephole", false) {
		for k := range l.peephole {
			l.peephole[k] = c.X(from + 1 + k)
		}
	}
	return l
}

// gates are the products of inputs, with the bias.
func (l *lstm) gates(x *graph.Value) *graph.Value {
	return l.Do(ops.Add, l.Matmul(x, l.input), l.bias)
}

// step gives i, cs, f, o, ci, co and h of the gates of inputs and of the state before.
func (l *lstm) step(gates, before, h *graph.Value) values {
	all := l.Do(ops.Add, gates, l.Matmul(h, l.recurrent))
	n := l.recurrent.Type.Shape[0]
	part := func(k int) *graph.Value { return l.Slice(all, 1, k*n, (k+1)*n) }
	peep := func(k int, x, state *graph.Value) *graph.Value {
		if l.peephole[k] == nil {
			return x
		}
		return l.Do(ops.Add, x, l.Do(ops.Multiply, state, l.peephole[k]))
	}
	f := part(l.gate)
	if l.forget != 0 {
		f = l.Do(ops.Add, f, compose.Like(f, l.forget))
	}
	i := l.Do(ops.Sigmoid, peep(0, part(0), before))
	ci := l.Do(ops.Tanh, part(l.cell))
	f = l.Do(ops.Sigmoid, peep(1, f, before))
	cs := l.Do(ops.Add, l.Do(ops.Multiply, ci, i), l.Do(ops.Multiply, before, f))
	if l.clip > 0 {
		cs = l.Clipped(cs, -l.clip, l.clip)
	}
	o := l.Do(ops.Sigmoid, peep(2, part(3), cs))
	co := l.Do(ops.Tanh, cs)
	return values{i, cs, f, o, ci, co, l.Do(ops.Multiply, co, o)}
}

// lstmCell has the operands x, cell state, h, weight, three peepholes and bias.
func lstmCell(c *call) values {
	x := c.X(0)
	if x.Type.Rank() != 2 {
		compose.Fail("operand %s", x.Type)
	}
	l := c.lstm(x, 3)
	return l.step(l.gates(x), c.X(1), c.X(2))
}

// lstmBlock is a sequence: a number of steps, then the operands of the cell, of which x is [steps, batch, inputs]. Behind the number of steps results are zeros.
func lstmBlock(c *call) values {
	x := c.X(1)
	if x.Type.Rank() != 3 || x.Type.Shape[0] == 0 {
		compose.Fail("a sequence %s", x.Type)
	}
	all := x.Type.Shape[0]
	steps := max(0, min(c.KnownInt(0, "the number of steps"), all))
	if steps == 0 {
		compose.Fail("a sequence of no steps")
	}
	l := c.lstm(x, 4)
	gates := l.gates(c.Slice(x, 0, 0, steps))
	out := c.Iterate(graph.LoopAttrs{Trips: steps, Carried: 2, Sequences: 1}, values{c.X(2), c.X(3), gates}, func(in []*graph.Value) []*graph.Value {
		r := l.step(in[2], in[0], in[1])
		return append(values{r[1], r[6]}, r...)
	})[2:]
	for k, v := range out {
		if steps < all {
			out[k] = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, 0, 0}, PadAfter: []int{all - steps, 0, 0}, Mode: "constant"}, v)
		}
	}
	return out
}

// gruCell has the operands x, h, weight of reset and update gate, weight of the candidate, and their biases; it gives r, u, c and h.
func gruCell(c *call) values {
	x, h := c.X(0), c.X(1)
	if x.Type.Rank() != 2 || h.Type.Rank() != 2 {
		compose.Fail("operand %s with state %s", x.Type, h.Type)
	}
	n := h.Type.Shape[1]
	both := c.Do(ops.Sigmoid, c.Do(ops.Add, c.Matmul(c.Concat(1, x, h), c.X(2)), c.X(4)))
	if both.Type.Shape[1] != 2*n {
		compose.Fail("weight %s for a state %s", c.X(2).Type, h.Type)
	}
	r, u := c.Slice(both, 1, 0, n), c.Slice(both, 1, n, 2*n)
	candidate := c.Do(ops.Tanh, c.Do(ops.Add, c.Matmul(c.Concat(1, x, c.Do(ops.Multiply, r, h)), c.X(3)), c.X(5)))
	rest := c.Do(ops.Subtract, compose.Like(u, 1), u)
	return values{r, u, candidate, c.Do(ops.Add, c.Do(ops.Multiply, u, h), c.Do(ops.Multiply, rest, candidate))}
}
