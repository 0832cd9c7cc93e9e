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

// TensorScatterAttrs are the attributes of tensor_scatter. Circular lets a write continue at the start of the axis.
type TensorScatterAttrs struct {
	Axis     int
	Circular bool
}

// TensorScatter writes a run of each batch entry's sequence axis: the update of a key-value cache. ONNX's TensorScatter.
var TensorScatter = op.Define(op.Spec[TensorScatterAttrs]{
	Name:   "tensor_scatter",
	Doc:    "tensor_scatter is cache with update written, for batch entry b, from place write_indices[b] of the axis on; what falls outside is dropped, or continues at the start when circular.",
	Args:   []string{"cache", "update", "write_indices"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a TensorScatterAttrs, in []op.Arg) ([]types.Tensor, error) {
		cache, update, start := in[0], in[1], in[2]
		if a.Axis < 1 || a.Axis >= cache.Rank() {
			return nil, fmt.Errorf("axis %d of %s: it must be behind the batch axis 0", a.Axis, cache)
		}
		if update.DType != cache.DType || update.Rank() != cache.Rank() {
			return nil, fmt.Errorf("update is %s, cache %s", update, cache)
		}
		for k, n := range update.Shape {
			if n > cache.Shape[k] || n < cache.Shape[k] && k != a.Axis {
				return nil, fmt.Errorf("update %s does not fit cache %s along axis %d", update, cache, a.Axis)
			}
		}
		if !start.DType.IsInt() || start.Rank() != 1 || start.Shape[0] != cache.Shape[0] {
			return nil, fmt.Errorf("write_indices are %s, not one integer for each batch entry, of which there are %d", start, cache.Shape[0])
		}
		return []types.Tensor{cache.Tensor}, nil
	},
	Eval: func(a TensorScatterAttrs, in, out []*tensor.Tensor) error {
		cache, update, start := in[0], in[1], in[2]
		copy(out[0].Bytes(), cache.Bytes())
		eachIndex(update.Shape, func(at []int) {
			to := slices.Clone(at)
			n := cache.Shape[a.Axis]
			p := int(start.Int(at[0]))
			if a.Circular {
				p = (p%n + n) % n // before a sum that might wrap
			}
			if p += at[a.Axis]; a.Circular {
				p %= n
			}
			if to[a.Axis] = p; p >= 0 && p < n {
				setElement(out[0], offsetOf(cache.Shape, to), update, offsetOf(update.Shape, at))
			}
		})
		return nil
	},
	Compute: func(a TensorScatterAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		cache, update, start := in[0], in[1], in[2]
		return []*te.Stage{te.Compute("tensor_scatter", out[0], func(i []expr.Expr) expr.Expr {
			n := update.Type.Shape[a.Axis]
			if n == 0 {
				return cache.At(i...)
			}
			first := expr.CastTo(types.I64, start.At(i[0]))
			if a.Circular {
				first = remainder(first, out[0].Shape[a.Axis])
			}
			s := expr.Sub(i[a.Axis], first)
			if a.Circular {
				s = remainder(s, out[0].Shape[a.Axis])
			}
			return let("s", s, func(s expr.Expr) expr.Expr {
				written := expr.AllOf(expr.GE(s, expr.Index(0)), expr.LT(s, expr.Index(n)))
				return expr.If(written, update.At(with(i, a.Axis, clampExpr(s, n))...), cache.At(i...))
			})
		})}
	},
	Sample: func(r *rand.Rand) (TensorScatterAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.full(2, 4), d.dtype()
		a := TensorScatterAttrs{d.between(1, len(shape)-1), d.coin(2)}
		update := slices.Clone(shape)
		update[a.Axis] = d.between(0, shape[a.Axis])
		return a, []types.Tensor{types.Of(dt, shape...), types.Of(dt, update...), types.Of(types.I64, shape[0])}
	},
})
