package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

type values = []*graph.Value

// A call is one layer being converted. Its operands are values and, behind them, weights.
type call struct {
	*frontend.Call
	attributes
}

// A layer is a kind of layers: the number of its field in NeuralNetworkLayer (NeuralNetwork.proto), its name and the fields of its message.
type layer struct {
	number  int
	name    string
	schema  schema
	convert func(c *call) values
}

func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

type row struct {
	number       int
	name, schema string
	convert      func(c *call) values
}

// layers lists every kind of layer that is converted, by number.
var layers = byNumber(slices.Concat(spatialRows, denseRows, normRows, elementwiseRows, moveRows, sliceRows, reduceRows, recurrentRows, volumeRows, detectionRows))

func byNumber(rows []row) map[int]*layer {
	m := map[int]*layer{}
	for _, r := range rows {
		m[r.number] = &layer{r.number, r.name, parseSchema(r.schema), r.convert}
	}
	return m
}

var table = newTable()

func newTable() *frontend.Table {
	list := []frontend.Row{}
	add := func(name string, convert func(c *call) values) {
		list = append(list, frontend.Row{Op: name, Convert: func(c *frontend.Call) []*graph.Value { return convert(&call{c, c.Node.Attrs.(attributes)}) }})
	}
	for _, l := range layers {
		add(l.name, l.convert)
	}
	add("input", one(entrance))
	add("output", one(exit))
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported layers by name.
func Rows() []frontend.Supported {
	return slices.DeleteFunc(table.Rows(), func(r frontend.Supported) bool { return r.Op == "input" || r.Op == "output" })
}

// operands are those that are no weights.
func (c *call) operands() values { return c.All()[:c.data] }

// axis counts from the end where it is negative.
func (c *call) axis(name string, absent int) int {
	return frontend.Axis(c.Int(name, absent), c.Rank(0))
}

// has reports whether a weight is given.
func (c *call) has(name string) bool { _, ok := c.at[name]; return ok }

// weight is a weight in a shape. One of packed numbers may have more elements than the shape; a scale and a bias of one element, or of
// one for each index of the first axis, apply to its numbers.
func (c *call) weight(name string, shape ...int) *graph.Value {
	i, ok := c.at[name]
	if !ok {
		compose.Fail("weights %s are missing", name)
	}
	x, w, n := c.X(i), c.weights[name], types.Count(shape)
	if have := x.Type.Elements(); have != n && (w.raw == nil || have < n || (have-n)*w.bits >= 8) {
		compose.Fail("weights %s have %d elements; %v is needed", name, have, shape)
	} else if have > n {
		x = c.Slice(x, 0, 0, n)
	}
	x = c.Reshape(x, shape...)
	if w.raw == nil || w.table != nil {
		return x
	}
	if len(shape) == 0 || len(w.scale) == 0 {
		compose.Fail("weights %s have no scale", name)
	}
	return c.scaledBy(c.scaledBy(x, ops.Multiply, w.scale, name), ops.Add, w.bias, name)
}

func (c *call) scaledBy(x *graph.Value, d *op.Def, by []float64, name string) *graph.Value {
	switch {
	case len(by) == 0:
		return x
	case len(by) == 1:
		return c.Do(d, x, compose.Like(x, by[0]))
	case len(by) != x.Type.Shape[0]:
		compose.Fail("weights %s %s have %d scales", name, x.Type, len(by))
	}
	t := c.Zeros(types.F32, append([]int{len(by)}, slices.Repeat([]int{1}, x.Type.Rank()-1)...)...)
	for i, v := range by {
		t.SetFloat(i, v)
	}
	return c.Do(d, x, compose.Const(t))
}

// vector is a weight along axis -3 of values: one element for all, or one for each.
func (c *call) vector(name string, n int) *graph.Value {
	if w := c.weights[name]; w != nil && w.raw == nil && w.elements() == 1 {
		n = 1
	}
	return c.weight(name, n, 1, 1)
}

// images are x with four axes, and what gives a result the axes in front that x has.
func (c *call) images(x *graph.Value) (*graph.Value, func(*graph.Value) *graph.Value) {
	r := x.Type.Rank()
	if r < 3 {
		compose.Fail("of %s: three axes or more are needed", x.Type)
	}
	lead := x.Type.Shape[:r-3]
	if r == 4 {
		return x, func(y *graph.Value) *graph.Value { return y }
	}
	y := c.Reshape(x, append([]int{types.Count(lead)}, x.Type.Shape[r-3:]...)...)
	return y, func(y *graph.Value) *graph.Value {
		return c.Reshape(y, append(slices.Clone(lead), y.Type.Shape[1:]...)...)
	}
}

// entrance gives an input the axes of the network: of arrays of old models the last are channels or channels, height, width. Pictures
// are scaled, and get biases by the order of their colours or lose a mean.
func entrance(c *call) *graph.Value {
	x := c.Cast(c.X(0), types.F32)
	s := slices.Clone(x.Type.Shape)
	picture := c.Bool("picture", false)
	least := 4
	if c.Bool("sequences", false) {
		least = 5
	}
	described := c.Int("described", 0)
	if c.old && !picture && described == 1 && len(s) < 4 {
		s = append(s, 1, 1)
	}
	if c.old {
		for len(s) < least {
			s = slices.Insert(s, 0, 1)
		}
	}
	x = c.Reshape(x, s...)
	scale, colors := c.Float("channelScale", 1), c.Int("colors", 0)
	if scale == 0 {
		scale = 1
	}
	x = c.Scaled(x, scale)
	biases := []float64{c.Float("grayBias", 0)}
	if r, g, b := c.Float("redBias", 0), c.Float("greenBias", 0), c.Float("blueBias", 0); colors == rgb {
		biases = []float64{r, g, b}
	} else if colors == bgr {
		biases = []float64{b, g, r}
	}
	if picture && slices.ContainsFunc(biases, func(v float64) bool { return v != 0 }) {
		t := c.Zeros(types.F32, len(biases), 1, 1)
		for i, v := range biases {
			t.SetFloat(i, v)
		}
		x = c.Do(ops.Add, x, compose.Const(t))
	}
	if c.has("meanImage") {
		x = c.Do(ops.Subtract, x, c.weight("meanImage", s[len(s)-3:]...))
	}
	return x
}

// exit gives an output of an old model the shape that it is described with, where that has as many elements, and probabilities of classes
// no more axes than one behind the batch.
func exit(c *call) *graph.Value {
	x := c.X(0)
	shape, s := c.Ints("shape"), x.Type.Shape
	flat := c.Bool("flat", false)
	switch {
	case len(shape) > 0 && types.Count(shape) == x.Type.Elements() && c.old:
		return c.Reshape(x, shape...)
	case flat && len(s) > 3:
		return c.Reshape(x, types.Count(s[:len(s)-3]), types.Count(s[len(s)-3:]))
	}
	return x
}
