package keras

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A row says what a layer becomes.
type row struct {
	class   string
	convert func(c *call) values
}

// values are what a row returns: the layer's results, in order.
type values = []*graph.Value

// A call is one application of a layer. Its operands are data and, behind them, masks and weights.
type call struct {
	*frontend.Call
	attributes
}

// table lists every layer that is converted; each family stands with its functions.
var table = newTable(slices.Concat(activationRows, convRows, localRows, poolRows, denseRows, normRows, mergeRows, moveRows, resampleRows,
	recurrentRows, convRecurrentRows, attentionRows, maskRows, preprocessRows, functionRows()))

func newTable(rows []row) *frontend.Table {
	list := make([]frontend.Row, len(rows))
	for i, r := range rows {
		list[i] = frontend.Row{Op: r.class, Convert: func(c *frontend.Call) []*graph.Value {
			return r.convert(&call{c, c.Node.Attrs.(attributes)})
		}}
	}
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported layers by name.
func Rows() []frontend.Supported { return table.Rows() }

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// unary makes a row of a function of one value.
func unary(f func(c *call, x *graph.Value) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c, c.X(0))} }
}

// inputs are the operands that are data.
func (c *call) inputs() values {
	if c.data < 1 || c.data > len(c.In) {
		compose.Fail("the layer is applied to nothing")
	}
	return c.All()[:c.data]
}

// weights is the number of arrays that the layer has.
func (c *call) weights() int { return len(c.In) - c.data - len(c.masks) }

// weight is an array of the layer, in the type of its data.
func (c *call) weight(i int) *graph.Value {
	if i >= c.weights() {
		compose.Fail("the file has %d arrays of weights for it, number %d is needed", c.weights(), i)
	}
	return c.Cast(c.X(len(c.In)-c.weights()+i), c.X(0).Type.DType)
}

// truth is x as bool.
func (c *call) truth(x *graph.Value) *graph.Value {
	if x.Type.DType == types.Bool {
		return x
	}
	return c.Do(ops.NotEqual, x, compose.Like(x, 0))
}

// channelsLast is where the layer has its channels; it is asked once.
func (c *call) channelsLast() bool {
	return c.OneOf("data_format", "channels_last", "channels_last", "channels_first") == "channels_last"
}

// overChannels applies f, which has channels as the second axis, to x.
func (c *call) overChannels(x *graph.Value, f func(x *graph.Value) *graph.Value) *graph.Value {
	return c.OverChannels(x, c.channelsLast(), f)
}

// extents is an option with n numbers, or one for all of n.
func (c *call) extents(name string, n, absent int) []int {
	return frontend.PerAxis(c.Ints(name), n, absent, fmt.Sprintf("option %q", name))
}

// pairs is an option with two numbers for each of n axes, before and after; one number counts for both.
func (c *call) pairs(name string, n int) (before, after []int) {
	c.Ignore(name)
	whole := func(v any) int {
		f, ok := v.(float64)
		if !ok || f != float64(int(f)) || f < 0 {
			compose.Fail("option %q is %.80v", name, c.Values[name])
		}
		return int(f)
	}
	list, ok := c.Values[name].([]any)
	if !ok || len(list) == 0 {
		list = slices.Repeat([]any{c.Values[name]}, n)
	} else if _, nested := list[0].([]any); n == 1 && len(list) == 2 && !nested {
		list = []any{c.Values[name]}
	}
	if len(list) != n {
		compose.Fail("option %q has %d entries for %d axes", name, len(list), n)
	}
	for _, e := range list {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			pair = []any{e, e}
		}
		before, after = append(before, whole(pair[0])), append(after, whole(pair[1]))
	}
	return before, after
}
