package mxnet

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

func identity(c *call) *graph.Value {
	c.Ignore(c.Node.Attrs.Names()...)
	return c.X(0)
}

// unaries are operators of one operand; numpy's are called likewise with _npi_ in front.
var unaries = map[string]*op.Def{
	"relu": ops.Relu, "sigmoid": ops.Sigmoid, "tanh": ops.Tanh, "exp": ops.Exp, "expm1": ops.Expm1, "log": ops.Log, "log1p": ops.Log1p, "sqrt": ops.Sqrt, "rsqrt": ops.Rsqrt, "abs": ops.Abs,
	"negative": ops.Negative, "erf": ops.Erf, "softsign": ops.Softsign, "reciprocal": ops.Reciprocal, "floor": ops.Floor, "ceil": ops.Ceil, "trunc": ops.Trunc, "fix": ops.Trunc, "rint": ops.Round,
	"sign": ops.Sign, "sin": ops.Sin, "cos": ops.Cos, "tan": ops.Tan, "sinh": ops.Sinh, "cosh": ops.Cosh, "arcsin": ops.Asin, "arccos": ops.Acos, "arctan": ops.Atan, "arcsinh": ops.Asinh, "arccosh": ops.Acosh, "arctanh": ops.Atanh,
	"absolute": ops.Abs, "LogisticRegressionOutput": ops.Sigmoid,
}

// binaries are operators of two operands under all their names, and of a number behind or in front. A comparison gives numbers.
var binaries = []struct {
	def             *op.Def
	names           []string
	scalar, scalar2 []string // with the number behind, and in front
	compare         bool
}{
	{ops.Add, []string{"elemwise_add", "_plus", "_Plus", "broadcast_add", "broadcast_plus", "_add", "_npi_add", "_grad_add"}, []string{"_plus_scalar", "_PlusScalar", "_npi_add_scalar"}, nil, false},
	{ops.Subtract, []string{"elemwise_sub", "_minus", "_Minus", "broadcast_sub", "broadcast_minus", "_sub", "_npi_subtract"}, []string{"_minus_scalar", "_MinusScalar", "_npi_subtract_scalar"}, []string{"_rminus_scalar", "_RMinusScalar", "_npi_rsubtract_scalar"}, false},
	{ops.Multiply, []string{"elemwise_mul", "_mul", "_Mul", "broadcast_mul", "_npi_multiply"}, []string{"_mul_scalar", "_MulScalar", "_npi_multiply_scalar"}, nil, false},
	{ops.Divide, []string{"elemwise_div", "_div", "_Div", "broadcast_div", "_npi_true_divide"}, []string{"_div_scalar", "_DivScalar", "_npi_true_divide_scalar"}, []string{"_rdiv_scalar", "_RDivScalar", "_npi_rtrue_divide_scalar"}, false},
	{ops.FloorMod, []string{"_mod", "broadcast_mod", "_npi_mod"}, []string{"_mod_scalar", "_npi_mod_scalar"}, []string{"_rmod_scalar", "_npi_rmod_scalar"}, false},
	{ops.Power, []string{"_power", "_Power", "broadcast_power", "_npi_power"}, []string{"_power_scalar", "_PowerScalar", "_npi_power_scalar"}, []string{"_rpower_scalar", "_RPowerScalar", "_npi_rpower_scalar"}, false},
	{ops.Maximum, []string{"_maximum", "_Maximum", "broadcast_maximum", "_npi_maximum"}, []string{"_maximum_scalar", "_MaximumScalar", "_npi_maximum_scalar"}, nil, false},
	{ops.Minimum, []string{"_minimum", "_Minimum", "broadcast_minimum", "_npi_minimum"}, []string{"_minimum_scalar", "_MinimumScalar", "_npi_minimum_scalar"}, nil, false},
	{ops.Equal, []string{"_equal", "broadcast_equal", "_npi_equal"}, []string{"_equal_scalar", "_npi_equal_scalar"}, nil, true},
	{ops.NotEqual, []string{"_not_equal", "broadcast_not_equal", "_npi_not_equal"}, []string{"_not_equal_scalar", "_npi_not_equal_scalar"}, nil, true},
	{ops.Greater, []string{"_greater", "broadcast_greater", "_npi_greater"}, []string{"_greater_scalar", "_npi_greater_scalar"}, nil, true},
	{ops.GreaterEqual, []string{"_greater_equal", "broadcast_greater_equal", "_npi_greater_equal"}, []string{"_greater_equal_scalar", "_npi_greater_equal_scalar"}, nil, true},
	{ops.Less, []string{"_lesser", "broadcast_lesser", "_npi_less"}, []string{"_lesser_scalar", "_npi_less_scalar"}, nil, true},
	{ops.LessEqual, []string{"_lesser_equal", "broadcast_lesser_equal", "_npi_less_equal"}, []string{"_lesser_equal_scalar", "_npi_less_equal_scalar"}, nil, true},
}

