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

// ConcatenateAttrs are the attributes of concatenate.
type ConcatenateAttrs struct{ Axis int }

// Concatenate joins tensors along an axis.
var Concatenate = op.Define(op.Spec[ConcatenateAttrs]{
	Name:   "concatenate",
	Doc:    "concatenate joins tensors of one element type, and of one shape but for the axis, along that axis.",
	Args:   []string{"data..."},
	MinIn:  1,
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a ConcatenateAttrs, in []op.Arg) ([]types.Tensor, error) {
		first := in[0].Tensor
		if err := wantAxis(a.Axis, first.Rank()); err != nil {
			return nil, err
		}
		shape := slices.Clone(first.Shape)
		for i, t := range in[1:] {
			if t.DType != first.DType {
				return nil, fmt.Errorf("operand %d is %s, operand 0 is %s", i+1, t.DType, first.DType)
			}
			if t.Rank() != len(shape) {
				return nil, fmt.Errorf("operand %d is %s, operand 0 is %s: the ranks differ", i+1, t, first)
			}
			for k, n := range t.Shape {
				if k != a.Axis && n != shape[k] {
					return nil, fmt.Errorf("operand %d is %s, operand 0 is %s: they differ on axis %d, not only on axis %d", i+1, t, first, k, a.Axis)
				}
			}
			shape[a.Axis] += t.Shape[a.Axis]
		}
		return []types.Tensor{types.Of(first.DType, shape...)}, nil
	},
	Eval: func(a ConcatenateAttrs, in, out []*tensor.Tensor) error {
		start := 0
		for _, t := range in {
			eachIndex(t.Shape, func(at []int) {
				i := offsetOf(t.Shape, at)
				to := slices.Clone(at)
				to[a.Axis] += start
				setElement(out[0], offsetOf(out[0].Shape, to), t, i)
			})
			start += t.Shape[a.Axis]
		}
		return nil
	},
	Compute: func(a ConcatenateAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("concatenate", out[0], func(i []expr.Expr) expr.Expr { return concatenated(in, a.Axis, i) })}
	},
	Identity: func(_ ConcatenateAttrs, in []types.Tensor) bool { return len(in) == 1 },
	Axes: func(a ConcatenateAttrs, in []types.Tensor) *op.Axes {
		axes := op.AllAlike(a, in)
		axes.Attrs = func(order []int) any { return ConcatenateAttrs{Axis: op.Place(order, a.Axis)} }
		return axes
	},
	Sample: func(r *rand.Rand) (ConcatenateAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.shape(1, 4), d.dtype()
		axis := d.IntN(len(shape))
		in := make([]types.Tensor, d.between(1, 4))
		for i := range in {
			s := slices.Clone(shape)
			s[axis] = d.between(0, 5)
			in[i] = types.Of(dt, s...)
		}
		return ConcatenateAttrs{axis}, in
	},
})

// concatenated is element i of the parts joined along axis. Each load stands under exactly the condition that proves it.
func concatenated(parts []*te.Stage, axis int, i []expr.Expr) expr.Expr {
	total := 0
	for _, p := range parts {
		total += p.Type.Shape[axis]
	}
	value := expr.Const(parts[0].Type.DType.Compute(), 0)
	end := total
	for k := len(parts) - 1; k >= 0; k-- {
		start := end - parts[k].Type.Shape[axis]
		if start == end {
			continue
		}
		var within expr.Expr
		if start > 0 {
			within = expr.GE(i[axis], expr.Index(start))
		}
		if end < total {
			within = expr.AllOf(within, expr.LT(i[axis], expr.Index(end)))
		}
		value = expr.If(within, parts[k].At(with(i, axis, scaled(1, i[axis], -start))...), value)
		end = start
	}
	return value
}
