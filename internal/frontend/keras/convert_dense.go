package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var (
	denseRows = []row{{"Dense", one(dense)}, {"EinsumDense", one(einsumDense)}, {"Embedding", one(embedding)}, {"MaxoutDense", one(maxoutDense)}, {"Highway", one(highway)}}
	mergeRows = []row{
		{"Add", one(fold(ops.Add))}, {"Subtract", one(fold(ops.Subtract))}, {"Multiply", one(fold(ops.Multiply))},
		{"Maximum", one(fold(ops.Maximum))}, {"Minimum", one(fold(ops.Minimum))}, {"Average", one(average)},
		{"Concatenate", one(concatenate)}, {"Dot", one(dot)}, {"Merge", one(merge)},
	}
)

// dense multiplies the last axis.
func dense(c *call) *graph.Value {
	y := c.Matmul(c.X(0), c.weight(0))
	if c.Bool("use_bias", true) {
		y = c.Do(ops.Add, y, c.weight(1))
	}
	return c.activated(y)
}

// embedding looks rows up by numbers, which may come as floats.
func embedding(c *call) *graph.Value {
	c.Ignore("mask_zero") // its mask is a node of its own
	indices := c.X(0)
	if !indices.Type.DType.IsInt() {
		indices = c.Cast(indices, types.I32)
	}
	if c.weights() < 1 {
		compose.Fail("the file has no weights for it")
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, c.X(len(c.In)-c.weights()), indices)
}

// einsumDense is an einsum of data and kernel; the bias broadcasts.
func einsumDense(c *call) *graph.Value {
	c.Ignore("output_shape", "bias_axes")
	y := c.Einsum(c.Str("equation", ""), c.X(0), c.weight(0))
	if c.Has("bias_axes") {
		y = c.Do(ops.Add, y, c.weight(1))
	}
	return c.activated(y)
}

// maxoutDense is the greatest of several dense layers with weights [n, in, out] and [n, out]; of Keras 1.
func maxoutDense(c *call) *graph.Value {
	c.Ignore("nb_feature", "output_dim")
	y := c.Matmul(c.ExpandDims(c.X(0), 0), c.weight(0))
	if c.Bool("use_bias", true) {
		y = c.Do(ops.Add, y, c.ExpandDims(c.weight(1), 1))
	}
	return c.Reduce(ops.Max, y, false, 0)
}

// highway is gate*activation(dense(x)) + (1-gate)*x, with the weights of the layer, then those of the gate, kernels before biases; of Keras 1.
func highway(c *call) *graph.Value {
	c.Ignore("transform_bias")
	x := c.X(0)
	product := func(k int) *graph.Value {
		y := c.Matmul(x, c.weight(k))
		if c.Bool("use_bias", true) {
			y = c.Do(ops.Add, y, c.weight(2+k))
		}
		return y
	}
	gate := c.Do(ops.Sigmoid, product(1))
	return c.Do(ops.Add, c.Do(ops.Multiply, gate, c.activated(product(0))), c.Do(ops.Multiply, c.Do(ops.Subtract, compose.Like(x, 1), gate), x))
}

// merged are the inputs of a layer that joins several.
func (c *call) merged() values {
	in := c.inputs()
	if len(in) < 2 {
		compose.Fail("it joins %d inputs", len(in))
	}
	return in
}

func fold(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Fold(d, c.merged()...) }
}

func average(c *call) *graph.Value {
	in := c.merged()
	return c.Scaled(c.Fold(ops.Add, in...), 1/float64(len(in)))
}

func concatenate(c *call) *graph.Value {
	in := c.merged()
	return c.Concat(frontend.Axis(c.Int("axis", -1), in[0].Type.Rank()), in...)
}

// merge is Keras 1's layer for all of these.
func merge(c *call) *graph.Value {
	c.Ignore("mode_type", "output_shape", "output_shape_type", "output_mask", "output_mask_type", "arguments", "layers", "node_indices", "tensor_indices")
	by := map[string]func(c *call) *graph.Value{"sum": fold(ops.Add), "mul": fold(ops.Multiply), "max": fold(ops.Maximum), "ave": average, "dot": dot,
		"concat": func(c *call) *graph.Value {
			return c.Concat(frontend.Axis(c.Int("concat_axis", -1), c.Rank(0)), c.merged()...)
		},
		"cos": func(c *call) *graph.Value { return c.product(true) }}
	mode := c.OneOf("mode", "sum", "sum", "mul", "max", "ave", "dot", "concat", "cos")
	c.Ignore("concat_axis", "dot_axes")
	if c.Has("dot_axes") {
		c.Values["axes"] = c.Values["dot_axes"]
	}
	return by[mode](c)
}

func dot(c *call) *graph.Value { return c.product(c.Bool("normalize", false)) }

// product multiplies two batches along one axis of each, of vectors of length 1 where they are to be normalized; the other axes follow each other.
func (c *call) product(normalized bool) *graph.Value {
	in := c.merged()
	if len(in) != 2 {
		compose.Fail("of %d inputs", len(in))
	}
	x, y := in[0], in[1]
	axes := c.extents("axes", 2, -1)
	a, b := frontend.Axis(axes[0], x.Type.Rank()), frontend.Axis(axes[1], y.Type.Rank())
	if a == 0 || b == 0 || x.Type.Rank() < 2 || y.Type.Rank() < 2 {
		compose.Fail("along the batch")
	}
	if normalized {
		x = c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: []int{a}, Epsilon: 1e-12}, x)
		y = c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: []int{b}, Epsilon: 1e-12}, y)
	}
	// [batch, rows, n] and [batch, n, columns]
	rows := func(x *graph.Value, a int) (m *graph.Value, rest []int) {
		order := []int{0}
		for k := 1; k < x.Type.Rank(); k++ {
			if k != a {
				order, rest = append(order, k), append(rest, x.Type.Shape[k])
			}
		}
		s := x.Type.Shape
		return c.Reshape(c.Transpose(x, append(order, a)...), s[0], types.Count(rest), s[a]), rest
	}
	p, first := rows(x, a)
	q, last := rows(y, b)
	z := c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, p, q)
	shape := slices.Concat([]int{x.Type.Shape[0]}, first, last)
	if len(shape) == 1 {
		shape = append(shape, 1)
	}
	return c.Reshape(z, shape...)
}
