package torch

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// binaryRow makes a row of an operator of two tensors or numbers of one element type.
func binaryRow(names string, d *op.Def) row {
	return sig(names, "self other", func(c *call) any {
		x, y := c.both("self", "other")
		return c.number(c.Do(d, x, y), "self", "other")
	})
}

// number is a result of numbers alone, which is a number.
func (c *call) number(v *graph.Value, names ...string) any {
	for _, name := range names {
		if t, ok := c.args[name].(*tensor); ok && !t.number {
			return v
		}
	}
	return c.scalarOf(v)
}

// logical makes a row of an operator on truth values.
func logical(names string, d *op.Def) row {
	return sig(names, "self other", func(c *call) any {
		return c.number(c.Do(d, c.operand(c.args["self"], types.Bool), c.operand(c.args["other"], types.Bool)), "self", "other")
	})
}

// bitwise makes a row of an operator on bits, which on bools is the logical one.
func bitwise(names string, d, onBool *op.Def) row {
	return sig(names, "self other", func(c *call) any {
		x, y := c.both("self", "other")
		if x.Type.DType.IsFloat() {
			c.retype(x, types.Bool, "takes its bits")
			c.retype(y, types.Bool, "takes its bits")
			fail("bits of %s", x.Type)
		}
		if x.Type.DType == types.Bool && onBool != nil {
			return c.number(c.Do(onBool, x, y), "self", "other")
		}
		return c.number(c.Do(d, x, y), "self", "other")
	})
}

var binaryRows = []row{
	sig("add", "self other alpha:n", sum(ops.Add)), sig("sub subtract", "self other alpha:n", sum(ops.Subtract)),
	binaryRow("mul multiply", ops.Multiply), binaryRow("maximum", ops.Maximum), binaryRow("minimum", ops.Minimum), binaryRow("fmod", ops.Mod), binaryRow("remainder", ops.FloorMod),
	sig("div divide", "self other rounding_mode:s", divide), sig("true_divide", "self other", divide),
	sig("floor_divide floordiv", "self other", floorDivide),
	sig("pow", "self exponent", power), sig("float_power", "self exponent", power),
	binaryRow("eq __is__", ops.Equal), binaryRow("ne not_equal __isnot__", ops.NotEqual), binaryRow("lt less", ops.Less), binaryRow("le less_equal", ops.LessEqual),
	binaryRow("gt greater", ops.Greater), binaryRow("ge greater_equal", ops.GreaterEqual),
	logical("logical_and", ops.LogicalAnd), logical("logical_or", ops.LogicalOr), logical("logical_xor", ops.LogicalXor),
	bitwise("bitwise_and __and__ __iand__ and", ops.BitwiseAnd, ops.LogicalAnd), bitwise("bitwise_or __or__ __ior__ or", ops.BitwiseOr, ops.LogicalOr),
	bitwise("bitwise_xor __xor__ __ixor__", ops.BitwiseXor, ops.LogicalXor), bitwise("bitwise_left_shift __lshift__", ops.LeftShift, nil), bitwise("bitwise_right_shift __rshift__", ops.RightShift, nil),
	sig("where", "condition self:0! other:0!", where),
}

// sum is self + alpha * other, or their difference.
func sum(d *op.Def) func(c *call) any {
	return func(c *call) any {
		x, y := c.both("self", "other")
		if alpha := c.num("alpha", 1); alpha != 1 {
			y = c.Do(ops.Multiply, y, like(y, alpha))
		}
		if x.Type.DType == types.Bool { // addition of truth values is or
			x, y = c.Cast(x, types.I64), c.Cast(y, types.I64)
			return c.number(c.Cast(c.Do(d, x, y), types.Bool), "self", "other")
		}
		return c.number(c.Do(d, x, y), "self", "other")
	}
}

// divide is the quotient, of integers as floats, or rounded.
func divide(c *call) any {
	x, y := c.both("self", "other")
	switch mode := c.str("rounding_mode", ""); {
	case mode == "floor":
		return c.number(c.Do(ops.FloorDivide, x, y), "self", "other")
	case mode == "trunc" && x.Type.DType.IsFloat():
		return c.Do(ops.Trunc, c.Do(ops.Divide, x, y))
	case mode == "trunc":
		return c.number(c.Do(ops.Divide, x, y), "self", "other")
	case mode != "":
		fail("rounding_mode %q is not supported", mode)
	}
	if c.code != nil && c.code.version < 4 && !x.Type.DType.IsFloat() { // version 4: the quotient of integers is a float
		return c.number(c.Do(ops.Divide, x, y), "self", "other")
	}
	return c.number(c.Do(ops.Divide, c.real(x), c.real(y)), "self", "other")
}

// floorDivide rounds down; it truncated before version 10 of the operators.
func floorDivide(c *call) any {
	x, y := c.both("self", "other")
	return c.number(c.Do(ops.FloorDivide, x, y), "self", "other")
}

// power computes common exponents by products.
func power(c *call) any {
	x, y := c.both("self", "exponent")
	if n, ok := number(c.args["exponent"]); ok {
		switch {
		case n == 1:
			return x
		case n == 2:
			return c.Do(ops.Multiply, x, x)
		case n == 3:
			return c.Do(ops.Multiply, c.Do(ops.Multiply, x, x), x)
		case n == 0.5:
			return c.Do(ops.Sqrt, c.real(x))
		case n == -0.5:
			return c.Do(ops.Rsqrt, c.real(x))
		case n == -1 && x.Type.DType.IsFloat():
			return c.Do(ops.Reciprocal, x)
		case n == math.Trunc(n) && n > 0 && !x.Type.DType.IsFloat():
			return c.number(c.Cast(c.Do(ops.Power, c.Cast(x, types.F64), c.Cast(y, types.F64)), x.Type.DType), "self", "exponent")
		}
	}
	return c.number(c.Do(ops.Power, c.real(x), c.real(y)), "self", "exponent")
}

// mask is an argument as truth values.
func (c *call) mask(name string) *graph.Value { return c.Cast(c.x(name), types.Bool) }

func where(c *call) any {
	d := c.common(c.args["self"], c.args["other"])
	return c.number(c.Do(ops.Where, c.mask("condition"), c.operand(c.args["self"], d), c.operand(c.args["other"], d)), "condition", "self", "other")
}
