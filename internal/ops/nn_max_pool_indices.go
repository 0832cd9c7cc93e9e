package ops

import (
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// MaxPoolIndicesAttrs are the attributes of nn.max_pool_indices, which takes any number of spatial axes.
type MaxPoolIndicesAttrs struct {
	PoolSize, Strides, Padding, Dilation []int
	CeilMode                             bool
	ColumnMajor                          bool // ONNX's storage_order 1: the first spatial axis counts fastest
}

func (a MaxPoolIndicesAttrs) pool() PoolAttrs {
	return PoolAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode}
}

// MaxPoolIndices is ONNX's MaxPool with both results. An index is a position in the whole of data, batch and channels
// included; of equal elements the first of the window counts, and a window of padding gives the last position.
var MaxPoolIndices = op.Define(op.Spec[MaxPoolIndicesAttrs]{
	Name: "nn.max_pool_indices", Doc: "nn.max_pool_indices is the greatest element of each window and its int64 position in data.",
	Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Channels,
	Infer: func(a MaxPoolIndicesAttrs, in []op.Arg) ([]types.Tensor, error) {
		out, err := a.pool().infer(numbers, in[0], len(a.PoolSize))
		if err != nil {
			return nil, err
		}
		return append(out, types.Of(types.I64, out[0].Shape...)), nil
	},
	Eval: func(a MaxPoolIndicesAttrs, in, out []*tensor.Tensor) error {
		x := in[0]
		ws := a.pool().mustWindows(x.Shape)
		eachIndex(out[0].Shape, func(at []int) {
			i := offsetOf(out[0].Shape, at)
			best := greatestInWindow(ws, x, at)
			if best < 0 {
				best = x.Len() - 1
				storeLeast(out[0], i)
			} else {
				setElement(out[0], i, x, best)
			}
			out[1].SetInt(i, int64(a.ordered(best, x.Shape)))
		})
		return nil
	},
	Compute: func(a MaxPoolIndicesAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x := in[0]
		value := a.pool().fold("max_pool", x, out[0], te.Max, func(x expr.Expr) expr.Expr { return x })
		ws := a.pool().mustWindows(x.Type.Shape)
		last := expr.Index(types.Count(x.Type.Shape) - 1)
		first := te.Fold("max_pool_first", out[1], te.Min, sizes(ws), func(i, r []expr.Expr) expr.Expr {
			at, inside := indices(ws, i[2:], r)
			at = append([]expr.Expr{i[0], i[1]}, at...)
			return expr.If(expr.AllOf(inside, isExtreme(x.At(at...), value.At(i...))), flat(x.Type.Shape, at), last)
		})
		if !a.ColumnMajor {
			return []*te.Stage{value, first}
		}
		return []*te.Stage{value, te.Compute("max_pool_index", out[1], func(i []expr.Expr) expr.Expr {
			return columnMajor(first.At(i...), x.Type.Shape)
		})}
	},
	Sample: func(r *rand.Rand) (MaxPoolIndicesAttrs, []types.Tensor) {
		d := draw{r}
		a, in := samplePool(d, d.between(1, 3), numbers)
		return MaxPoolIndicesAttrs{a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode, d.coin(2)}, in
	},
})

// ordered is the index for row-major position i.
func (a MaxPoolIndicesAttrs) ordered(i int, shape []int) int {
	if !a.ColumnMajor {
		return i
	}
	plane := types.Count(shape[2:])
	start, within, stride := i/plane*plane, i%plane, 1
	index := start
	rest := plane
	for _, n := range shape[2:] {
		rest /= n
		index += within / rest % n * stride
		stride *= n
	}
	return index
}

// flat is the row-major position of index at.
func flat(shape []int, at []expr.Expr) expr.Expr {
	n := at[0]
	for k, i := range at[1:] {
		n = expr.Add(scaled(shape[k+1], n, 0), i)
	}
	return n
}

// columnMajor is ordered for tensor expressions.
func columnMajor(i expr.Expr, shape []int) expr.Expr {
	plane := types.Count(shape[2:])
	if plane == 0 {
		return i
	}
	index := scaled(plane, quotient(i, plane), 0)
	rest, stride := plane, 1
	for _, n := range shape[2:] {
		rest /= n
		index = expr.Add(index, scaled(stride, remainder(quotient(i, rest), n), 0))
		stride *= n
	}
	return index
}
