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
	denseRows = []row{{"Dense", one(dense)}, {"Embedding", one(embedding)}}
	mergeRows = []row{
		{"Add", one(fold(ops.Add))}, {"Subtract", one(fold(ops.Subtract))}, {"Multiply", one(fold(ops.Multiply))},
		{"Maximum", one(fold(ops.Maximum))}, {"Minimum", one(fold(ops.Minimum))}, {"Average", one(average)},
		{"Concatenate", one(concatenate)}, {"Dot", one(dot)},
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
	if c.Bool("mask_zero", false) {
		compose.Fail("mask_zero is not supported: the layers behind it would skip steps")
	}
	indices := c.X(0)
	if !indices.Type.DType.IsInt() {
		indices = c.Cast(indices, types.I32)
	}
	if c.weights() < 1 {
		compose.Fail("the file has no weights for it")
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, c.X(c.data), indices)
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

// dot multiplies two batches along one axis of each.
func dot(c *call) *graph.Value {
	in, axes := c.merged(), c.extents("axes", 2, -1)
	if c.Bool("normalize", false) || len(in) != 2 || in[0].Type.Rank() > 3 || in[1].Type.Rank() > 3 || in[0].Type.Rank() < 2 || in[1].Type.Rank() < 2 {
		compose.Fail("of %d inputs, normalized or of more than three axes is not supported", len(in))
	}
	x, y := in[0], in[1]
	a, b := frontend.Axis(axes[0], x.Type.Rank()), frontend.Axis(axes[1], y.Type.Rank())
	if a == 0 || b == 0 {
		compose.Fail("along the batch")
	}
	if x.Type.Rank() == 2 {
		x, a = c.ExpandDims(x, 1), 2
	}
	if y.Type.Rank() == 2 {
		y, b = c.ExpandDims(y, 2), 1
	}
	z := c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: a == 1, TransposeB: b == 2}, x, y)
	shape := slices.Clone(z.Type.Shape)
	if in[1].Type.Rank() == 2 {
		shape = slices.Delete(shape, 2, 3)
	}
	if in[0].Type.Rank() == 2 {
		shape = slices.Delete(shape, 1, 2)
	}
	if len(shape) == 1 {
		shape = append(shape, 1)
	}
	return c.Reshape(z, shape...)
}
