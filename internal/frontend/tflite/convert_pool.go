package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var poolRows = []row{
	{"AVERAGE_POOL_2D", one(averagePool)}, {"MAX_POOL_2D", moved(one(maxPool))}, {"L2_POOL_2D", real(one(l2Pool))},
}

func (c *call) pool() (x *graph.Value, w compose.Window) {
	x = c.first(c.X(0))
	return x, c.window(x.Type.Shape[2:], []int{c.Int("filter_height", 0), c.Int("filter_width", 0)})
}

func average(c *call, x *graph.Value, w compose.Window) *graph.Value {
	return c.Apply(ops.AvgPool2d, ops.AvgPoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation}, x)
}

func averagePool(c *call) *graph.Value {
	x, w := c.pool()
	if c.from(0).quantized() {
		return c.last(c.quantizedAverage(x, w))
	}
	return c.last(c.activated(average(c, x, w)))
}

func maxPool(c *call) *graph.Value {
	x, w := c.pool()
	y := c.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation}, x)
	if from := c.from(0); from.quantized() {
		return c.last(c.clamped(y, from))
	}
	return c.last(c.activated(y))
}

// l2Pool is the root of the average square.
func l2Pool(c *call) *graph.Value {
	x, w := c.pool()
	return c.last(c.activated(c.Do(ops.Sqrt, average(c, c.Do(ops.Multiply, x, x), w))))
}
