package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// A row says what an operator becomes.
type row struct {
	op      string
	convert func(c *call) values
}

// values are what a row returns: the node's results, in order.
type values = []*graph.Value

// A call is one node being converted.
type call struct{ *frontend.Call }

// Table is every operator that is converted; each family stands with its functions.
var Table = newTable(slices.Concat(widened(binaryRows), widened(convRows), widened(joinRows), widened(fusedRows), unaryRows, poolRows, normRows, moveRows, blockRows, sliceRows, makeRows, indexRows, segmentRows, reduceRows, resizeRows, detectRows, quantRows, recurrentRows, signalRows, controlRows, listRows))

func newTable(rows []row) *frontend.Table {
	list := make([]frontend.Row, len(rows))
	for i, r := range rows {
		list[i] = frontend.Row{Op: r.op, Convert: func(c *frontend.Call) []*graph.Value {
			if t := c.Node.Attrs.(attributes).node.dataType("T"); t.complex() && !takesComplex[r.op] {
				compose.Fail("elements of %s are not supported here", t)
			}
			return r.convert(&call{c})
		}}
	}
	return frontend.NewTable(list, takesDynamic, "If")
}

// widened are rows of operators whose operands of floats are of one type. Tools that keep constants in 16 bits leave the graph around them
// as it is: such operands are brought to the widest type.
func widened(rows []row) []row {
	out := slices.Clone(rows)
	for i, r := range out {
		out[i].convert = func(c *call) values {
			widest := types.Invalid
			for _, v := range c.In {
				if v != nil && v.Type.DType.IsFloat() && v.Type.DType.Size() > widest.Size() {
					widest = v.Type.DType
				}
			}
			in := slices.Clone(c.In)
			for k, v := range in {
				if v != nil && v.Type.DType.IsFloat() && v.Type.DType.Size() < widest.Size() {
					in[k] = c.Cast(v, widest)
				}
			}
			return r.convert(c.with(in...))
		}
	}
	return out
}

// Rows lists the supported operators by name.
func Rows() []frontend.Supported { return Table.Rows() }

// takesDynamic lists the operators that are converted without a look at extents.
var takesDynamic = []string{
	"Abs", "Add", "AddV2", "Cast", "Ceil", "Div", "Equal", "Exp", "ExpandDims", "Floor", "Gather", "GatherNd", "GatherV2", "Greater", "GreaterEqual", "Identity", "IdentityN", "Less", "LessEqual",
	"Log", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Mul", "Neg", "NotEqual", "PartitionedCall", "RealDiv", "Relu", "Round", "SelectV2", "Sigmoid", "Sqrt", "Square", "Squeeze",
	"StopGradient", "StridedSlice", "Sub", "Tanh", "Transpose",
}

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// with is the call with other operands.
func (c *call) with(in ...*graph.Value) *call { return &call{c.With(in...)} }

// channelsLast is where an operator on images has its channels.
func (c *call) channelsLast() bool {
	switch c.OneOf("data_format", "NHWC", "NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW") {
	case "NHWC", "NDHWC", "NWC":
		return true
	}
	return false
}

// overChannels applies f, which has channels as the second axis, to x.
func (c *call) overChannels(x *graph.Value, f func(x *graph.Value) *graph.Value) *graph.Value {
	return c.OverChannels(x, c.channelsLast(), f)
}

// typeOf is a type that an attribute says.
func (c *call) typeOf(name string, absent types.DType) types.DType { return c.DType(name, absent) }

// shared makes a row of a function that TensorFlow Lite has as well, with one result.
func shared(f func(c *frontend.Call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c.Call)} }
}

// sharedAll makes one of a function with several.
func sharedAll(f func(c *frontend.Call) []*graph.Value) func(c *call) values {
	return func(c *call) values { return f(c.Call) }
}
