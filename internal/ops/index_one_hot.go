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

// OneHotAttrs are the attributes of one_hot. Axis is the place of the new axis in the result.
type OneHotAttrs struct{ Depth, Axis int }

// OneHot spreads each index over a new axis: on_value at the index, off_value elsewhere.
var OneHot = op.Define(op.Spec[OneHotAttrs]{
	Name:   "one_hot",
	Doc:    "one_hot adds an axis of depth elements: on_value at the index, which counts from the end when negative, off_value elsewhere; an index outside sets nothing.",
	Args:   []string{"indices", "on_value", "off_value"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a OneHotAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := indexOperand("indices", in[0].Tensor); err != nil {
			return nil, err
		}
		if err := wantAxis(a.Axis, in[0].Rank()+1); err != nil {
			return nil, err
		}
		if on, off := in[1], in[2]; on.DType != off.DType || on.Rank() != 0 || off.Rank() != 0 {
			return nil, fmt.Errorf("on_value %s and off_value %s are not scalars of one type", on, off)
		}
		if a.Depth < 0 {
			return nil, fmt.Errorf("depth %d", a.Depth)
		}
		return []types.Tensor{types.Of(in[1].DType, slices.Insert(slices.Clone(in[0].Shape), a.Axis, a.Depth)...)}, nil
	},
	Eval: func(a OneHotAttrs, in, out []*tensor.Tensor) error {
		eachIndex(out[0].Shape, func(at []int) {
			i := offsetOf(out[0].Shape, at)
			index := in[0].Int(offsetOf(in[0].Shape, slices.Delete(slices.Clone(at), a.Axis, a.Axis+1)))
			if index < 0 {
				index += int64(a.Depth)
			}
			if index == int64(at[a.Axis]) {
				setElement(out[0], i, in[1], 0)
			} else {
				setElement(out[0], i, in[2], 0)
			}
		})
		return nil
	},
	Compute: func(a OneHotAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("one_hot", out[0], func(i []expr.Expr) expr.Expr {
			index := expr.CastTo(types.I64, in[0].At(slices.Delete(slices.Clone(i), a.Axis, a.Axis+1)...))
			hot := expr.Or(expr.EQ(index, i[a.Axis]), expr.EQ(expr.Add(index, expr.Index(a.Depth)), i[a.Axis]))
			return expr.If(hot, in[1].At(), in[2].At())
		})}
	},
	Sample: func(r *rand.Rand) (OneHotAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.shape(0, 3), d.dtype()
		return OneHotAttrs{d.between(0, 9), d.between(0, len(shape))}, []types.Tensor{types.Of(d.index(), shape...), types.Of(dt), types.Of(dt)}
	},
})
