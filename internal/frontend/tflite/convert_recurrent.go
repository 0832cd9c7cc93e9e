package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var recurrentRows = []row{
	{"UNIDIRECTIONAL_SEQUENCE_LSTM", sequenceLSTM}, {"LSTM", stepLSTM}, {"BIDIRECTIONAL_SEQUENCE_LSTM", bidirectionalLSTM},
	{"UNIDIRECTIONAL_SEQUENCE_RNN", sequenceRNN}, {"RNN", stepRNN}, {"BIDIRECTIONAL_SEQUENCE_RNN", bidirectionalRNN}, {"SVDF", svdf},
}

// Rows give the next values of states behind their results; see updated.

// product is rows of x by the transpose of the weight that is operand i, by integers where the weight has 8 bits.
func (c *call) product(x *graph.Value, i int) *graph.Value {
	w := c.X(i)
	if w.Type.Rank() != 2 || x.Type.Rank() != 2 || x.Type.Shape[1] != w.Type.Shape[1] {
		compose.Fail("%s by the weight %s", x.Type, w.Type)
	}
	switch {
	case !c.op.in[i].quantized():
	case c.options().floats:
		c.Ignore("asymmetric_quantize_inputs")
		return c.Do(ops.Dense, x, c.dequantized(w, c.op.in[i]))
	default:
		return c.hybridProduct(x, w, c.op.in[i], c.Bool("asymmetric_quantize_inputs", false))
	}
	return c.Do(ops.Dense, x, c.plain(w))
}

// sequence brings operand 0 to [steps, batch, inputs] and says whether it was that.
func (c *call) sequence() (x *graph.Value, timeMajor bool) {
	x, timeMajor = c.X(0), c.Bool("time_major", schema[c.Node.Op]["time_major"].absent != 0)
	if x.Type.Rank() != 3 {
		compose.Fail("a sequence %s", x.Type)
	}
	if !timeMajor {
		x = c.Transpose(x, 1, 0, 2)
	}
	if x.Type.Shape[0] == 0 {
		compose.Fail("a sequence of no steps")
	}
	return x, timeMajor
}

// Operands of an LSTM: gates in the order input, forget, cell, output.
const (
	lstmInput, lstmRecurrent, lstmPeephole, lstmBias = 1, 5, 9, 12
	lstmProjection, lstmProjectionBias               = 16, 17
	lstmState, lstmCell, lstmNorm                    = 18, 19, 20
)

func sequenceLSTM(c *call) values {
	x, timeMajor := c.sequence()
	if c.Bool("diagonal_recurrent_tensors", false) {
		compose.Fail("diagonal recurrent tensors are not supported")
	}
	var l lstm
	if c.from(0).quantized() {
		l = c.integerLSTM()
	} else {
		l = c.floatLSTM()
	}
	steps, batch := x.Type.Shape[0], x.Type.Shape[1]
	in := values{c.X(lstmState), c.X(lstmCell)}
	for _, gate := range l.before(c.Reshape(x, steps*batch, x.Type.Shape[2])) {
		in = append(in, c.Reshape(gate, steps, batch, gate.Type.Shape[1]))
	}
	out := c.Iterate(graph.LoopAttrs{Trips: steps, Carried: 2, Sequences: len(in) - 2}, in, func(in []*graph.Value) []*graph.Value {
		h, cell := l.step(in[0], in[1], in[2:])
		return values{h, cell, h}
	})
	return values{c.major(out[2], timeMajor), out[0], out[1]}
}

// major brings a sequence of results [steps, batch, units] to the order of the operator.
func (c *call) major(y *graph.Value, timeMajor bool) *graph.Value {
	if timeMajor {
		return y
	}
	return c.Transpose(y, 1, 0, 2)
}

// stepLSTM is one step.
func stepLSTM(c *call) values {
	switch k := c.Int("kernel_type", 0); k {
	case 0:
	case basicKernel:
		return c.basicLSTM()
	default:
		compose.Fail("LSTM kernels of type %d are not supported", k)
	}
	l := c.floatLSTM()
	h, cell := l.step(c.X(lstmState), c.X(lstmCell), l.before(c.X(0)))
	return values{h, h, cell}
}

// An lstm computes what gates get of the data, for all steps, and a step from that and the states.
type lstm struct {
	before func(x *graph.Value) values
	step   func(h, cell *graph.Value, gates values) (nextH, nextCell *graph.Value)
}

