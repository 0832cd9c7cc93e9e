package ops

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Attributes of the activation functions, named as in the ONNX operator specification.
type (
	// AlphaAttrs hold the one parameter of nn.leaky_relu, elu, celu and thresholded_relu.
	AlphaAttrs struct{ Alpha float64 }
	// SeluAttrs are the attributes of selu.
	SeluAttrs struct{ Alpha, Gamma float64 }
	// HardSigmoidAttrs are the attributes of hard_sigmoid.
	HardSigmoidAttrs struct{ Alpha, Beta float64 }
	// ShrinkAttrs are the attributes of shrink.
	ShrinkAttrs struct{ Lambda, Bias float64 }
)

var (
	LeakyRelu = pointwise[AlphaAttrs]{
		name: "nn.leaky_relu", doc: "x where x is not negative and alpha*x elsewhere.", kind: floats,
		body: func(a AlphaAttrs, x expr.Expr) expr.Expr {
			return expr.If(expr.GE(x, zero(x)), x, expr.Mul(x, like(x, a.Alpha)))
		},
		float: func(a AlphaAttrs, x float64) float64 {
			if x >= 0 {
				return x
			}
			return x * a.Alpha
		},
		sample: func(d draw) AlphaAttrs { return AlphaAttrs{0.01 + d.Float64()} },
	}.define()

	Elu = pointwise[AlphaAttrs]{
		name: "elu", doc: "x where x is not negative and alpha*(exp(x) - 1) elsewhere.", kind: floats,
		body: func(a AlphaAttrs, x expr.Expr) expr.Expr {
			return expr.If(expr.GE(x, zero(x)), x, expr.Mul(like(x, a.Alpha), expr.Call(expr.FnExpm1, x)))
		},
		float: func(a AlphaAttrs, x float64) float64 {
			if x >= 0 {
				return x
			}
			return a.Alpha * math.Expm1(x)
		},
		sample: func(d draw) AlphaAttrs { return AlphaAttrs{0.5 + d.Float64()} },
	}.define()

	Selu = pointwise[SeluAttrs]{
		name: "selu", doc: "gamma * elu(x, alpha).", kind: floats,
		body: func(a SeluAttrs, x expr.Expr) expr.Expr {
			negative := expr.Mul(like(x, a.Alpha*a.Gamma), expr.Call(expr.FnExpm1, x))
			return expr.If(expr.GE(x, zero(x)), expr.Mul(like(x, a.Gamma), x), negative)
		},
		float: func(a SeluAttrs, x float64) float64 {
			if x >= 0 {
				return a.Gamma * x
			}
			return a.Gamma * a.Alpha * math.Expm1(x)
		},
		sample: func(d draw) SeluAttrs { return SeluAttrs{1.6 + d.Float64()/8, 1 + d.Float64()/8} },
	}.define()

	Celu = pointwise[AlphaAttrs]{
		name: "celu", doc: "x where x is not negative and alpha*(exp(x/alpha) - 1) elsewhere.", kind: floats,
		body: func(a AlphaAttrs, x expr.Expr) expr.Expr {
			negative := expr.Mul(like(x, a.Alpha), expr.Call(expr.FnExpm1, expr.Div(x, like(x, a.Alpha))))
			return expr.If(expr.GE(x, zero(x)), x, negative)
		},
		float: func(a AlphaAttrs, x float64) float64 {
			if x >= 0 {
				return x
			}
			return a.Alpha * math.Expm1(x/a.Alpha)
		},
		check: func(a AlphaAttrs) error {
			if a.Alpha == 0 {
				return fmt.Errorf("alpha is 0; celu divides by it")
			}
			return nil
		},
		sample: func(d draw) AlphaAttrs { return AlphaAttrs{0.5 + d.Float64()} },
	}.define()

	HardSigmoid = pointwise[HardSigmoidAttrs]{
		name: "hard_sigmoid", doc: "max(0, min(1, alpha*x + beta)).", kind: floats,
		body: func(a HardSigmoidAttrs, x expr.Expr) expr.Expr {
			line := expr.Add(expr.Mul(x, like(x, a.Alpha)), like(x, a.Beta))
			return expr.Max(expr.Min(line, one(x)), zero(x))
		},
		float:  func(a HardSigmoidAttrs, x float64) float64 { return max(0, min(1, a.Alpha*x+a.Beta)) },
		sample: func(d draw) HardSigmoidAttrs { return HardSigmoidAttrs{0.1 + d.Float64(), d.Float64()} },
	}.define()

	ThresholdedRelu = pointwise[AlphaAttrs]{
		name: "thresholded_relu", doc: "x where x > alpha and 0 elsewhere.", kind: floats,
		body: func(a AlphaAttrs, x expr.Expr) expr.Expr {
			return expr.If(expr.Bin(expr.OpGT, x, like(x, a.Alpha)), x, zero(x))
		},
		float: func(a AlphaAttrs, x float64) float64 {
			if x > a.Alpha {
				return x
			}
			return 0
		},
		sample: func(d draw) AlphaAttrs { return AlphaAttrs{d.Float64()} },
	}.define()

	Shrink = pointwise[ShrinkAttrs]{
		name: "shrink", doc: "x + bias where x < -lambda, x - bias where x > lambda, and 0 elsewhere.", kind: floats,
		body: func(a ShrinkAttrs, x expr.Expr) expr.Expr {
			bias := like(x, a.Bias)
			above := expr.If(expr.Bin(expr.OpGT, x, like(x, a.Lambda)), expr.Sub(x, bias), zero(x))
			return expr.If(expr.LT(x, like(x, -a.Lambda)), expr.Add(x, bias), above)
		},
		float: func(a ShrinkAttrs, x float64) float64 {
			switch {
			case x < -a.Lambda:
				return x + a.Bias
			case x > a.Lambda:
				return x - a.Bias
			}
			return 0
		},
		sample: func(d draw) ShrinkAttrs { return ShrinkAttrs{d.Float64(), d.Float64()} },
	}.define()
)

