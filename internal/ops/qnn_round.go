package ops

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// HalfEven is the rounding of ONNX: to nearest, ties to even.
const HalfEven = "half_even"

// checkRounding tests an attribute that says how a quantised value is rounded. It has no default: engines differ.
func checkRounding(rounding string) error {
	if rounding != HalfEven {
		return fmt.Errorf("unknown rounding %q (the only one is %s)", rounding, HalfEven)
	}
	return nil
}

// saturate is x rounded to nearest even, shifted by a zero point and clamped to the range of t. All steps are in float32,
// which is exact wherever the clamp does not decide. NaN gives 0.
func saturate(t types.DType, x float32, zero int64) int64 {
	lo, hi := t.IntRange()
	x = float32(math.RoundToEven(float64(x))) + float32(zero)
	switch {
	case x != x:
		return 0
	case x <= float32(lo):
		return lo
	case x >= float32(hi):
		return hi
	}
	return int64(x)
}

// saturateExpr is saturate of an F32 expression; zero is an integer expression or nil.
func saturateExpr(t types.DType, x, zero expr.Expr) expr.Expr {
	x = expr.Call(expr.FnRound, x)
	if zero != nil {
		x = expr.Add(x, expr.CastTo(types.F32, zero))
	}
	return expr.CastTo(t, x)
}