// logicals are operators of truth values, which are numbers.
var logicals = map[string]*op.Def{"broadcast_logical_and": ops.LogicalAnd, "broadcast_logical_or": ops.LogicalOr, "broadcast_logical_xor": ops.LogicalXor, "_logical_and": ops.LogicalAnd, "_logical_or": ops.LogicalOr}

func elementwiseRows() (rows []row) {
	for name, d := range unaries {
		f := func(c *call) *graph.Value { return c.Do(d, c.X(0)) }
		rows = append(rows, row{name, f})
		if name != "LogisticRegressionOutput" && name != "relu" && name != "sigmoid" && name != "softsign" && name != "erf" {
			rows = append(rows, row{"_npi_" + name, f})
		}
	}
	rows = append(rows, row{"_npx_relu", unaryRow(ops.Relu)}, row{"_npx_sigmoid", unaryRow(ops.Sigmoid)}, row{"_npx_erf", unaryRow(ops.Erf)})
	for _, b := range binaries {
		number := func(c *call, y *graph.Value, like *graph.Value) *graph.Value {
			if b.compare && c.Node.Op[:5] != "_npi_" {
				return c.Cast(y, like.Type.DType)
			}
			return y
		}
		for _, name := range b.names {
			rows = append(rows, row{name, func(c *call) *graph.Value { return number(c, c.Do(b.def, c.X(0), c.X(1)), c.X(0)) }})
		}
		for _, name := range b.scalar {
			rows = append(rows, row{name, func(c *call) *graph.Value {
				c.Ignore("is_int")
				return number(c, c.Do(b.def, c.X(0), compose.Like(c.X(0), c.Float("scalar", 1))), c.X(0))
			}})
		}
		for _, name := range b.scalar2 {
			rows = append(rows, row{name, func(c *call) *graph.Value {
				c.Ignore("is_int")
				return c.Do(b.def, compose.Like(c.X(0), c.Float("scalar", 1)), c.X(0))
			}})
		}
	}
	for name, d := range logicals {
		rows = append(rows, row{name, func(c *call) *graph.Value { return c.Cast(c.Do(d, c.truth(0), c.truth(1)), c.X(0).Type.DType) }})
	}
	for _, name := range []string{"Dropout", "identity", "_copy", "BlockGrad", "stop_gradient", "make_loss", "MakeLoss", "LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", "IdentityAttachKLSparseReg", "_identity_with_attr_like_rhs", "_np_copy", "amp_identity"} {
		rows = append(rows, row{name, identity})
	}
	for _, name := range []string{"add_n", "ElementWiseSum", "_sum"} {
		rows = append(rows, row{name, func(c *call) *graph.Value { return c.Fold(ops.Add, c.All()...) }})
	}
	return append(rows, []row{
		{"square", square}, {"_npi_square", square}, {"clip", clip}, {"_npi_clip", clip}, {"where", where}, {"_npi_where", where}, {"smooth_l1", smoothL1}, {"hard_sigmoid", hardSigmoid}, {"log2", logarithm(2)}, {"log10", logarithm(10)}, {"_npi_log2", logarithm(2)}, {"_npi_log10", logarithm(10)},
		{"cbrt", func(c *call) *graph.Value {
			root := c.Do(ops.Power, c.Do(ops.Abs, c.X(0)), compose.Like(c.X(0), 1./3))
			return c.Do(ops.Multiply, c.Do(ops.Sign, c.X(0)), root)
		}},
		{"round", func(c *call) *graph.Value { // halves away from zero
			x := c.X(0)
			return c.Do(ops.Multiply, c.Do(ops.Sign, x), c.Do(ops.Floor, c.Do(ops.Add, c.Do(ops.Abs, x), compose.Like(x, 0.5))))
		}},
		{"logical_not", func(c *call) *graph.Value { return c.Cast(c.Do(ops.LogicalNot, c.truth(0)), c.X(0).Type.DType) }},
		{"_hypot", func(c *call) *graph.Value {
			return c.Do(ops.Sqrt, c.Do(ops.Add, c.Do(ops.Multiply, c.X(0), c.X(0)), c.Do(ops.Multiply, c.X(1), c.X(1))))
		}},
		{"Cast", cast}, {"cast", cast}, {"amp_cast", cast}, {"_contrib_div_sqrt_dim", func(c *call) *graph.Value {
			c.WantRank(0, 1)
			return c.Scaled(c.X(0), 1/math.Sqrt(float64(max(1, c.Shape(0)[c.Rank(0)-1]))))
		}},
	}...)
}

