package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// AvgPoolAttrs are the attributes of average pooling. With CountIncludePad the divisor counts taps in the padding too,
// though not those that CeilMode adds behind it.
type AvgPoolAttrs struct {
	PoolSize, Strides, Padding, Dilation []int
	CeilMode, CountIncludePad            bool
}

// Average pooling by number of spatial axes: ONNX's AveragePool.
var (
	AvgPool1d = avgPool("nn.avg_pool1d", 1)
	AvgPool2d = avgPool("nn.avg_pool2d", 2)
	AvgPool3d = avgPool("nn.avg_pool3d", 3)
)

// AvgPool is average pooling over n spatial axes, for n from 1 to 3.
var AvgPool = [...]*op.Def{1: AvgPool1d, 2: AvgPool2d, 3: AvgPool3d}

func (a AvgPoolAttrs) pool() PoolAttrs {
	return PoolAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode}
}

func avgPool(name string, rank int) *op.Def {
	return op.Define(op.Spec[AvgPoolAttrs]{
		Name: name,
		Doc:  fmt.Sprintf("%s is the average of each window over %s.", name, spelling.Count(rank, "spatial axis")),
		Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Channels,
		Infer: func(a AvgPoolAttrs, in []op.Arg) ([]types.Tensor, error) { return a.pool().infer(floats, in[0], rank) },
		Eval: func(a AvgPoolAttrs, in, out []*tensor.Tensor) error {
			ws := a.pool().mustWindows(in[0].Shape)
			eachIndex(out[0].Shape, func(at []int) {
				var sum total
				eachInWindow(ws, in[0], at, func(i int) { sum.add(in[0], i) })
				out[0].SetFloat(offsetOf(out[0].Shape, at), sum.f/float64(a.divisor(ws, at[2:])))
			})
			return nil
		},
		Compute: func(a AvgPoolAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			wide := types.Of(out[0].DType.Compute(), out[0].Shape...)
			sum := a.pool().fold("pool_sum", in[0], wide, te.Sum, func(x expr.Expr) expr.Expr { return x })
			ws := a.pool().mustWindows(in[0].Type.Shape)
			return []*te.Stage{te.Compute("avg_pool", out[0], func(i []expr.Expr) expr.Expr {
				n := a.count(ws, i[2:])
				if v, ok := expr.IntOf(n); ok {
					return expr.Div(sum.At(i...), expr.Const(wide.DType, float64(v)))
				}
				return expr.Div(sum.At(i...), expr.CastTo(wide.DType, n))
			})}
		},
		Sample: func(r *rand.Rand) (AvgPoolAttrs, []types.Tensor) {
			d := draw{r}
			a, in := samplePool(d, rank, floats)
			return AvgPoolAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode, d.coin(2)}, in
		},
	})
}

// bounds are the input positions that count: [lo, hi).
func (a AvgPoolAttrs) bounds(w window) (lo, hi int) {
	if a.CountIncludePad {
		return -w.before, w.in + w.after
	}
	return 0, w.in
}

// divisor is the number of taps that count at output position o, or 1 where there are none.
func (a AvgPoolAttrs) divisor(ws []window, o []int) int {
	n := 1
	for k, w := range ws {
		taps := 0
		lo, hi := a.bounds(w)
		for r := range w.size {
			if p := w.at(o[k], r); p >= lo && p < hi {
				taps++
			}
		}
		n *= taps
	}
	return max(n, 1)
}

// count is divisor for tensor expressions. Axes on which every window is whole are constants.
func (a AvgPoolAttrs) count(ws []window, o []expr.Expr) expr.Expr {
	whole, n := 1, expr.Expr(nil)
	for k, w := range ws {
		lo, hi := a.bounds(w)
		if w.at(0, 0) >= lo && w.at(w.out-1, w.size-1) < hi {
			whole *= w.size
			continue
		}
		taps := w.taps(o[k], lo, hi)
		if n == nil {
			n = taps
		} else {
			n = expr.Mul(n, taps)
		}
	}
	if n == nil {
		return expr.Index(whole)
	}
	return expr.Max(scaled(whole, n, 0), expr.Index(1))
}

// taps is how many taps of the window at o read a position in [lo, hi): those before the first past hi, less those
// before the first not below lo.
func (w window) taps(o expr.Expr, lo, hi int) expr.Expr {
	before := func(limit int) expr.Expr {
		gap := expr.Sub(expr.Index(limit+w.before+w.dilation-1), scaled(w.stride, o, 0))
		return expr.Max(expr.Min(quotient(gap, w.dilation), expr.Index(w.size)), expr.Index(0))
	}
	if w.at(0, 0) >= lo {
		return before(hi)
	}
	return expr.Sub(before(hi), before(lo))
}
