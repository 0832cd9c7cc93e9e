package ops

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// LpPoolAttrs are the attributes of nn.lp_pool, which takes any number of spatial axes. P is the order of the norm.
type LpPoolAttrs struct {
	PoolSize, Strides, Padding, Dilation []int
	CeilMode                             bool
	P                                    int
}

func (a LpPoolAttrs) pool() PoolAttrs {
	return PoolAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode}
}

// LpPool is ONNX's LpPool.
var LpPool = op.Define(op.Spec[LpPoolAttrs]{
	Name: "nn.lp_pool", Doc: "nn.lp_pool is the p-norm of each window.",
	Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Channels,
	Infer: func(a LpPoolAttrs, in []op.Arg) ([]types.Tensor, error) {
		if a.P < 1 || a.P > maxStep {
			return nil, fmt.Errorf("p is %d; it must be 1 or more", a.P)
		}
		return a.pool().infer(floats, in[0], len(a.PoolSize))
	},
	Eval: func(a LpPoolAttrs, in, out []*tensor.Tensor) error {
		ws := a.pool().mustWindows(in[0].Shape)
		eachIndex(out[0].Shape, func(at []int) {
			sum := 0.0
			eachInWindow(ws, in[0], at, func(i int) { sum += math.Pow(math.Abs(in[0].Float(i)), float64(a.P)) })
			out[0].SetFloat(offsetOf(out[0].Shape, at), math.Pow(sum, 1/float64(a.P)))
		})
		return nil
	},
	Compute: func(a LpPoolAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		wide := types.Of(out[0].DType.Compute(), out[0].Shape...)
		sum := a.pool().fold("pool_sum", in[0], wide, te.Sum, a.power)
		return []*te.Stage{te.Compute("lp_pool", out[0], func(i []expr.Expr) expr.Expr { return a.root(sum.At(i...)) })}
	},
	Sample: func(r *rand.Rand) (LpPoolAttrs, []types.Tensor) {
		d := draw{r}
		a, in := samplePool(d, d.between(1, 3), floats)
		return LpPoolAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode, d.between(1, 3)}, in
	},
})

func (a LpPoolAttrs) power(x expr.Expr) expr.Expr {
	switch a.P {
	case 1:
		return expr.Call(expr.FnAbs, x)
	case 2:
		return expr.Mul(x, x)
	}
	return expr.Bin(expr.OpPow, expr.Call(expr.FnAbs, x), like(x, float64(a.P)))
}

func (a LpPoolAttrs) root(x expr.Expr) expr.Expr {
	switch a.P {
	case 1:
		return x
	case 2:
		return expr.Call(expr.FnSqrt, x)
	}
	return expr.Bin(expr.OpPow, x, like(x, 1/float64(a.P)))
}
