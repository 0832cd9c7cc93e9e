package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// CastAttrs are the attributes of cast.
type CastAttrs struct{ DType types.DType }

// Cast converts as expr.Cast does: float to integer saturates and NaN gives 0, integers wrap, bool is x != 0.
var Cast = op.Define(op.Spec[CastAttrs]{
	Name: "cast", Doc: "cast is x converted to another element type by value.",
	Args: []string{"x"}, Fusion: op.Elementwise, Layout: op.Same,
	Infer: func(a CastAttrs, in []op.Arg) ([]types.Tensor, error) {
		if a.DType < types.Bool || a.DType > types.U4 {
			return nil, fmt.Errorf("dtype %d is no element type", a.DType)
		}
		return []types.Tensor{types.Of(a.DType, in[0].Shape...)}, nil
	},
	Eval: func(a CastAttrs, in, out []*tensor.Tensor) error {
		x, y := in[0], out[0]
		for i := range y.Len() {
			convert(y, x, i)
		}
		return nil
	},
	Compute: func(a CastAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("cast", out[0], func(i []expr.Expr) expr.Expr {
			if a.DType.IsNibble() {
				return nibbleOf(a.DType, in[0].At(i...))
			}
			// The rounding to a 16-bit float is part of the value: a kernel that keeps the result in a register has it too.
			return expr.CastTo(a.DType.Compute(), expr.CastTo(a.DType, in[0].At(i...)))
		})}
	},
	Identity: func(a CastAttrs, in []types.Tensor) bool { return a.DType == in[0].DType },
	Sample: func(r *rand.Rand) (CastAttrs, []types.Tensor) {
		d := draw{r}
		return CastAttrs{d.of(anything)}, []types.Tensor{types.Of(d.of(anything), d.shape(0, 3)...)}
	},
})

// nibbleOf is x as an integer of 4 bits, in int32: the low bits of a float's integer, as ONNX's Cast has it, too.
func nibbleOf(t types.DType, x expr.Expr) expr.Expr {
	lo, _ := t.IntRange()
	number := func(v int64) expr.Expr { return expr.Const(types.I32, float64(v)) }
	x = expr.Bin(expr.OpFloorMod, expr.Sub(expr.CastTo(types.I32, x), number(lo)), number(16))
	return expr.Add(x, number(lo))
}

// convert stores element i of x in y. Integers go to F32 and the 16-bit floats in one rounding to F32.
func convert(y, x *tensor.Tensor, i int) {
	switch {
	case x.DType.IsFloat() && y.DType == types.Bool:
		y.SetInt(i, int64(oneIf(x.Float(i) != 0)))
	case x.DType.IsFloat() && y.DType.IsNibble():
		whole := tensor.New(types.I32)
		whole.SetFloat(0, x.Float(i))
		y.SetInt(i, whole.Int(0))
	case x.DType.IsFloat():
		y.SetFloat(i, x.Float(i))
	case y.DType.Compute() != types.F32:
		if y.DType == types.F64 {
			y.SetFloat(i, x.Float(i))
		} else {
			y.SetInt(i, x.Int(i))
		}
	case x.DType == types.U64:
		y.SetFloat(i, float64(float32(uint64(x.Int(i)))))
	default:
		y.SetFloat(i, float64(float32(x.Int(i))))
	}
}
