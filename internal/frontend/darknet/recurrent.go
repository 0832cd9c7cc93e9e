package darknet

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A connection is a connected layer within a recurrent one: weights [out, in] and biases, with its normalization in both.
type connection struct{ w, b *graph.Value }

// connections are those of the node, and the data as [steps, 1, in]. Rows are the steps of one sequence, which begins with a state of zeros.
func connections(c *frontend.Call, n int) (x *graph.Value, list []connection) {
	c.Ignore("output", "hidden")
	each := 2
	normalize := c.Bool("batch_normalize", false)
	if normalize {
		each = 5
	}
	if len(c.In) != 1+n*each {
		compose.Fail("%d operands", len(c.In))
	}
	for k := range n {
		p := connection{c.X(1 + k*each), c.X(2 + k*each)}
		if normalize { // operands are weights, biases, scales, means, variances
			scale, mean, variance := c.X(3+k*each), c.X(4+k*each), c.X(5+k*each)
			factor := c.Do(ops.Divide, scale, c.Do(ops.Sqrt, c.Do(ops.Add, variance, compose.Like(variance, 1e-6))))
			p.w = c.Do(ops.Multiply, p.w, c.ExpandDims(factor, 1))
			p.b = c.Do(ops.Subtract, p.b, c.Do(ops.Multiply, mean, factor))
		}
		list = append(list, p)
	}
	s := c.Shape(0)
	return c.Reshape(c.X(0), s[0], 1, types.Count(s[1:])), list
}

// joined are the weights and biases of gates one after the other, with an axis of directions: [1, gates*units, in] and [1, gates*units].
func joined(c *frontend.Call, gates ...connection) (w, b *graph.Value) {
	var ws, bs []*graph.Value
	for _, g := range gates {
		ws, bs = append(ws, g.w), append(bs, g.b)
	}
	return c.ExpandDims(c.Concat(0, ws...), 0), c.ExpandDims(c.Concat(0, bs...), 0)
}

func function(c *frontend.Call, name string) compose.Activation {
	return func(_ *compose.Builder, x *graph.Value) *graph.Value { return activation(c, name, x) }
}

// rows are the outputs [steps, directions, batch, units] as [steps, units, 1, 1].
func rows(c *frontend.Call, y *graph.Value) *graph.Value {
	s := y.Type.Shape
	return c.Reshape(y, s[0], s[3], 1, 1)
}

// gru has the layers of the state, then those of the input, of update, reset and candidate; the candidate's function is the logistic one unless tanh is set.
func gru(c *frontend.Call) *graph.Value {
	x, l := connections(c, 6)
	candidate := "logistic"
	if c.Bool("tanh", false) {
		candidate = "tanh"
	}
	r, rb := joined(c, l[0:3]...)
	w, wb := joined(c, l[3:6]...)
	y, _ := c.GRU(compose.Recurrent{X: x, W: w, R: r, B: c.Concat(1, wb, rb), Reverse: []bool{false},
		Activations: [][]compose.Activation{{function(c, "logistic"), function(c, candidate)}}})
	return rows(c, y)
}

// lstm has the layers of the state, then those of the input, of input, forget, output gate and candidate.
func lstm(c *frontend.Call) *graph.Value {
	x, l := connections(c, 8)
	ordered := func(g []connection) (w, b *graph.Value) { return joined(c, g[0], g[2], g[1], g[3]) } // as ONNX has them
	r, rb := ordered(l[0:4])
	w, wb := ordered(l[4:8])
	y, _, _ := c.LSTM(compose.Recurrent{X: x, W: w, R: r, B: c.Concat(1, wb, rb), Reverse: []bool{false},
		Activations: [][]compose.Activation{{function(c, "logistic"), function(c, "tanh"), function(c, "tanh")}}})
	return rows(c, y)
}

// rnn adds what the layers of input and state give, each with its function, and has a layer behind the state.
func rnn(c *frontend.Call) *graph.Value {
	if c.Int("shortcut", 0) != 0 || c.Bool("logistic", false) {
		compose.Fail("with a shortcut, or logistic, it is not supported")
	}
	x, l := connections(c, 3)
	name := activationOf(c)
	layer := func(x *graph.Value, p connection) *graph.Value {
		return activation(c, name, c.Do(ops.Add, c.Do(ops.Dense, x, p.w), p.b))
	}
	units := l[1].w.Type.Shape[0]
	in := layer(x, l[0])
	out := c.Iterate(graph.LoopAttrs{Trips: x.Type.Shape[0], Carried: 1, Sequences: 1}, []*graph.Value{c.Full(x.Type.DType, 0, 1, units), in}, func(in []*graph.Value) []*graph.Value {
		h := c.Do(ops.Add, in[1], layer(in[0], l[1]))
		return []*graph.Value{h, h}
	})
	y := layer(out[1], l[2])
	return c.Reshape(y, y.Type.Shape[0], y.Type.Shape[2], 1, 1)
}
