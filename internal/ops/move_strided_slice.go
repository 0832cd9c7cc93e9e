package ops

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// StridedSliceAttrs are the attributes of strided_slice, one number per axis. The slice of an axis is Begin, Begin+Strides,
// and so on as long as it has not reached End. Importers resolve and clamp: no value counts from the end, a negative stride
// that takes element 0 has End -1.
type StridedSliceAttrs struct{ Begin, End, Strides []int }

// StridedSlice takes every n-th element of a range of each axis, forwards or backwards.
var StridedSlice = op.Define(op.Spec[StridedSliceAttrs]{
	Name:   "strided_slice",
	Doc:    "strided_slice takes, on every axis, the elements begin, begin+stride ... before end; strides may be negative.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a StridedSliceAttrs, in []op.Arg) ([]types.Tensor, error) {
		rank := in[0].Rank()
		if err := cmp.Or(perAxis("begin", a.Begin, rank), perAxis("end", a.End, rank), perAxis("strides", a.Strides, rank)); err != nil {
			return nil, err
		}
		shape := make([]int, rank)
		for k, dim := range in[0].Shape {
			n, err := sliceLength(a.Begin[k], a.End[k], a.Strides[k], dim)
			if err != nil {
				return nil, fmt.Errorf("axis %d of %s: %w", k, in[0], err)
			}
			shape[k] = n
		}
		return []types.Tensor{types.Of(in[0].DType, shape...)}, nil
	},
	Eval: func(a StridedSliceAttrs, in, out []*tensor.Tensor) error {
		rearrange(out[0], in[0], func(at []int) []int {
			for k := range at {
				at[k] = a.Begin[k] + at[k]*a.Strides[k]
			}
			return at
		})
		return nil
	},
	Compute: func(a StridedSliceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("strided_slice", out[0], func(i []expr.Expr) expr.Expr {
			from := make([]expr.Expr, len(i))
			for k, e := range i {
				from[k] = scaled(a.Strides[k], e, a.Begin[k])
			}
			return in[0].At(from...)
		})}
	},
	Identity: func(a StridedSliceAttrs, in []types.Tensor) bool {
		for k, dim := range in[0].Shape {
			n, err := sliceLength(a.Begin[k], a.End[k], a.Strides[k], dim)
			if err != nil || n != dim || n > 0 && a.Begin[k] != 0 || n > 1 && a.Strides[k] != 1 {
				return false
			}
		}
		return true
	},
	Axes: func(a StridedSliceAttrs, in []types.Tensor) *op.Axes {
		return orderData(in, func(order []int) any {
			return StridedSliceAttrs{Begin: op.Permuted(a.Begin, order), End: op.Permuted(a.End, order), Strides: op.Permuted(a.Strides, order)}
		})
	},
	Sample: func(r *rand.Rand) (StridedSliceAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.full(0, 4)
		a := StridedSliceAttrs{}
		for _, n := range shape {
			b, e, s := d.IntN(n), d.between(0, n), d.between(1, 3)
			if d.coin(3) {
				e, s = e-1, -s
			}
			a.Begin, a.End, a.Strides = append(a.Begin, b), append(a.End, e), append(a.Strides, s)
		}
		return a, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})

// sliceLength is the number of elements of a slice of an axis of dim elements.
func sliceLength(begin, end, stride, dim int) (int, error) {
	n := 0
	switch {
	case stride == 0:
		return 0, fmt.Errorf("stride 0")
	case stride > 0 && end > begin:
		n = (end-begin-1)/stride + 1
	case stride < 0 && end < begin:
		n = (begin-end-1)/-stride + 1
	}
	if n > 0 && (begin < 0 || begin >= dim || end < -1 || end > dim) {
		return 0, fmt.Errorf("slice %d:%d:%d is not clamped to the axis", begin, end, stride)
	}
	return n, nil
}
