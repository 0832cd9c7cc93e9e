package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// ReshapeAttrs are the attributes of reshape. NewShape holds final sizes: importers resolve -1 and 0.
type ReshapeAttrs struct{ NewShape []int }

// Reshape gives the elements another shape; expand_dims, squeeze and flatten are reshapes.
var Reshape = op.Define(op.Spec[ReshapeAttrs]{
	Name:   "reshape",
	Doc:    "reshape gives the elements, in row-major order, the shape newshape, which has as many elements.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a ReshapeAttrs, in []op.Arg) ([]types.Tensor, error) {
		t := types.Of(in[0].DType, slices.Clone(a.NewShape)...)
		if err := t.Check(); err != nil {
			return nil, fmt.Errorf("newshape: %w", err)
		}
		if t.Elements() != in[0].Elements() {
			return nil, fmt.Errorf("%s has %s, the new shape %v has %d", in[0], spelling.Count(in[0].Elements(), "element"), a.NewShape, t.Elements())
		}
		return []types.Tensor{t}, nil
	},
	Eval: func(_ ReshapeAttrs, in, out []*tensor.Tensor) error {
		copy(out[0].Bytes(), in[0].Bytes())
		return nil
	},
	Compute: func(_ ReshapeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x := in[0]
		return []*te.Stage{te.Compute("reshape", out[0], func(i []expr.Expr) expr.Expr {
			return x.At(reshapeIndex(i, out[0].Shape, x.Type.Shape)...)
		})}
	},
	Identity: func(a ReshapeAttrs, in []types.Tensor) bool { return slices.Equal(a.NewShape, in[0].Shape) },
	Sample: func(r *rand.Rand) (ReshapeAttrs, []types.Tensor) {
		d := draw{r}
		in := d.shape(0, 4)
		var to []int
		for n := types.Count(in); n > 1; {
			f := d.between(1, n)
			for n%f != 0 {
				f--
			}
			to = append(to, f)
			n /= f
		}
		if types.Count(in) == 0 {
			to = []int{d.between(1, 4), 0}
		}
		return ReshapeAttrs{append([]int{}, to...)}, []types.Tensor{types.Of(d.dtype(), in...)}
	},
})

// reshapeIndex turns a coordinate i of shape to into the coordinate of shape from with the same row-major offset. Runs
// of axes that hold equally many elements on both sides are treated apart, so that kept axes keep their index.
func reshapeIndex(i []expr.Expr, to, from []int) []expr.Expr {
	index := make([]expr.Expr, len(from))
	for k := range index {
		index[k] = expr.Index(0)
	}
	if types.Count(from) == 0 {
		return index
	}
	for t, f := 0, 0; f < len(from) || t < len(to); {
		t0, f0 := t, f
		nt, nf := 1, 1
		if t < len(to) {
			nt, t = to[t], t+1
		}
		if f < len(from) {
			nf, f = from[f], f+1
		}
		for nt != nf {
			switch {
			case nt < nf:
				nt, t = nt*to[t], t+1
			default:
				nf, f = nf*from[f], f+1
			}
		}
		var flat expr.Expr = expr.Index(0)
		for k := t0; k < t; k++ {
			switch {
			case to[k] == 1:
			case expr.IsInt(flat, 0):
				flat = i[k]
			default:
				flat = expr.Add(expr.Mul(flat, expr.Index(to[k])), i[k])
			}
		}
		for f0 < f-1 && from[f0] == 1 {
			f0++
		}
		for k := f - 1; k > f0; k-- {
			if from[k] != 1 {
				index[k] = remainder(flat, from[k])
				flat = quotient(flat, from[k])
			}
		}
		if f0 < f {
			index[f0] = flat
		}
	}
	return index
}