func unaryRow(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.X(0)) }
}

// truth is operand i as bool.
func (c *call) truth(i int) *graph.Value {
	if c.X(i).Type.DType == types.Bool {
		return c.X(i)
	}
	return c.Do(ops.NotEqual, c.X(i), compose.Like(c.X(i), 0))
}

func square(c *call) *graph.Value { return c.Do(ops.Multiply, c.X(0), c.X(0)) }

func clip(c *call) *graph.Value {
	x := c.X(0)
	if c.Has("a_min") {
		x = c.Do(ops.Maximum, x, compose.Like(x, c.Float("a_min", 0)))
	}
	if c.Has("a_max") {
		x = c.Do(ops.Minimum, x, compose.Like(x, c.Float("a_max", 0)))
	}
	return x
}

// where takes a condition of the operands' shape, or one for each entry of their first axis.
func where(c *call) *graph.Value {
	condition := c.truth(0)
	for condition.Type.Rank() == 1 && c.Node.Op == "where" && condition.Type.Rank() < c.Rank(1) {
		shape := make([]int, c.Rank(1))
		for k := range shape {
			shape[k] = 1
		}
		shape[0] = condition.Type.Elements()
		condition = c.Reshape(condition, shape...)
	}
	return c.Do(ops.Where, condition, c.X(1), c.X(2))
}

// smoothL1 is (s x)^2/2 where |x| < 1/s^2, and |x| - 1/(2 s^2) elsewhere.
func smoothL1(c *call) *graph.Value {
	x, s := c.X(0), c.Float("scalar", 1)
	size := c.Do(ops.Abs, x)
	small := c.Scaled(c.Do(ops.Multiply, x, x), s*s/2)
	return c.Do(ops.Where, c.Do(ops.Less, size, compose.Like(x, 1/(s*s))), small, c.Do(ops.Subtract, size, compose.Like(x, 0.5/(s*s))))
}

func hardSigmoid(c *call) *graph.Value {
	return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: c.Float("alpha", 0.2), Beta: c.Float("beta", 0.5)}, c.X(0))
}

func logarithm(base float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Scaled(c.Do(ops.Log, c.X(0)), 1/math.Log(base)) }
}

func cast(c *call) *graph.Value { return c.Cast(c.X(0), c.DType("dtype", types.Invalid)) }

// multicast gives all operands the widest type, or with cast_narrow the narrowest.
func multicast(c *call) values {
	c.Ignore("num_outputs")
	narrow := c.Bool("cast_narrow", false)
	d := c.X(0).Type.DType
	for _, x := range c.All() {
		if wider := x.Type.DType.Size() > d.Size(); wider != narrow && x.Type.DType.Size() != d.Size() {
			d = x.Type.DType
		}
	}
	var out values
	for _, x := range c.All() {
		out = append(out, c.Cast(x, d))
	}
	return out
}
