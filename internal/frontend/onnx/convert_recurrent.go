package onnx

import (
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

var recurrentRows = []row{{"LSTM", "", 1, lstm}, {"GRU", "", 1, gru}, {"RNN", "", 1, rnn}}

func lstm(c *call) values {
	r := c.recurrent("Sigmoid", "Tanh", "Tanh")
	r.C, r.P = c.state(6), c.Opt(7)
	r.InputForget = c.Bool("input_forget", false)
	y, h, cell := c.LSTM(r)
	return c.layout(y, h, cell)
}

func gru(c *call) values {
	r := c.recurrent("Sigmoid", "Tanh")
	r.LinearBeforeReset = c.Bool("linear_before_reset", false)
	return c.layout(c.GRU(r))
}

func rnn(c *call) values {
	return c.layout(c.RNN(c.recurrent("Tanh")))
}

// recurrent reads the operands and attributes that all recurrent layers share. functions are the default activations.
func (c *call) recurrent(functions ...string) compose.Recurrent {
	r := compose.Recurrent{X: c.X(0), W: c.X(1), R: c.X(2), B: c.Opt(3), Lens: c.Opt(4), H: c.state(5), Clip: c.Float("clip", 0)}
	c.Ignore("output_sequence") // of opset 1: Y is there or not
	for i := range 3 {
		c.WantRank(i, 3)
	}
	if c.Int("layout", 0) == 1 {
		r.X = c.Transpose(r.X, 1, 0, 2)
	}
	switch c.OneOf("direction", "forward", "forward", "reverse", "bidirectional") {
	case "forward":
		r.Reverse = []bool{false}
	case "reverse":
		r.Reverse = []bool{true}
	default:
		r.Reverse = []bool{false, true}
	}
	if n := c.Int("hidden_size", r.R.Type.Shape[r.R.Type.Rank()-1]); n != r.R.Type.Shape[r.R.Type.Rank()-1] {
		compose.Fail("hidden_size is %d, but R is %s", n, r.R.Type)
	}
	if steps := r.X.Type.Shape[0]; r.Lens != nil && fullLength(r.Lens, steps) {
		r.Lens = nil
	}
	r.Activations = c.activations(len(r.Reverse), functions)
	return r
}

// fullLength reports whether all sequences are known to take every step.
func fullLength(lens *graph.Value, steps int) bool {
	t := lens.Value()
	if t == nil || !t.DType.IsInt() {
		return false
	}
	for _, n := range t.Ints() {
		if n != steps {
			return false
		}
	}
	return true
}

// state is an initial state, whose batch axis comes first with layout 1.
func (c *call) state(i int) *graph.Value {
	v := c.Opt(i)
	if v != nil && v.Type.Rank() == 3 && c.Int("layout", 0) == 1 {
		return c.Transpose(v, 1, 0, 2)
	}
	return v
}

// layout gives the results the order of axes that the attribute asks for.
func (c *call) layout(y *graph.Value, states ...*graph.Value) values {
	out := values{y}
	if c.Int("layout", 0) == 1 {
		out[0] = c.Transpose(y, 2, 0, 1, 3)
	}
	for _, s := range states {
		if c.Int("layout", 0) == 1 {
			s = c.Transpose(s, 1, 0, 2)
		}
		out = append(out, s)
	}
	return out
}

// activations are those of each direction. activation_alpha and activation_beta are used up in order by the functions
// that have such a parameter.
func (c *call) activations(directions int, absent []string) [][]compose.Activation {
	names := c.Strs("activations")
	if len(names) == 0 {
		for range directions {
			names = append(names, absent...)
		}
	}
	if len(names) != directions*len(absent) {
		compose.Fail("%s instead of %d", spelling.Count(len(names), "activation"), directions*len(absent))
	}
	alphas, betas := c.Floats("activation_alpha"), c.Floats("activation_beta")
	next := func(list *[]float64, absent float64) float64 {
		if len(*list) == 0 {
			return absent
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return v
	}
	out := make([][]compose.Activation, directions)
	for i, name := range names {
		a, ok := activationTable[strings.ToLower(name)]
		if !ok {
			compose.Fail("activation %q is not supported", name)
		}
		p := parameters{a.alpha, a.beta}
		if a.parameters > 0 {
			p.alpha = next(&alphas, a.alpha)
		}
		if a.parameters > 1 {
			p.beta = next(&betas, a.beta)
		}
		out[i/len(absent)] = append(out[i/len(absent)], func(b *compose.Builder, x *graph.Value) *graph.Value { return a.apply(b, x, p) })
	}
	return out
}

type parameters struct{ alpha, beta float64 }

// An activation is a function that recurrent layers name, with the defaults of its parameters.
type activation struct {
	parameters  int
	alpha, beta float64
	apply       func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value
}

// activationTable lists the functions by their name in small letters.
var activationTable = map[string]activation{
	"relu":     {apply: func(b *compose.Builder, x *graph.Value, _ parameters) *graph.Value { return b.Do(ops.Relu, x) }},
	"tanh":     {apply: func(b *compose.Builder, x *graph.Value, _ parameters) *graph.Value { return b.Do(ops.Tanh, x) }},
	"sigmoid":  {apply: func(b *compose.Builder, x *graph.Value, _ parameters) *graph.Value { return b.Do(ops.Sigmoid, x) }},
	"softsign": {apply: func(b *compose.Builder, x *graph.Value, _ parameters) *graph.Value { return b.Do(ops.Softsign, x) }},
	"softplus": {apply: func(b *compose.Builder, x *graph.Value, _ parameters) *graph.Value { return b.Do(ops.Softplus, x) }},
	"affine": {2, 1, 0, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Do(ops.Add, b.Scaled(x, p.alpha), compose.Like(x, p.beta))
	}},
	"leakyrelu": {1, 0.01, 0, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: p.alpha}, x)
	}},
	"thresholdedrelu": {1, 1, 0, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Apply(ops.ThresholdedRelu, ops.AlphaAttrs{Alpha: p.alpha}, x)
	}},
	"scaledtanh": {2, 1, 1, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Scaled(b.Do(ops.Tanh, b.Scaled(x, p.beta)), p.alpha)
	}},
	"hardsigmoid": {2, 0.2, 0.5, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: p.alpha, Beta: p.beta}, x)
	}},
	"elu": {1, 1, 0, func(b *compose.Builder, x *graph.Value, p parameters) *graph.Value {
		return b.Apply(ops.Elu, ops.AlphaAttrs{Alpha: p.alpha}, x)
	}},
}
