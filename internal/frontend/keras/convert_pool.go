package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var poolRows = []row{
	{"MaxPooling1D", one(maxPool)}, {"MaxPooling2D", one(maxPool)}, {"MaxPooling3D", one(maxPool)},
	{"AveragePooling1D", one(averagePool)}, {"AveragePooling2D", one(averagePool)}, {"AveragePooling3D", one(averagePool)},
	{"GlobalAveragePooling1D", one(globalAverage1D)}, {"GlobalAveragePooling2D", one(global(ops.Mean))}, {"GlobalAveragePooling3D", one(global(ops.Mean))},
	{"GlobalMaxPooling1D", one(global(ops.Max))}, {"GlobalMaxPooling2D", one(global(ops.Max))}, {"GlobalMaxPooling3D", one(global(ops.Max))},
	{"AdaptiveAveragePooling1D", one(adaptive(ops.Mean))}, {"AdaptiveAveragePooling2D", one(adaptive(ops.Mean))}, {"AdaptiveAveragePooling3D", one(adaptive(ops.Mean))},
	{"AdaptiveMaxPooling1D", one(adaptive(ops.Max))}, {"AdaptiveMaxPooling2D", one(adaptive(ops.Max))}, {"AdaptiveMaxPooling3D", one(adaptive(ops.Max))},
}

// pool reads the options of a pooling, whose strides are the window's extents where they are not given.
func (c *call) pool(x *graph.Value) compose.Window {
	n := x.Type.Rank() - 2
	kernel := c.extents("pool_size", n, 2)
	w := c.window(x, kernel)
	if !c.Has("strides") {
		w.Strides = kernel
		if c.Str("padding", "valid") == "same" {
			w.Padding = w.Same(true)
		}
	}
	return w
}

func maxPool(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.MaxPool(x, c.pool(x), false)
	})
}

// averagePool divides by the number of elements that lie within the input.
func averagePool(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.AvgPool(x, c.pool(x), false, false)
	})
}

func global(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.WantRank(0, 3)
		x, from := c.X(0), 2
		if c.channelsLast() {
			from = 1
		}
		return c.Reduce(d, x, c.Bool("keepdims", false), through(from, from+x.Type.Rank()-2)...)
	}
}

// globalAverage1D is the mean of the steps that count.
func globalAverage1D(c *call) *graph.Value {
	m := c.mask(0)
	if m == nil {
		return global(ops.Mean)(c)
	}
	c.WantRank(0, 3)
	x := c.X(0)
	steps, features := 1, 2
	if !c.channelsLast() {
		steps, features = 2, 1
	}
	m = c.ExpandDims(c.Cast(m, x.Type.DType), features)
	keep := c.Bool("keepdims", false)
	return c.Do(ops.Divide, c.Reduce(ops.Sum, c.Do(ops.Multiply, x, m), keep, steps), c.Reduce(ops.Sum, m, keep, steps))
}

// adaptive divides each spatial axis into output_size windows.
func adaptive(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x := c.X(0)
		from, n := c.spatial(x)
		for k, out := range c.extents("output_size", n, 1) {
			x = c.AdaptivePool(d, x, from+k, out)
		}
		return x
	}
}