func (c *call) floatLSTM() lstm {
	number, cellClip, projectionClip := c.Int("fused_activation_function", 0), c.Float("cell_clip", 0), c.Float("proj_clip", 0)
	c.Ignore("asymmetric_quantize_inputs")
	coupled := !c.Present(lstmInput) // the input gate is what the forget gate leaves
	first := 0
	if coupled {
		first = 1
	}
	normed := c.Present(lstmNorm + 1)
	limited := func(x *graph.Value, bound float64) *graph.Value {
		if bound <= 0 {
			return x
		}
		return c.Apply(ops.Clip, ops.ClipAttrs{Min: -bound, Max: bound, HasMin: true, HasMax: true}, x)
	}
	before := func(x *graph.Value) values {
		var gates values
		for k := first; k < 4; k++ {
			g := c.product(x, lstmInput+k)
			if !normed && c.Present(lstmBias+k) {
				g = c.Do(ops.Add, g, c.plain(c.X(lstmBias+k)))
			}
			gates = append(gates, g)
		}
		return gates
	}
	step := func(h, cell *graph.Value, gates values) (*graph.Value, *graph.Value) {
		gate := func(k int, cell *graph.Value) *graph.Value {
			g := c.Do(ops.Add, gates[k-first], c.product(h, lstmRecurrent+k))
			peephole := map[int]int{0: 0, 1: 1, 3: 2}
			if p, ok := peephole[k]; ok && c.Present(lstmPeephole+p) {
				g = c.Do(ops.Add, g, c.Do(ops.Multiply, cell, c.realOperand(lstmPeephole+p)))
			}
			if normed {
				mean, inverse := c.Standardization(g, 1e-8, 1)
				g = c.Do(ops.Multiply, c.Do(ops.Subtract, g, mean), inverse)
				g = c.Do(ops.Add, c.Do(ops.Multiply, g, c.realOperand(lstmNorm+k)), c.X(lstmBias+k))
			}
			return g
		}
		f := c.Do(ops.Sigmoid, gate(1, cell))
		var i *graph.Value
		if coupled {
			i = c.Do(ops.Subtract, compose.Like(f, 1), f)
		} else {
			i = c.Do(ops.Sigmoid, gate(0, cell))
		}
		candidate := c.activation(gate(2, nil), number)
		next := limited(c.Do(ops.Add, c.Do(ops.Multiply, f, cell), c.Do(ops.Multiply, i, candidate)), cellClip)
		out := c.Do(ops.Multiply, c.Do(ops.Sigmoid, gate(3, next)), c.activation(next, number))
		if c.Present(lstmProjection) {
			out = c.product(out, lstmProjection)
			if c.Present(lstmProjectionBias) {
				out = c.Do(ops.Add, out, c.X(lstmProjectionBias))
			}
			out = limited(out, projectionClip)
		}
		return out, next
	}
	return lstm{before, step}
}

// rnn is a step of h = f(x W + h R + bias), of data that is multiplied already.
func (c *call) rnn(xW, h *graph.Value) *graph.Value {
	sum := c.Do(ops.Add, c.Do(ops.Add, xW, c.product(h, 2)), c.plain(c.X(3)))
	return c.activation(sum, c.Int("fused_activation_function", 0))
}

func stepRNN(c *call) values {
	h := c.rnn(c.product(c.X(0), 1), c.X(4))
	return values{h, h}
}

func sequenceRNN(c *call) values {
	x, timeMajor := c.sequence()
	steps, batch := x.Type.Shape[0], x.Type.Shape[1]
	xW := c.product(c.Reshape(x, steps*batch, x.Type.Shape[2]), 1)
	in := values{c.X(4), c.Reshape(xW, steps, batch, xW.Type.Shape[1])}
	out := c.Iterate(graph.LoopAttrs{Trips: steps, Carried: 1, Sequences: 1}, in, func(in []*graph.Value) []*graph.Value {
		h := c.rnn(in[1], in[0])
		return values{h, h}
	})
	return values{c.major(out[1], timeMajor), out[0]}
}

// svdf filters the data, x W for each filter, and then the last results of each filter in time; units add up filters, rank each.
func svdf(c *call) values {
	x, rank := c.X(0), c.Int("rank", 0)
	filters, inputs, memory := c.Shape(1)[0], c.Shape(1)[1], c.Shape(2)[1]
	if x.Type.Rank() != 2 || x.Type.Shape[1] != inputs || rank < 1 || filters%rank != 0 || c.Shape(2)[0] != filters {
		compose.Fail("%s with filters %s and %s of rank %d", x.Type, c.X(1).Type, c.X(2).Type, rank)
	}
	batch, units := x.Type.Shape[0], filters/rank
	number := c.Int("fused_activation_function", 0)
	state := c.Reshape(c.X(4), batch, filters, memory)
	remember := func(features *graph.Value) *graph.Value {
		return c.Concat(2, c.Slice(state, 2, 1, memory), c.ExpandDims(features, 2))
	}
	joined := func(held, weight *graph.Value) *graph.Value {
		y := c.Reduce(ops.Sum, c.Do(ops.Multiply, held, weight), false, 2)
		return c.Reduce(ops.Sum, c.Reshape(y, batch, units, rank), false, 2)
	}
	next := func(held *graph.Value) *graph.Value { return c.Reshape(held, c.Shape(4)...) }
	if !c.from(0).quantized() {
		held := remember(c.product(x, 1))
		y := joined(held, c.realOperand(2))
		if c.Present(3) {
			y = c.Do(ops.Add, y, c.X(3))
		}
		return values{c.activation(y, number), next(held)}
	}
	c.Ignore("asymmetric_quantize_inputs")
	from, feature, time, held, to := c.from(0), c.from(1), c.from(2), c.from(4), c.to(0)
	w := c.permuted(c.X(1), 1, 0)
	sums := c.Do(ops.QnnMatmul, x, from.zeros(x.Type.DType), w, feature.zeros(w.Type.DType))
	sums = c.MultiplyFixed(sums, 0, compose.FixedPointOf(float64(from.scale())*float64(feature.scale())/float64(held.scale())))
	lo, hi := held.dtype().IntRange()
	sums = c.Apply(ops.Clip, ops.ClipAttrs{Min: float64(lo), Max: float64(hi), HasMin: true, HasMax: true}, sums)
	kept := remember(c.Cast(sums, held.dtype()))
	y := joined(c.Cast(kept, types.I32), c.Cast(c.X(2), types.I32))
	if c.Present(3) {
		y = c.Do(ops.Add, y, c.X(3))
	}
	y = c.narrowed(c.MultiplyFixed(y, 0, compose.FixedPointOf(float64(held.scale())*float64(time.scale())/float64(to.scale()))), to)
	return values{y, next(kept)}
}

// realOperand is operand i as real numbers.
func (c *call) realOperand(i int) *graph.Value {
	if c.op.in[i].quantized() {
		return c.dequantized(c.X(i), c.op.in[i])
	}
	return c.plain(c.X(i))
}
