package ops

import (
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A pointwise describes an operator of one operand whose element i is a function of operand element i.
type pointwise[A any] struct {
	name, doc string
	kind      kind
	result    types.DType // element type of the result; Invalid: the operand's
	body      func(a A, x expr.Expr) expr.Expr
	float     func(a A, x float64) float64
	integer   func(a A, d types.DType, x int64) int64 // nil where kind has no integers and no bool
	check     func(a A) error                         // nil: any attributes are right
	sample    func(d draw) A                          // nil: zero attributes
	identity  bool                                    // x, whatever the attributes
}

func (p pointwise[A]) define() *op.Def {
	return op.Define(op.Spec[A]{
		Name: p.name, Doc: p.name + " is " + p.doc,
		Args: []string{"x"}, Fusion: op.Elementwise, Layout: op.Same,
		Infer: func(a A, in []op.Arg) ([]types.Tensor, error) {
			if err := p.kind.check("x", in[0].DType); err != nil {
				return nil, err
			}
			if p.check != nil {
				if err := p.check(a); err != nil {
					return nil, err
				}
			}
			return []types.Tensor{p.resultType(in[0].Tensor)}, nil
		},
		Eval: func(a A, in, out []*tensor.Tensor) error {
			x, y := in[0], out[0]
			for i := range y.Len() {
				switch {
				case !x.DType.IsFloat():
					y.SetInt(i, p.integer(a, x.DType, x.Int(i)))
				default:
					y.SetFloat(i, p.float(a, x.Float(i)))
				}
			}
			return nil
		},
		Compute: func(a A, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{te.Compute(p.name, out[0], func(i []expr.Expr) expr.Expr { return p.body(a, in[0].At(i...)) })}
		},
		Identity: p.handsOn(),
		Sample: func(r *rand.Rand) (A, []types.Tensor) {
			d := draw{r}
			var a A
			if p.sample != nil {
				a = p.sample(d)
			}
			return a, []types.Tensor{types.Of(d.of(p.kind), d.shape(0, 4)...)}
		},
	})
}

func (p pointwise[A]) handsOn() func(A, []types.Tensor) bool {
	if !p.identity {
		return nil
	}
	return func(A, []types.Tensor) bool { return true }
}

func (p pointwise[A]) resultType(x types.Tensor) types.Tensor {
	if p.result != types.Invalid {
		x.DType = p.result
	}
	return x
}

// one is the constant 1 of x's type, and likewise zero; like is any constant of x's type.
func one(x expr.Expr) expr.Expr             { return expr.Const(x.DType(), 1) }
func zero(x expr.Expr) expr.Expr            { return expr.Const(x.DType(), 0) }
func like(x expr.Expr, v float64) expr.Expr { return expr.Const(x.DType(), v) }
