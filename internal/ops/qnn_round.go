package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Roundings of quantised values, both to nearest. HalfEven is ONNX's: ties to even. HalfUp takes ties upward, floor(x + 1/2),
// as integer hardware rounds that adds half of the last place before it shifts. A requantize by a power of two 2^-n with n from 0 to 16
// is that shift, bit for bit: float32 is exact wherever the clamp to 8 bits does not decide.
const (
	HalfEven = "half_even"
	HalfUp   = "half_up"
)

var roundings = []string{HalfEven, HalfUp}

// checkRounding tests an attribute that says how a quantised value is rounded. It has no default: engines differ.
func checkRounding(rounding string) error {
	if !slices.Contains(roundings, rounding) {
		return fmt.Errorf("unknown rounding %q (there are %s)", rounding, strings.Join(roundings, " and "))
	}
	return nil
}

// saturate is x rounded, shifted by a zero point and clamped to the range of t. All steps are in float32,
// which is exact wherever the clamp does not decide. NaN gives 0.
func saturate(t types.DType, rounding string, x float32, zero int64) int64 {
	lo, hi := t.IntRange()
	x = rounded(rounding, x) + float32(zero)
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

// rounded is x rounded to an integer. Half up compares the fraction, since x + 1/2 would itself be rounded.
func rounded(rounding string, x float32) float32 {
	if rounding == HalfEven {
		return float32(math.RoundToEven(float64(x)))
	}
	floor := float32(math.Floor(float64(x)))
	if x-floor >= 0.5 {
		floor++
	}
	return floor
}

// saturateExpr is saturate of an F32 expression; zero is an integer expression or nil.
func saturateExpr(t types.DType, rounding string, x, zero expr.Expr) expr.Expr {
	if rounding == HalfEven {
		x = expr.Call(expr.FnRound, x)
	} else {
		floor := expr.Call(expr.FnFloor, x)
		x = expr.Add(floor, expr.If(expr.GE(expr.Sub(x, floor), like(x, 0.5)), like(x, 1), like(x, 0)))
	}
	if zero != nil {
		x = expr.Add(x, expr.CastTo(types.F32, zero))
	}
	return expr.CastTo(t, x)
}
