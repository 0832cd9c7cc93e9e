package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var matmulRows = []row{
	{"mul", one(mul)}, {"matmul", one(matmul)}, {"matmul_v2", one(matmul)}, {"bmm", one(matmul)},
	{"mv", one(func(c *call) *graph.Value { return c.NumpyMatmul(c.x(), c.operand("Vec")) })}, {"dot", one(dot)}, {"fc", one(fc)},
	{"einsum", one(func(c *call) *graph.Value { return c.Einsum(c.Str("equation", ""), c.operands("Operands")...) })},
}

// mul multiplies matrices that operands become by joining axes.
func mul(c *call) *graph.Value {
	x, y := c.x(), c.operand("Y")
	m, n := c.Int("x_num_col_dims", 1), c.Int("y_num_col_dims", 1)
	sx, sy := x.Type.Shape, y.Type.Shape
	if m < 1 || m >= len(sx) || n < 1 || n >= len(sy) {
		compose.Fail("%s by %s with %d and %d axes of rows", x.Type, y.Type, m, n)
	}
	if len(sy) != 2 {
		y = c.Reshape(y, types.Count(sy[:n]), types.Count(sy[n:]))
	}
	z := c.Matmul(c.Reshape(x, types.Count(sx[:m]), types.Count(sx[m:])), y)
	return c.Reshape(z, slices.Concat(sx[:m], sy[n:])...)
}

func matmul(c *call) *graph.Value {
	x, y := c.x(), c.operand("Y")
	turned := func(v *graph.Value, names ...string) *graph.Value {
		for _, name := range names {
			if r := v.Type.Rank(); c.Bool(name, false) && r > 1 {
				axes := append(compose.LastAxes(v, 0)[:r-2], r-1, r-2)
				return c.Transpose(v, axes...)
			}
		}
		return v
	}
	x, y = turned(x, "transpose_X", "trans_x"), turned(y, "transpose_Y", "trans_y")
	return c.Scaled(c.NumpyMatmul(x, y), c.Float("alpha", 1))
}

// dot is the sum of products along the last axis.
func dot(c *call) *graph.Value {
	z := c.Do(ops.Multiply, c.x(), c.operand("Y"))
	c.WantRankOf(z, 1)
	return c.Reduce(ops.Sum, z, z.Type.Rank() == 1, z.Type.Rank()-1)
}

func fc(c *call) *graph.Value {
	x, w := c.operand("Input"), c.operand("W")
	m := c.Int("in_num_col_dims", 1)
	s := x.Type.Shape
	if m < 1 || m >= len(s) || w.Type.Rank() != 2 {
		compose.Fail("%s by %s with %d axes of rows", x.Type, w.Type, m)
	}
	c.Ignore("padding_weights", "ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE")
	y := c.Matmul(c.Reshape(x, types.Count(s[:m]), types.Count(s[m:])), w)
	if bias := c.optional("Bias"); bias != nil {
		y = c.Do(ops.Add, y, c.Reshape(bias, bias.Type.Elements()))
	}
	if c.OneOf("activation_type", "", "", "relu") == "relu" {
		y = c.Do(ops.Relu, y)
	}
	return c.Reshape(y, append(slices.Clone(s[:m]), w.Type.Shape[1])...)
}
