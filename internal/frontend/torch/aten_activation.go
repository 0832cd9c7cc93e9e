package torch

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var activationRows = []row{
	keeping("relu", ops.Relu), unary("sigmoid special_expit", ops.Sigmoid), unary("tanh", ops.Tanh), unary("hardswish", ops.HardSwish), unary("mish", ops.Mish), unary("softsign", ops.Softsign),
	formula("silu", func(c *call, x *graph.Value) *graph.Value { return c.Swish(x, 1) }),
	sig("softshrink", "self lambd:n", func(c *call) any {
		l := c.num("lambd", 0.5)
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: l, Bias: l}, c.x("self"))
	}),
	sig("hardshrink", "self lambd:n", func(c *call) any {
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: c.num("lambd", 0.5)}, c.x("self"))
	}),
	sig("prelu _prelu_kernel", "self weight", prelu),
}

// prelu has one slope for all or one for each channel.
func prelu(c *call) any {
	x, w := c.x("self"), c.x("weight")
	switch n := w.Type.Elements(); {
	case n == 1:
		w = c.Reshape(w)
	case x.Type.Rank() > 1 && w.Type.Rank() == 1:
		shape := make([]int, x.Type.Rank()-1)
		for k := range shape {
			shape[k] = 1
		}
		shape[0] = n
		w = c.Reshape(w, shape...)
	}
	return c.Prelu(x, w)
}
