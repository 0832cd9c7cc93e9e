package darknet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// table lists every layer that is converted.
var table = newTable(map[string]func(c *frontend.Call) *graph.Value{
	"convolutional": convolutional, "connected": connected, "maxpool": maxPool, "avgpool": avgPool, "upsample": upsample, "route": route, "shortcut": shortcut,
	"softmax": softmax, "yolo": yolo, "region": region, "dropout": same, "cost": same, "detection": same, "reorg": reorg, "reorg3d": reorg, "logistic": logistic, "l2norm": l2norm, "batchnorm": batchnorm,
	"scale_channels": product, "sam": product, "rnn": rnn, "gru": gru, "lstm": lstm, "activation": func(c *frontend.Call) *graph.Value { return activated(c, c.X(0)) },
})

func newTable(rows map[string]func(c *frontend.Call) *graph.Value) *frontend.Table {
	var list []frontend.Row
	for kind, convert := range rows {
		list = append(list, frontend.Row{Op: kind, Convert: func(c *frontend.Call) []*graph.Value { return []*graph.Value{convert(c)} }})
	}
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported layers by name.
func Rows() []frontend.Supported { return table.Rows() }

// same is what only matters in training.
func same(c *frontend.Call) *graph.Value {
	c.Ignore(c.Node.Attrs.Names()...)
	return c.X(0)
}

func activated(c *frontend.Call, x *graph.Value) *graph.Value {
	return activation(c, activationOf(c), x)
}

func activationOf(c *frontend.Call) string {
	return c.OneOf("activation", "logistic", "linear", "leaky", "relu", "relu6", "logistic", "tanh", "elu", "mish", "swish", "hardtan", "selu", "gelu", "relie", "ramp", "plse", "loggy", "lhtan")
}

func activation(c *frontend.Call, name string, x *graph.Value) *graph.Value {
	switch name {
	case "selu":
		return c.Selu(x)
	case "gelu":
		return c.GeluTanh(x)
	case "relie":
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: 0.01}, x)
	case "ramp":
		return c.Do(ops.Add, c.Do(ops.Relu, x), c.Scaled(x, 0.1))
	case "loggy": // 2 sigmoid(x) - 1
		return c.Do(ops.Subtract, c.Scaled(c.Do(ops.Sigmoid, x), 2), compose.Like(x, 1))
	case "plse": // piecewise: x/8 + 1/2 within -4 and 4, 1/100 of it beyond
		inner := c.Clipped(x, -4, 4)
		outer := c.Scaled(c.Do(ops.Subtract, x, inner), 0.01)
		return c.Do(ops.Add, c.Do(ops.Add, c.Scaled(inner, 0.125), compose.Like(x, 0.5)), outer)
	case "lhtan": // x within 0 and 1, 1/1000 of it beyond
		inner := c.Do(ops.Minimum, c.Do(ops.Relu, x), compose.Like(x, 1))
		return c.Do(ops.Add, inner, c.Scaled(c.Do(ops.Subtract, x, inner), 0.001))
	case "leaky":
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: 0.1}, x)
	case "relu":
		return c.Do(ops.Relu, x)
	case "relu6":
		return c.Do(ops.Minimum, c.Do(ops.Relu, x), compose.Like(x, 6))
	case "logistic":
		return c.Do(ops.Sigmoid, x)
	case "tanh":
		return c.Do(ops.Tanh, x)
	case "elu":
		return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, x)
	case "mish":
		return c.Do(ops.Mish, x)
	case "swish":
		return c.Swish(x, 1)
	case "hardtan":
		return c.Clipped(x, -1, 1)
	}
	return x
}

// normalized adds biases, behind a normalization where the layer has one: with the root of variance + 1e-6, as other readers of
// these files have it.
func normalized(c *frontend.Call, y *graph.Value) *graph.Value {
	if c.Bool("batch_normalize", false) {
		return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: 1e-6}, y, c.X(3), c.X(2), c.X(4), c.X(5))
	}
	bias := c.X(2)
	return c.Do(ops.Add, y, c.Reshape(bias, append([]int{bias.Type.Elements()}, slices.Repeat([]int{1}, y.Type.Rank()-2)...)...))
}

func convolutional(c *frontend.Call) *graph.Value {
	c.Ignore("filters")
	if c.Int("dilation", 1) != 1 || c.Bool("xnor", false) || c.Bool("binary", false) {
		compose.Fail("dilated, binary and xnor convolutions are not supported")
	}
	size, stride := c.Int("size", 1), c.Int("stride", 1)
	pad := c.Int("padding", 0)
	if c.Int("pad", 0) != 0 {
		pad = size / 2
	}
	y := c.Apply(ops.Conv2d, ops.ConvAttrs{Strides: []int{stride, stride}, Padding: slices.Repeat([]int{pad}, 4), Dilation: []int{1, 1}, Groups: c.Int("groups", 1)}, c.X(0), c.X(1))
	return activated(c, normalized(c, y))
}

