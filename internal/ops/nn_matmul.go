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

// MatmulAttrs are the attributes of nn.matmul: which operands have their last two axes swapped.
type MatmulAttrs struct{ TransposeA, TransposeB bool }

// ColumnsOf is the axis of a matrix over which the columns of its product run, the matrix being the right operand of a dense layer or of
// a matmul with the given attributes.
func ColumnsOf(attrs any) int {
	if a, ok := attrs.(MatmulAttrs); ok && !a.TransposeB {
		return 1
	}
	return 0
}

// Matmul multiplies a [..., M, K] by b [..., K, N]; the leading axes broadcast. Importers give vectors a second axis.
var Matmul = op.Define(op.Spec[MatmulAttrs]{
	Name: "nn.matmul", Doc: "nn.matmul is the product of the matrices in the last two axes; leading axes broadcast. b may have a narrower type than a.",
	Args: []string{"a", "b"}, Fusion: op.OutFusable, Layout: op.Plain,
	Infer: func(a MatmulAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := withNarrowWeight([]string{"a", "b"}, in); err != nil {
			return nil, err
		}
		x, y := in[0], in[1]
		if x.Rank() < 2 || y.Rank() < 2 {
			return nil, fmt.Errorf("a %s and b %s; both must have two axes or more", x.Tensor, y.Tensor)
		}
		m, k := matrix(x.Shape, a.TransposeA)
		l, n := matrix(y.Shape, a.TransposeB)
		if k != l {
			return nil, fmt.Errorf("a %s and b %s: inner extents %d and %d differ", x.Tensor, y.Tensor, k, l)
		}
		batch, err := broadcastShape(x.Shape[:x.Rank()-2], y.Shape[:y.Rank()-2])
		if err != nil {
			return nil, fmt.Errorf("batch %w", err)
		}
		return []types.Tensor{types.Of(x.DType, append(batch, m, n)...)}, nil
	},
	Eval: func(a MatmulAttrs, in, out []*tensor.Tensor) error {
		x, y, z := in[0], in[1], out[0]
		batch := len(z.Shape) - 2
		_, depth := matrix(x.Shape, a.TransposeA)
		size, done := z.Shape[batch]*z.Shape[batch+1], 0
		eachIndex(z.Shape[:batch], func(at []int) {
			i := matrixRows(x, a.TransposeA, broadcastOffset(x.Shape[:len(x.Shape)-2], at))
			j := matrixRows(y, !a.TransposeB, broadcastOffset(y.Shape[:len(y.Shape)-2], at))
			if z.DType.IsFloat() {
				products(gathered(i, x.Float), gathered(j, y.Float), depth, z, done)
			} else {
				products(gathered(i, x.Int), gathered(j, y.Int), depth, z, done)
			}
			done += size
		})
		return nil
	},
	Compute: func(a MatmulAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x, y := in[0], in[1]
		batch := len(out[0].Shape) - 2
		_, depth := matrix(x.Type.Shape, a.TransposeA)
		element := func(s *te.Stage, transposed bool, i []expr.Expr, row, col expr.Expr) expr.Expr {
			if transposed {
				row, col = col, row
			}
			shape := s.Type.Shape[:len(s.Type.Shape)-2]
			return s.At(append(broadcastIndex(shape, out[0].Shape[:batch], i[:batch]), row, col)...)
		}
		z := te.Fold("matmul", out[0], te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(element(x, a.TransposeA, i, i[batch], r[0]), expr.CastTo(out[0].DType.Compute(), element(y, a.TransposeB, i, r[0], i[batch+1])))
		})
		return []*te.Stage{z}
	},
	Sample: func(r *rand.Rand) (MatmulAttrs, []types.Tensor) {
		d := draw{r}
		a, t, batch := MatmulAttrs{d.coin(2), d.coin(2)}, d.of(numbers), d.shape(0, 2)
		m, k, n := d.between(1, 6), d.between(1, 6), d.between(1, 6)
		of := func(t types.DType, transposed bool, batch []int, rows, cols int) types.Tensor {
			if transposed {
				rows, cols = cols, rows
			}
			return types.Of(t, append(slices.Clone(batch), rows, cols)...)
		}
		if d.coin(2) {
			return a, []types.Tensor{of(t, a.TransposeA, d.stretched(batch), m, k), of(d.narrower(t), a.TransposeB, batch, k, n)}
		}
		return a, []types.Tensor{of(t, a.TransposeA, batch, m, k), of(d.narrower(t), a.TransposeB, d.stretched(batch), k, n)}
	},
})

// matrix is the rows and columns of the last two axes.
func matrix(shape []int, transposed bool) (rows, cols int) {
	rows, cols = shape[len(shape)-2], shape[len(shape)-1]
	if transposed {
		return cols, rows
	}
	return rows, cols
}

// matrixRows gives the positions of the elements of the i-th matrix of t, or of its transpose, row by row.
func matrixRows(t *tensor.Tensor, transposed bool, i int) []int {
	rows, cols := matrix(t.Shape, transposed)
	at := make([]int, 0, rows*cols)
	for r := range rows {
		for c := range cols {
			at = append(at, matrixOffset(t.Shape, transposed, i, r, c))
		}
	}
	return at
}

func gathered[T summand](at []int, element func(int) T) []T {
	v := make([]T, len(at))
	for i, k := range at {
		v[i] = element(k)
	}
	return v
}

// matrixOffset is the position of an element of the i-th matrix of a tensor.
func matrixOffset(shape []int, transposed bool, i, row, col int) int {
	if transposed {
		row, col = col, row
	}
	return (i*shape[len(shape)-2]+row)*shape[len(shape)-1] + col
}
