package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var poolRows = []row{
	{"MaxPool", one(maxPool)}, {"MaxPoolV2", one(maxPool)}, {"MaxPool3D", one(maxPool)}, {"AvgPool", one(avgPool)}, {"AvgPool3D", one(avgPool)}, {"MaxPoolWithArgmax", maxPoolIndices},
}

// pooled applies f to operand 0 with its channels in front, and its window.
func (c *call) pooled(f func(x *graph.Value, w compose.Window) *graph.Value) *graph.Value {
	n := c.Rank(0) - 2
	if n != 2 && n != 3 {
		compose.Fail("operand %s", c.X(0).Type)
	}
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		w := compose.Window{In: x.Type.Shape[2:], Dilation: []int{1, 1, 1}[:n]}
		if c.Present(2) { // MaxPoolV2
			from := 2
			if c.channelsLast() {
				from = 1
			}
			kernel, strides := c.KnownInts(1, "the window"), c.KnownInts(2, "the strides")
			if len(kernel) != n+2 || len(strides) != n+2 {
				compose.Fail("window %v and strides %v", kernel, strides)
			}
			w.Kernel, w.Strides = kernel[from:from+n], strides[from:from+n]
		} else {
			w.Kernel, w.Strides = c.spatial("ksize", n), c.spatial("strides", n)
		}
		return f(x, c.padded(w))
	})
}

func maxPool(c *call) *graph.Value {
	return c.pooled(func(x *graph.Value, w compose.Window) *graph.Value {
		return c.MaxPool(x, w, false)
	})
}

// avgPool divides by the number of elements inside.
func avgPool(c *call) *graph.Value {
	return c.pooled(func(x *graph.Value, w compose.Window) *graph.Value {
		return c.AvgPool(x, w, false, false)
	})
}

// maxPoolIndices says where the greatest elements stand in [height, width, channels], or in the batch of these.
func maxPoolIndices(c *call) values {
	c.Ignore("data_format")
	batched := c.Bool("include_batch_in_index", false)
	d := c.typeOf("Targmax", types.I64)
	var index *graph.Value
	y := c.pooled(func(x *graph.Value, w compose.Window) *graph.Value {
		out := c.Results(ops.MaxPoolIndices, ops.MaxPoolIndicesAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation}, x)
		s := x.Type.Shape
		number := func(v int) *graph.Value { return compose.Number(types.I64, float64(v)) }
		div, mod := func(v *graph.Value, n int) *graph.Value { return c.Do(ops.FloorDivide, v, number(n)) }, func(v *graph.Value, n int) *graph.Value { return c.Do(ops.FloorMod, v, number(n)) }
		pixel, plane := mod(out[1], s[2]*s[3]), div(out[1], s[2]*s[3]) // of batch, channel, pixel
		index = c.Do(ops.Add, c.Do(ops.Multiply, pixel, number(s[1])), mod(plane, s[1]))
		if batched {
			index = c.Do(ops.Add, index, c.Do(ops.Multiply, div(plane, s[1]), number(s[1]*s[2]*s[3])))
		}
		index = c.Cast(c.ChannelsLast(index), d)
		return out[0]
	})
	return values{y, index}
}
