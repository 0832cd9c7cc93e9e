package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

type values = []*graph.Value

// A call is one node being converted.
type call struct{ *frontend.Call }

type row struct {
	op      string
	convert func(c *call) *graph.Value // the node's first result
}

// losses are operators whose operands behind the first are labels; without training they are functions of the first.
var losses = map[string]bool{"SoftmaxOutput": true, "Softmax": true, "LinearRegressionOutput": true, "LogisticRegressionOutput": true, "MAERegressionOutput": true, "SVMOutput": true}

// weighted are operators whose operands behind the first are weights.
var weighted = map[string]bool{"Convolution": true, "Convolution_v1": true, "Deconvolution": true, "FullyConnected": true, "BatchNorm": true, "BatchNorm_v1": true,
	"LeakyReLU": true, "InstanceNorm": true, "LayerNorm": true, "Embedding": true}

// weight is operand i; where the symbol has no weights, one is made up, of a shape.
func (c *call) weight(i int, shape ...int) *graph.Value {
	if i < len(c.Node.In) && !c.Present(i) {
		return c.MadeUp(c.Node.In[i], shape...)
	}
	return c.X(i)
}

// table lists every operator that is converted.
var table = newTable(slices.Concat(nnRows, elementwiseRows, moveRows))

func newTable(rows []row) *frontend.Table {
	var list []frontend.Row
	for _, r := range rows {
		list = append(list, frontend.Row{Op: r.op, Convert: func(c *frontend.Call) []*graph.Value { return values{r.convert(&call{c})} }})
	}
	list = append(list, frontend.Row{Op: "SliceChannel", Convert: sliceChannel}, frontend.Row{Op: "split", Convert: sliceChannel})
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported operators by name.
func Rows() []frontend.Supported { return table.Rows() }

// unary makes a row of an operator of one operand without attributes.
func unary(name string, d *op.Def) row {
	return row{name, func(c *call) *graph.Value { return c.Do(d, c.X(0)) }}
}

func identity(c *call) *graph.Value {
	c.Ignore(c.Node.Attrs.Names()...)
	return c.X(0)
}

var elementwiseRows = slices.Concat([]row{
	unary("relu", ops.Relu), unary("sigmoid", ops.Sigmoid), unary("tanh", ops.Tanh), unary("exp", ops.Exp), unary("log", ops.Log), unary("sqrt", ops.Sqrt),
	unary("abs", ops.Abs), unary("negative", ops.Negative), unary("erf", ops.Erf), unary("softsign", ops.Softsign), unary("reciprocal", ops.Reciprocal), unary("rsqrt", ops.Rsqrt),
	{"square", func(c *call) *graph.Value { return c.Do(ops.Multiply, c.X(0), c.X(0)) }},
	{"clip", func(c *call) *graph.Value {
		return c.Do(ops.Minimum, c.Do(ops.Maximum, c.X(0), compose.Like(c.X(0), c.Float("a_min", 0))), compose.Like(c.X(0), c.Float("a_max", 0)))
	}},
	{"add_n", func(c *call) *graph.Value { return c.Fold(ops.Add, c.All()...) }}, {"ElementWiseSum", func(c *call) *graph.Value { return c.Fold(ops.Add, c.All()...) }},
	{"Dropout", identity}, {"identity", identity}, {"_copy", identity}, {"BlockGrad", identity}, {"LinearRegressionOutput", identity}, {"MAERegressionOutput", identity}, {"SVMOutput", identity},
	unary("LogisticRegressionOutput", ops.Sigmoid),
}, binaryRows())

// binaryRows are the names of the four arithmetic operators and of maximum and minimum: of equal shapes, broadcast, with a number
// behind or in front.
func binaryRows() (rows []row) {
	for _, b := range []struct {
		def   *op.Def
		names []string
		right string // with the number in front
	}{
		{ops.Add, []string{"elemwise_add", "_plus", "_Plus", "broadcast_add", "broadcast_plus", "_add", "_npi_add"}, ""},
		{ops.Subtract, []string{"elemwise_sub", "_minus", "_Minus", "broadcast_sub", "broadcast_minus", "_sub", "_npi_subtract"}, "_rminus_scalar"},
		{ops.Multiply, []string{"elemwise_mul", "_mul", "_Mul", "broadcast_mul", "_npi_multiply"}, ""},
		{ops.Divide, []string{"elemwise_div", "_div", "_Div", "broadcast_div", "_npi_true_divide"}, "_rdiv_scalar"},
		{ops.Maximum, []string{"_maximum", "broadcast_maximum"}, ""},
		{ops.Minimum, []string{"_minimum", "broadcast_minimum"}, ""},
	} {
		for _, name := range b.names {
			rows = append(rows, row{name, func(c *call) *graph.Value { return c.Do(b.def, c.X(0), c.X(1)) }})
		}
		if b.right != "" {
			rows = append(rows, row{b.right, func(c *call) *graph.Value { return c.Do(b.def, compose.Like(c.X(0), c.Float("scalar", 1)), c.X(0)) }})
		}
	}
	for name, d := range map[string]*op.Def{"_plus_scalar": ops.Add, "_minus_scalar": ops.Subtract, "_mul_scalar": ops.Multiply, "_div_scalar": ops.Divide,
		"_maximum_scalar": ops.Maximum, "_minimum_scalar": ops.Minimum, "_power_scalar": ops.Power} {
		rows = append(rows, row{name, func(c *call) *graph.Value {
			c.Ignore("is_int")
			return c.Do(d, c.X(0), compose.Like(c.X(0), c.Float("scalar", 1)))
		}})
	}
	return rows
}
