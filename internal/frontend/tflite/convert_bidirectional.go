package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// Bidirectional layers are two of one direction, of which one reads the sequence from its end.

// Operands of a bidirectional LSTM: those of each direction, which lie as those of a layer of one direction, and its states.
const bidirectionalLSTMForward, bidirectionalLSTMBackward, bidirectionalLSTMStates, bidirectionalLSTMAuxiliary = 1, 18, 35, 39

func bidirectionalLSTM(c *call) values {
	c.Ignore("asymmetric_quantize_inputs")
	half := func(first, states int) []int {
		places := make([]int, lstmNorm)
		for i := 1; i < lstmState; i++ {
			places[i] = first + i - 1
		}
		places[lstmState], places[lstmCell] = states, states+1
		return places
	}
	return c.bidirectional(sequenceLSTM, half(bidirectionalLSTMForward, bidirectionalLSTMStates), half(bidirectionalLSTMBackward, bidirectionalLSTMStates+2), bidirectionalLSTMAuxiliary)
}

func bidirectionalRNN(c *call) values {
	return c.bidirectional(sequenceRNN, []int{0, 1, 2, 3, 4}, []int{0, 5, 6, 7, 8}, 9)
}

// bidirectional applies a layer to the operands at the places of each direction. auxiliary is the place of a second sequence, that of the
// other direction's layer below: without weights of its own, behind it, the backward layer reads it instead of the first.
func (c *call) bidirectional(layer func(*call) values, forward, backward []int, auxiliary int) values {
	backward = slices.Clone(backward)
	for i := auxiliary; i < len(c.In); i++ {
		switch {
		case !c.Present(i):
		case i == auxiliary:
			backward[0] = auxiliary
		default:
			compose.Fail("weights of an auxiliary input are not supported")
		}
	}
	timeMajor := c.Bool("time_major", schema[c.Node.Op]["time_major"].absent != 0)
	time := 1
	if timeMajor {
		time = 0
	}
	of := func(places []int, turned bool) values {
		in, infos := make(values, len(places)), make([]*tensorInfo, len(places))
		for i, p := range places {
			if c.Present(p) {
				in[i], infos[i] = c.In[p], c.op.in[p]
			}
		}
		if in[0] == nil || in[0].Type.Rank() != 3 {
			compose.Fail("the sequence is missing, or is none")
		}
		if turned {
			in[0] = c.Reverse(in[0], time)
		}
		inner := c.with(in...)
		op := *c.op
		op.in = infos
		inner.op = &op
		out := layer(inner)
		if turned {
			out[0] = c.Reverse(out[0], time)
		}
		return out
	}
	f, b := of(forward, false), of(backward, true)
	states := append(slices.Clone(f[1:]), b[1:]...)
	if c.Bool("merge_outputs", false) {
		return append(values{c.Concat(2, f[0], b[0])}, states...)
	}
	return append(values{f[0], b[0]}, states...)
}

// Operands of a basic LSTM, whose gates are one product of the data beside the last output: input, candidate, forget, output.
const (
	basicKernel                                                      = 1
	basicData, basicOutput, basicWeight, basicBias, basicState, four = 0, 1, 2, 3, 4, 4
)

// basicLSTM gives the output, the state, the data beside the last output, and the gates before their functions.
func (c *call) basicLSTM() values {
	c.Ignore("asymmetric_quantize_inputs", "fused_activation_function", "cell_clip", "proj_clip")
	if c.from(basicData).quantized() {
		return c.integerBasicLSTM()
	}
	both := c.Concat(1, c.X(basicData), c.X(basicOutput))
	gates := c.Do(ops.Add, c.Do(ops.Dense, both, c.plain(c.X(basicWeight))), c.X(basicBias))
	n := gates.Type.Shape[1] / four
	gate := func(k int, d *opDef) *graph.Value { return c.Do(d, c.Slice(gates, 1, k*n, (k+1)*n)) }
	state := c.Do(ops.Add, c.Do(ops.Multiply, gate(0, ops.Sigmoid), gate(1, ops.Tanh)), c.Do(ops.Multiply, gate(2, ops.Sigmoid), c.X(basicState)))
	return values{c.Do(ops.Multiply, gate(3, ops.Sigmoid), c.Do(ops.Tanh, state)), state, both, gates}
}
