package ops

import "lathe/internal/op"

// elementwiseOps lists the operators whose element i is a function of the operands' elements i.
var elementwiseOps = []*op.Def{
	Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, BitwiseNot, Ceil, Copy, Cos, Cosh, Erf, Exp, Expm1, Floor, HardSwish,
	IsNaN, Log, Log1p, LogicalNot, Mish, Negative, Reciprocal, Relu, Round, Rsqrt, Sigmoid, Sign, Sin, Sinh, Softplus,
	Softsign, Sqrt, Tan, Tanh, Trunc,

	Cast, Celu, Clip, Elu, HardSigmoid, IsInf, LeakyRelu, Selu, Shrink, ThresholdedRelu,

	Add, Atan2, BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Equal, FloorDivide, FloorMod, Greater, GreaterEqual,
	LeftShift, Less, LessEqual, LogicalAnd, LogicalOr, LogicalXor, Maximum, Minimum, Mod, Multiply, NotEqual, Power,
	RightShift, Subtract,

	Prelu, Where,
}