func connected(c *frontend.Call) *graph.Value {
	c.Ignore("output")
	x := c.X(0)
	y := c.Do(ops.Dense, c.Reshape(x, x.Type.Shape[0], types.Count(x.Type.Shape[1:])), c.X(1))
	y = activated(c, normalized(c, y))
	return c.Reshape(y, y.Type.Shape[0], y.Type.Shape[1], 1, 1)
}

// maxPool has its padding, size-1 in all unless it says otherwise, half before and the rest behind.
func maxPool(c *frontend.Call) *graph.Value {
	stride := c.Int("stride", 1)
	size := c.Int("size", stride)
	padding := c.Int("padding", size-1)
	before := padding / 2
	return c.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{size, size}, Strides: []int{stride, stride},
		Padding: []int{before, before, padding - before, padding - before}, Dilation: []int{1, 1}}, c.X(0))
}

func avgPool(c *frontend.Call) *graph.Value { return c.Reduce(ops.Mean, c.X(0), true, 2, 3) }

func upsample(c *frontend.Call) *graph.Value {
	n := c.Int("stride", 2)
	x := c.X(0)
	for _, axis := range []int{2, 3} {
		x = c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: axis, Repeats: n}, x)
	}
	return c.Scaled(x, c.Float("scale", 1))
}

func route(c *frontend.Call) *graph.Value {
	c.Ignore("layers")
	groups, id := max(1, c.Int("groups", 1)), c.Int("group_id", 0)
	if id < 0 || id >= groups {
		compose.Fail("group %d of %d", id, groups)
	}
	parts := slices.Clone(c.All())
	for i, x := range parts {
		n := x.Type.Shape[1] / groups
		parts[i] = c.Slice(x, 1, id*n, (id+1)*n)
	}
	return c.Concat(1, parts...)
}

func shortcut(c *frontend.Call) *graph.Value {
	c.Ignore("from")
	x := c.X(0)
	for _, y := range c.All()[1:] {
		x = overlap(c, x, y)
	}
	if c.Has("activation") {
		return activated(c, x)
	}
	return x
}

// overlap adds to x what of y lies over it.
func overlap(c *frontend.Call, x, y *graph.Value) *graph.Value {
	p, q := x.Type.Shape, y.Type.Shape
	if slices.Equal(p, q) {
		return c.Do(ops.Add, x, y)
	}
	for k := 2; k < 4; k++ {
		if q[k] > p[k] {
			y = c.Every(y, k, q[k]/p[k])
		} else if n := p[k] / q[k]; n > 1 { // each pixel falls on the first of a block
			wide := c.ExpandDims(y, k+1)
			a := ops.PadAttrs{PadBefore: make([]int, wide.Type.Rank()), PadAfter: make([]int, wide.Type.Rank()), Mode: "constant"}
			a.PadAfter[k+1] = n - 1
			wide = c.Apply(ops.Pad, a, wide)
			s := slices.Clone(y.Type.Shape)
			s[k] = p[k]
			y = c.Reshape(wide, s...)
		}
	}
	if y.Type.Shape[1] > p[1] {
		y = c.Slice(y, 1, 0, p[1])
	} else if n := p[1] - y.Type.Shape[1]; n > 0 {
		y = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, 0, 0, 0}, PadAfter: []int{0, n, 0, 0}, Mode: "constant"}, y)
	}
	return c.Do(ops.Add, x, y)
}

func product(c *frontend.Call) *graph.Value {
	c.Ignore("from", "scale_wh")
	y := c.Do(ops.Multiply, c.X(0), c.X(1))
	if c.Has("activation") {
		return activated(c, y)
	}
	return y
}

func reorg(c *frontend.Call) *graph.Value {
	c.Ignore("reverse", "flatten", "extra")
	return c.Reorg(c.X(0), c.Int("stride", 1), false)
}

func logistic(c *frontend.Call) *graph.Value { return c.Do(ops.Sigmoid, c.X(0)) }

// l2norm divides by the length of the channels at each place.
func l2norm(c *frontend.Call) *graph.Value {
	x := c.X(0)
	return c.Do(ops.Divide, x, c.Do(ops.Sqrt, c.Reduce(ops.Sum, c.Do(ops.Multiply, x, x), true, 1)))
}

func batchnorm(c *frontend.Call) *graph.Value {
	return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: 1e-6}, c.X(0), c.X(2), c.X(1), c.X(3), c.X(4))
}

// softmax is of all numbers of a picture, in groups, or with spatial of the channels at each place.
func softmax(c *frontend.Call) *graph.Value {
	if c.Has("tree") {
		compose.Fail("a tree is not supported")
	}
	groups := c.Int("groups", 1)
	x := c.Scaled(c.X(0), 1/c.Float("temperature", 1))
	n := types.Count(x.Type.Shape[1:])
	if c.Bool("spatial", false) && x.Type.Rank() == 4 {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, x)
	}
	if groups < 1 || n%groups != 0 {
		compose.Fail("%d groups of %d", groups, n)
	}
	flat := c.Reshape(x, x.Type.Shape[0]*groups, n/groups)
	return c.Reshape(c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, flat), x.Type.Shape...)
}
