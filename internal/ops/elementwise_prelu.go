package ops

import "lathe/internal/expr"

// Prelu scales negative elements. Importers give the slope a shape that broadcasts, such as [C,1,1].
var Prelu = binary(binaryRow{
	name: "nn.prelu", doc: "a where a is not negative and a*b, b being the slope, elsewhere.", kind: floats, op: expr.OpMul,
	floatBody: func(x, slope expr.Expr) expr.Expr { return expr.If(expr.GE(x, zero(x)), x, expr.Mul(x, slope)) },
	float: func(x, slope float64) float64 {
		if x >= 0 {
			return x
		}
		return x * slope
	},
})
