package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A row says what an operator becomes.
type row struct {
	op      string
	convert func(c *call) values
}

// values are what a row returns: the node's outputs, in order.
type values = []*graph.Value

// A call is one operator being converted.
type call struct {
	*frontend.Call
	op *operator
}

// Table is every operator that is converted; each family stands with its functions.
var Table = newTable(slices.Concat(unaryRows, binaryRows, nnRows, poolRows, moveRows, blockRows, shapeRows, sliceRows, indexRows, reduceRows, resizeRows, quantRows, recurrentRows, controlRows, signalRows, suppressionRows, stateRows),
	customRows)

func newTable(builtin, custom []row) *frontend.Table {
	var list []frontend.Row
	add := func(domain string, rows []row) {
		for _, r := range rows {
			if domain == "" && slices.Contains(integers, r.op) {
				r.convert = between(r.convert)
			}
			list = append(list, frontend.Row{Op: r.op, Domain: domain, Since: 1, Convert: func(c *frontend.Call) []*graph.Value {
				return r.convert(&call{c, c.Node.Attrs.(attributes).op})
			}})
		}
	}
	add("", builtin)
	add(customDomain, custom)
	return frontend.NewTable(list, takesDynamic, "IF")
}

// takesDynamic lists the operators that are converted without a look at extents.
var takesDynamic = []string{"ABS", "ADD", "CAST", "EXP", "GATHER", "GATHER_ND", "LOG", "LOGISTIC", "MUL", "NEG", "SQRT", "SUB", "TANH", "TRANSPOSE"}

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// from and to are what the file says of an operand and of a result, which has to be there.
func (c *call) from(i int) *tensorInfo {
	c.X(i)
	return c.op.in[i]
}

func (c *call) to(i int) *tensorInfo {
	if i >= len(c.op.out) || c.op.out[i] == nil {
		compose.Fail("result %d is missing", i)
	}
	return c.op.out[i]
}

// with is the call with other operands.
func (c *call) with(in ...*graph.Value) *call {
	return &call{c.With(in...), c.op}
}

// real is a row for operands of real numbers: quantised ones are dequantised, quantised results quantised.
func real(f func(c *call) values) func(c *call) values {
	return func(c *call) values {
		in := slices.Clone(c.In)
		between := false
		for i, v := range in {
			if v != nil && c.op.in[i].quantized() {
				in[i], between = c.dequantized(v, c.op.in[i]), true
			}
		}
		if between {
			c.Note("quantised %s are computed in float32 between their scales", c.Node.Qualified())
		}
		out := f(c.with(in...))
		for i := range out {
			if i < len(c.op.out) && c.op.out[i].quantized() && out[i] != nil {
				out[i] = c.quantize(out[i], c.op.out[i])
			}
		}
		return out
	}
}

// moved is a row that moves elements, or chooses among them, which it does on integers as they are. Results that have another scale
// than the first operand are brought to it.
func moved(f func(c *call) values) func(c *call) values {
	return func(c *call) values {
		out := f(c)
		for i := range out {
			if i < len(c.op.out) && out[i] != nil && c.op.out[i].quantized() && c.op.in[0].quantized() && !c.op.out[i].sameScale(c.op.in[0]) {
				out[i] = c.rescaled(out[i], c.op.in[0], c.op.out[i])
			}
		}
		return out
	}
}

// fused activation functions by number.
var activations = [...]struct {
	lo, hi       float64
	hasLo, hasHi bool
}{1: {0, 0, true, false}, 2: {-1, 1, true, true}, 3: {0, 6, true, true}}

const fusedTanh = 4

// activated applies the activation function that is fused with the operator to real numbers.
func (c *call) activated(x *graph.Value) *graph.Value {
	return c.activation(x, c.Int("fused_activation_function", 0))
}

// activation applies a function by its number to real numbers.
func (c *call) activation(x *graph.Value, number int) *graph.Value {
	switch {
	case number == 0:
		return x
	case number == 1:
		return c.Do(ops.Relu, x)
	case number == fusedTanh:
		return c.Do(ops.Tanh, x)
	case number > 0 && number < len(activations):
		r := activations[number]
		return c.Apply(ops.Clip, ops.ClipAttrs{Min: r.lo, Max: r.hi, HasMin: r.hasLo, HasMax: r.hasHi}, x)
	}
	compose.Fail("activation function %d is not supported", number)
	return nil
}

// shared makes a row of a function that TensorFlow has as well, with one result.
func shared(f func(c *frontend.Call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c.Call)} }
}

// sharedAll makes one of a function with several.
func sharedAll(f func(c *frontend.Call) []*graph.Value) func(c *call) values {
	return func(c *call) values { return f(c.Call) }
}
