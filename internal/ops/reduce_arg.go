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

// ArgAttrs are the attributes of argmax and argmin.
type ArgAttrs struct {
	Axis            int
	KeepDims        bool
	SelectLastIndex bool // of equal extremes, the last counts instead of the first
}

var (
	ArgMax = argExtreme("argmax", "the int64 position of the greatest element along an axis; a NaN is greater than anything.", te.Max)
	ArgMin = argExtreme("argmin", "the int64 position of the least element along an axis; a NaN is less than anything.", te.Min)
)

func (a ArgAttrs) reduce() ReduceAttrs { return ReduceAttrs{[]int{a.Axis}, a.KeepDims} }

func argExtreme(name, doc string, c te.Combiner) *op.Def {
	return op.Define(op.Spec[ArgAttrs]{
		Name: name, Doc: name + " is " + doc,
		Args: []string{"data"}, Fusion: op.CommReduce, Layout: op.Free,
		Infer: func(a ArgAttrs, in []op.Arg) ([]types.Tensor, error) {
			out, err := a.reduce().infer(numbers, in[0].Tensor)
			if err != nil {
				return nil, err
			}
			if in[0].Shape[a.Axis] == 0 {
				return nil, fmt.Errorf("axis %d of %s has no elements", a.Axis, in[0].Tensor)
			}
			out[0].DType = types.I64
			return out, nil
		},
		Eval: func(a ArgAttrs, in, out []*tensor.Tensor) error {
			x, y := in[0], out[0]
			best := make([]int, y.Len()) // position in x of the best so far, plus 1
			a.reduce().each(x.Shape, func(i, j int) {
				if best[j] == 0 || better(c, x, i, best[j]-1, a.SelectLastIndex) {
					best[j] = i + 1
				}
			})
			stride := types.Count(x.Shape[a.Axis+1:])
			for j, i := range best {
				y.SetInt(j, int64((i-1)/stride%x.Shape[a.Axis]))
			}
			return nil
		},
		Compute: func(a ArgAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{argStage(name, a, in[0], out[0], c)}
		},
		Axes: func(a ArgAttrs, in []types.Tensor) *op.Axes {
			axes := alongAxis(func(a *ArgAttrs) *int { return &a.Axis })(a, in)
			if !a.KeepDims {
				axes.Drops = []int{a.Axis}
			}
			return axes
		},
		Sample: func(r *rand.Rand) (ArgAttrs, []types.Tensor) {
			d := draw{r}
			shape := d.full(1, 4)
			return ArgAttrs{d.IntN(len(shape)), d.coin(2), d.coin(2)}, []types.Tensor{types.Of(d.of(numbers), shape...)}
		},
	})
}

// better reports whether element i of x, which comes after element j, takes its place as the extreme.
func better(c te.Combiner, x *tensor.Tensor, i, j int, last bool) bool {
	if !x.DType.IsFloat() {
		if c == te.Max {
			return below(x.DType, x.Int(j), x.Int(i)) || last && x.Int(i) == x.Int(j)
		}
		return below(x.DType, x.Int(i), x.Int(j)) || last && x.Int(i) == x.Int(j)
	}
	v, w := x.Float(i), x.Float(j)
	switch {
	case w != w:
		return last && v != v
	case v != v || last && v == w:
		return true
	case c == te.Max:
		return v > w
	}
	return v < w
}

// argStage finds the extreme first and then the least (or greatest) position of an element equal to it, in int32, of which a vector compares
// twice as many as of int64. Every line has such an element, so positions that do not count take the worst one in range.
func argStage(name string, a ArgAttrs, x *te.Stage, out types.Tensor, c te.Combiner) *te.Stage {
	red := a.reduce()
	extreme := red.fold(name+"_value", x, types.Of(x.Type.DType, out.Shape...), c, func(x expr.Expr) expr.Expr { return x })
	n := x.Type.Shape[a.Axis]
	pick, worst := te.Min, expr.Index(n-1)
	if a.SelectLastIndex {
		pick, worst = te.Max, expr.Index(0)
	}
	narrow := types.I32
	if n > math.MaxInt32 {
		narrow = types.I64
	}
	position := te.Fold(name+"_position", types.Of(narrow, out.Shape...), pick, []int{n}, func(i, r []expr.Expr) expr.Expr {
		v := x.At(red.source(len(x.Type.Shape), i, r)...)
		return expr.If(isExtreme(v, extreme.At(i...)), expr.CastTo(narrow, r[0]), expr.CastTo(narrow, worst))
	})
	return te.Compute(name, out, func(i []expr.Expr) expr.Expr { return expr.CastTo(out.DType, position.At(i...)) })
}

// isExtreme reports whether v is the extreme m of its line. When m is NaN, every NaN is.
func isExtreme(v, m expr.Expr) expr.Expr {
	if !v.DType().IsFloat() {
		return expr.EQ(v, m)
	}
	return expr.Or(expr.EQ(v, m), expr.Call(expr.FnIsNaN, v))
}