// ClipAttrs are the attributes of clip. A bound counts only when its flag is set.
type ClipAttrs struct {
	Min, Max       float64
	HasMin, HasMax bool
}

// Clip is min(max(x, Min), Max): with Min above Max the result is Max. Bounds of integers saturate at the type's range.
var Clip = pointwise[ClipAttrs]{
	name: "clip", doc: "x limited to [min, max]; NaN stays NaN.", kind: numbers,
	body: func(a ClipAttrs, x expr.Expr) expr.Expr {
		y := x
		if a.HasMin {
			y = expr.Max(y, like(x, a.Min))
		}
		if a.HasMax {
			y = expr.Min(y, like(x, a.Max))
		}
		return y
	},
	float: func(a ClipAttrs, x float64) float64 {
		if a.HasMin {
			x = max(x, a.Min)
		}
		if a.HasMax {
			x = min(x, a.Max)
		}
		return x
	},
	integer: func(a ClipAttrs, d types.DType, x int64) int64 {
		if a.HasMin {
			x = extreme(d, x, expr.Const(d, a.Min).(*expr.Int).V, true)
		}
		if a.HasMax {
			x = extreme(d, x, expr.Const(d, a.Max).(*expr.Int).V, false)
		}
		return x
	},
	check: func(a ClipAttrs) error {
		if a.HasMin && math.IsNaN(a.Min) || a.HasMax && math.IsNaN(a.Max) {
			return fmt.Errorf("a bound is NaN")
		}
		return nil
	},
	sample: func(d draw) ClipAttrs {
		lo := math.Round(d.NormFloat64() * 4)
		return ClipAttrs{lo, lo + float64(d.IntN(6)), d.coin(2), d.coin(2)}
	},
}.define()

// IsInfAttrs are the attributes of isinf: which infinities count.
type IsInfAttrs struct{ DetectPositive, DetectNegative bool }

var IsInf = pointwise[IsInfAttrs]{
	name: "isinf", doc: "whether x is an infinity of a detected sign.", kind: floats, result: types.Bool,
	body: func(a IsInfAttrs, x expr.Expr) expr.Expr {
		switch {
		case a.DetectPositive && a.DetectNegative:
			return expr.Call(expr.FnIsInf, x)
		case a.DetectPositive:
			return expr.EQ(x, like(x, math.Inf(1)))
		case a.DetectNegative:
			return expr.EQ(x, like(x, math.Inf(-1)))
		}
		return expr.Const(types.Bool, 0)
	},
	float: func(a IsInfAttrs, x float64) float64 {
		return oneIf(a.DetectPositive && math.IsInf(x, 1) || a.DetectNegative && math.IsInf(x, -1))
	},
	sample: func(d draw) IsInfAttrs { return IsInfAttrs{d.coin(2), d.coin(2)} },
}.define()
