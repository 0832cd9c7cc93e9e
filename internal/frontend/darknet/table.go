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
	"softmax": softmax, "yolo": yolo, "region": region, "dropout": same, "cost": same, "activation": func(c *frontend.Call) *graph.Value { return activated(c, c.X(0)) },
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
	switch name := c.OneOf("activation", "logistic", "linear", "leaky", "relu", "relu6", "logistic", "tanh", "elu", "mish", "swish", "hardtan"); name {
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
		return c.Do(ops.Minimum, c.Do(ops.Maximum, x, compose.Like(x, -1)), compose.Like(x, 1))
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
	if c.Has("activation") {
		return activated(c, c.Fold(ops.Add, c.All()...))
	}
	return c.Fold(ops.Add, c.All()...)
}

func softmax(c *frontend.Call) *graph.Value {
	if c.Int("groups", 1) != 1 || c.Float("temperature", 1) != 1 || c.Has("tree") {
		compose.Fail("in groups, with a temperature or a tree it is not supported")
	}
	x := c.X(0)
	flat := c.Reshape(x, x.Type.Shape[0], types.Count(x.Type.Shape[1:]))
	return c.Reshape(c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, flat), x.Type.Shape...)
}
