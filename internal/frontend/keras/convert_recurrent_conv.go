package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var convRecurrentRows = []row{{"ConvLSTM1D", convLSTM}, {"ConvLSTM2D", convLSTM}, {"ConvLSTM3D", convLSTM}}

// convLSTM is an LSTM whose products are convolutions (Shi et al., 2015): of the input as its options say, of the state with as many
// results as it has places. Data are [batch, steps, ...spatial, channels] or channels first; gates stand in the order input, forget, cell, output.
func convLSTM(c *call) values {
	c.Ignore("unit_forget_bias", "unroll")
	if c.Bool("stateful", false) {
		c.Note("layer %q keeps its state between calls in Keras; here each run begins with zeros", c.Node.Name)
	}
	last := c.channelsLast()
	first := func(x *graph.Value) *graph.Value {
		if last {
			return c.ChannelsFirst(x)
		}
		return x
	}
	back := func(x *graph.Value) *graph.Value {
		if last {
			return c.ChannelsLast(x)
		}
		return x
	}
	c.WantRank(0, 4)
	x := c.X(0)
	s := x.Type.Shape
	steps, batch, n := s[1], s[0], len(s)-3
	// The input's part of all steps at once, with steps in front.
	order := append([]int{1, 0}, compose.LastAxes(x, 2)...)
	x = first(c.Reshape(c.Transpose(x, order...), append([]int{steps * batch}, s[2:]...)...))
	kernel, recurrent := c.spatialKernel(0, n, 1, 0), c.spatialKernel(1, n, 1, 0)
	units := recurrent.Type.Shape[1]
	x = c.convolve(x, kernel, c.window(x, kernel.Type.Shape[2:]), 1, 2)
	places := x.Type.Shape[2:]
	x = c.Reshape(x, append([]int{steps, batch}, x.Type.Shape[1:]...)...)

	shape := slices.Concat([]int{batch, units}, places)
	ones := slices.Repeat([]int{1}, n)
	again := compose.Window{In: places, Kernel: recurrent.Type.Shape[2:], Strides: ones, Dilation: ones}
	again.Padding = again.Same(true)
	gate, activation := c.gate("recurrent_activation"), c.gate("activation")
	start := func(i int) *graph.Value {
		if v := c.given(i); v != nil {
			return first(v)
		}
		return c.Full(x.Type.DType, 0, shape...)
	}
	a := graph.LoopAttrs{Trips: steps, Carried: 2, Sequences: 1, Reverse: c.Bool("go_backwards", false)}
	operands := values{start(0), start(1), x}
	mask := c.mask(0)
	if mask != nil {
		mask = c.Transpose(mask, 1, 0)
		operands = append(operands, c.Reshape(mask, append([]int{steps, batch}, slices.Repeat([]int{1}, n+1)...)...))
		a.Sequences++
	}
	out := c.Iterate(a, operands, func(in []*graph.Value) []*graph.Value {
		b := c.Builder
		sum := c.Do(ops.Add, in[2], c.Conv(again, 1, in[0], recurrent))
		g := c.Split(sum, 1, units, units, units, units)
		cell := c.Do(ops.Add, c.Do(ops.Multiply, gate(b, g[1]), in[1]), c.Do(ops.Multiply, gate(b, g[0]), activation(b, g[2])))
		h := c.Do(ops.Multiply, gate(b, g[3]), activation(b, cell))
		if mask != nil {
			h, cell = c.Do(ops.Where, in[3], h, in[0]), c.Do(ops.Where, in[3], cell, in[1])
		}
		return values{h, cell, h}
	})
	h, cell, y := back(out[0]), back(out[1]), out[2]
	y = back(c.Reshape(y, append([]int{steps * batch}, y.Type.Shape[2:]...)...))
	y = c.Reshape(y, append([]int{steps, batch}, y.Type.Shape[1:]...)...)
	list := values{c.steps(recurrence{y: y, last: h, mask: mask, started: c.given(0) != nil, reverse: a.Reverse})}
	if c.Bool("return_state", false) {
		list = append(list, h, cell)
	}
	return list
}
