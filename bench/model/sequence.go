package model

import "math"

// Attention is heads · size wide, with the weights of its four products; mask may be absent.
func (b *Builder) Attention(x Value, rows, heads, size int, mask Value) Value {
	wide := heads * size
	part := func(perm ...int) Value {
		return b.Transpose(b.Reshape(b.Linear(x, wide, wide), 1, rows, heads, size), perm...)
	}
	q, k, v := part(0, 2, 1, 3), part(0, 2, 3, 1), part(0, 2, 1, 3)
	y := b.Core(q, k, v, size, mask)
	return b.Linear(b.Reshape(b.Transpose(y, 0, 2, 1, 3), 1, rows, wide), wide, wide)
}

// Core is softmax(q·k / √size + mask) · v, with k transposed already.
func (b *Builder) Core(q, k, v Value, size int, mask Value) Value {
	s := b.Do("Div", b.Do("MatMul", q, k), b.Number(float32(math.Sqrt(float64(size)))))
	if mask != Absent {
		s = b.Do("Add", s, mask)
	}
	return b.Do("MatMul", b.Op("Softmax", []Value{s}, At("axis", -1)), v)
}

// Recurrent adds an LSTM, GRU or RNN with gates·hidden rows of weights and the given directions; x is steps × batch × in. It
// returns all results of the node's first output, steps × directions × batch × hidden.
func (b *Builder) Recurrent(op string, x Value, in, hidden, directions int) Value {
	gates := map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[op]
	deviation := 1 / math.Sqrt(float64(hidden))
	w, r := b.Weight(deviation, directions, gates*hidden, in), b.Weight(deviation, directions, gates*hidden, hidden)
	attrs := []Attr{At("hidden_size", hidden)}
	if directions == 2 {
		attrs = append(attrs, At("direction", "bidirectional"))
	}
	if op == "GRU" {
		attrs = append(attrs, At("linear_before_reset", 1))
	}
	return b.Op(op, []Value{x, w, r, b.Weight(0.1, directions, 2*gates*hidden)}, attrs...)
}
