package ops

import (
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// CumulativeAttrs are the attributes of cumsum and cumprod. Exclusive leaves the element itself out; Reverse folds what
// comes after it instead of before.
type CumulativeAttrs struct {
	Axis               int
	Exclusive, Reverse bool
}

var (
	CumSum = cumulative("cumsum", "the sum of the elements up to each along an axis.", te.Sum,
		func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b })
	CumProd = cumulative("cumprod", "the product of the elements up to each along an axis.", te.Prod,
		func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b })
)

// cumulative says the operator as one guarded reduction per element: quadratic in the axis. A linear implementation
// needs an order of elements, which tensor expressions do not have.
func cumulative(name, doc string, c te.Combiner, float func(a, b float64) float64, integer func(a, b int64) int64) *op.Def {
	return op.Define(op.Spec[CumulativeAttrs]{
		Name: name, Doc: name + " is " + doc,
		Args: []string{"data"}, Fusion: op.Opaque, Layout: op.Same,
		Infer: func(a CumulativeAttrs, in []op.Arg) ([]types.Tensor, error) {
			if err := numbers.check("data", in[0].DType); err != nil {
				return nil, err
			}
			return []types.Tensor{in[0].Tensor}, wantAxis(a.Axis, in[0].Rank())
		},
		Eval: func(a CumulativeAttrs, in, out []*tensor.Tensor) error {
			x, y := in[0], out[0]
			eachIndex(y.Shape, func(at []int) {
				f, n, from := c.Identity(types.F64).(*expr.Float).V, c.Identity(types.I64).(*expr.Int).V, append([]int{}, at...)
				for k := range x.Shape[a.Axis] {
					if from[a.Axis] = k; !a.counts(k, at[a.Axis]) {
						continue
					}
					i := offsetOf(x.Shape, from)
					if x.DType.IsFloat() {
						f = float(f, x.Float(i))
					} else {
						n = integer(n, x.Int(i))
					}
				}
				i := offsetOf(y.Shape, at)
				if x.DType.IsFloat() {
					y.SetFloat(i, f)
				} else {
					y.SetInt(i, n)
				}
			})
			return nil
		},
		Compute: func(a CumulativeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			n := out[0].Shape[a.Axis]
			return []*te.Stage{te.Fold(name, out[0], c, []int{n}, func(i, r []expr.Expr) expr.Expr {
				x := in[0].At(with(i, a.Axis, r[0])...)
				return expr.If(a.condition(r[0], i[a.Axis]), x, c.Identity(x.DType()))
			})}
		},
		Axes: alongAxis(func(a *CumulativeAttrs) *int { return &a.Axis }),
		Sample: func(r *rand.Rand) (CumulativeAttrs, []types.Tensor) {
			d := draw{r}
			shape := d.shape(1, 3)
			return CumulativeAttrs{d.IntN(len(shape)), d.coin(2), d.coin(2)}, []types.Tensor{types.Of(d.of(numbers), shape...)}
		},
	})
}

// counts reports whether element k belongs to the result at i.
func (a CumulativeAttrs) counts(k, i int) bool {
	switch {
	case k == i:
		return !a.Exclusive
	case a.Reverse:
		return k > i
	}
	return k < i
}

func (a CumulativeAttrs) condition(k, i expr.Expr) expr.Expr {
	if a.Reverse {
		k, i = i, k
	}
	if a.Exclusive {
		return expr.LT(k, i)
	}
	return expr.LE(k, i)
}
