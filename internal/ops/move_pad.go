package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// PadAttrs are the attributes of nn.pad: elements added before and after each axis, negative numbers remove some.
// Mode is "constant" (Value, or the second operand where there is one), "edge", "reflect" (the edge element is not
// repeated; long pads reflect again) or "wrap".
type PadAttrs struct {
	PadBefore, PadAfter []int
	Mode                string
	Value               float64
}

// Pad grows or crops each axis at both ends.
var Pad = op.Define(op.Spec[PadAttrs]{
	Name:   "nn.pad",
	Doc:    "nn.pad grows each axis at both ends by a value, by the edge element, or by the reflected or repeated tensor; negative pads crop.",
	Args:   []string{"data", "pad_value"},
	MinIn:  1,
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a PadAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := a.check(in); err != nil {
			return nil, err
		}
		shape := make([]int, in[0].Rank())
		for k, n := range in[0].Shape {
			before, after := a.PadBefore[k], a.PadAfter[k]
			if max(before, -before, after, -after) > types.MaxElements {
				return nil, fmt.Errorf("axis %d of %s: pads %d and %d", k, in[0], before, after)
			}
			shape[k] = before + n + after
			if shape[k] < 0 {
				return nil, fmt.Errorf("axis %d of %s: pads %d and %d remove more than there is", k, in[0], before, after)
			}
			if n == 0 && shape[k] > 0 && a.Mode != "constant" {
				return nil, fmt.Errorf("axis %d of %s is empty: mode %q has nothing to pad with", k, in[0], a.Mode)
			}
		}
		return []types.Tensor{types.Of(in[0].DType, shape...)}, nil
	},
	Eval: func(a PadAttrs, in, out []*tensor.Tensor) error {
		value := tensor.New(out[0].DType, 1)
		value.SetFloat(0, a.Value)
		if len(in) > 1 {
			value = in[1]
		}
		from := make([]int, len(out[0].Shape))
		eachIndex(out[0].Shape, func(at []int) {
			i := offsetOf(out[0].Shape, at)
			inside := true
			for k, n := range in[0].Shape {
				x := at[k] - a.PadBefore[k]
				inside = inside && x >= 0 && x < n
				from[k] = padSource(a.Mode, x, n)
			}
			if inside || a.Mode != "constant" {
				setElement(out[0], i, in[0], offsetOf(in[0].Shape, from))
			} else {
				setElement(out[0], i, value, 0)
			}
		})
		return nil
	},
	Compute: func(a PadAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		value := expr.Const(out[0].DType.Compute(), a.Value)
		if len(in) > 1 {
			value = in[1].At()
		}
		return []*te.Stage{te.Compute("pad", out[0], func(i []expr.Expr) expr.Expr {
			from := make([]expr.Expr, len(i))
			var inside expr.Expr
			for k, n := range in[0].Type.Shape {
				from[k] = scaled(1, i[k], -a.PadBefore[k])
				if a.Mode != "constant" {
					from[k] = padSourceExpr(a.Mode, from[k], n, a.PadBefore[k], a.PadAfter[k])
					continue
				}
				if a.PadBefore[k] > 0 {
					inside = expr.AllOf(inside, expr.GE(from[k], expr.Index(0)))
				}
				if a.PadAfter[k] > 0 {
					inside = expr.AllOf(inside, expr.LT(from[k], expr.Index(n)))
				}
			}
			return expr.If(inside, in[0].At(from...), value)
		})}
	},
	Identity: func(a PadAttrs, _ []types.Tensor) bool {
		some := func(n int) bool { return n != 0 }
		return !slices.ContainsFunc(a.PadBefore, some) && !slices.ContainsFunc(a.PadAfter, some)
	},
	Axes: func(a PadAttrs, in []types.Tensor) *op.Axes {
		return orderData(in, func(order []int) any {
			b := a
			b.PadBefore, b.PadAfter = op.Permuted(a.PadBefore, order), op.Permuted(a.PadAfter, order)
			return b
		})
	},
	Sample: func(r *rand.Rand) (PadAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.full(0, 4), d.dtype()
		a := PadAttrs{Mode: d.word("constant", "constant", "edge", "reflect", "wrap"), Value: float64(d.between(0, 5))}
		for _, n := range shape {
			before := d.between(-1, n+2)
			a.PadBefore = append(a.PadBefore, before)
			a.PadAfter = append(a.PadAfter, max(d.between(-1, n+2), -n-before))
		}
		in := []types.Tensor{types.Of(dt, shape...)}
		if a.Mode == "constant" && d.coin(2) {
			in = append(in, types.Of(dt))
		}
		return a, in
	},
})

func (a PadAttrs) check(in []op.Arg) error {
	if err := perAxis("pad_before", a.PadBefore, in[0].Rank()); err != nil {
		return err
	}
	if err := perAxis("pad_after", a.PadAfter, in[0].Rank()); err != nil {
		return err
	}
	switch a.Mode {
	case "constant", "edge", "reflect", "wrap":
	default:
		return fmt.Errorf("unknown mode %q (the modes are constant, edge, reflect and wrap)", a.Mode)
	}
	if len(in) > 1 && (in[1].DType != in[0].DType || in[1].Rank() != 0) {
		return fmt.Errorf("pad_value is %s, not a scalar of type %s", in[1], in[0].DType)
	}
	return nil
}

// padSource is the element of an axis of n > 0 elements that stands at place x, which may be outside.
func padSource(mode string, x, n int) int {
	switch mode {
	case "edge":
		return max(0, min(n-1, x))
	case "wrap":
		return (x%n + n) % n
	case "reflect":
		period := max(2*(n-1), 1)
		x = (x%period + period) % period
		return min(x, 2*(n-1)-x)
	}
	return x
}

// padSourceExpr is padSource for -before <= x < n+after. Pads shorter than the axis need no division.
func padSourceExpr(mode string, x expr.Expr, n, before, after int) expr.Expr {
	if before <= 0 && after <= 0 {
		return x
	}
	switch {
	case mode == "edge":
		return clampExpr(x, n)
	case mode == "wrap":
		return remainder(x, n)
	case n == 1:
		return expr.Index(0)
	case before < n && after < n:
		x = expr.Max(x, expr.Sub(expr.Index(0), x))
	default:
		x = remainder(x, 2*(n-1))
	}
	return expr.Min(x, expr.Sub(expr.Index(2*(n-1)), x))
}
