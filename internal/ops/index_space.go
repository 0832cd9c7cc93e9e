package ops

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// setElement copies element j of in, bit for bit, to element i of out, which has the same element type.
func setElement(out *tensor.Tensor, i int, in *tensor.Tensor, j int) {
	if out.DType.IsNibble() {
		out.SetInt(i, in.Int(j))
		return
	}
	n := out.DType.Size()
	copy(out.Data[i*n:(i+1)*n], in.Data[j*n:])
}

// rearrange fills out with elements of in: from maps a coordinate of out to one of in, which may be its argument changed.
func rearrange(out, in *tensor.Tensor, from func(at []int) []int) {
	scratch := make([]int, len(out.Shape))
	eachIndex(out.Shape, func(at []int) {
		copy(scratch, at)
		setElement(out, offsetOf(out.Shape, at), in, offsetOf(in.Shape, from(scratch)))
	})
}

// wrapIndex is what an index operand means on an axis of n > 0 elements: negative values count from the end, and what is
// still outside is clamped, so that no input reaches memory outside the tensor.
func wrapIndex(i, n int) int {
	if i < 0 {
		i += n
	}
	return max(0, min(n-1, i))
}

// wrapIndexExpr is wrapIndex as an I64 expression of an element of an index operand.
func wrapIndexExpr(e expr.Expr, n int) expr.Expr {
	e = expr.CastTo(types.I64, e)
	e = expr.If(expr.LT(e, expr.Index(0)), expr.Add(e, expr.Index(n)), e)
	return clampExpr(e, n)
}

// clampExpr brings an I64 expression into [0, n).
func clampExpr(e expr.Expr, n int) expr.Expr {
	return expr.Max(expr.Min(e, expr.Index(n-1)), expr.Index(0))
}

// quotient is e / n rounded down, for an I64 expression.
func quotient(e expr.Expr, n int) expr.Expr {
	if n == 1 {
		return e
	}
	return expr.Bin(expr.OpFloorDiv, e, expr.Index(n))
}

// remainder is e modulo n, not negative, for an I64 expression.
func remainder(e expr.Expr, n int) expr.Expr {
	if n == 1 {
		return expr.Index(0)
	}
	return expr.Bin(expr.OpFloorMod, e, expr.Index(n))
}

// scaled is a*e + b for an I64 expression.
func scaled(a int, e expr.Expr, b int) expr.Expr {
	if a != 1 {
		e = expr.Mul(e, expr.Index(a))
	}
	if b != 0 {
		e = expr.Add(e, expr.Index(b))
	}
	return e
}

// with returns a copy of index with one place changed.
func with(index []expr.Expr, k int, e expr.Expr) []expr.Expr {
	index = slices.Clone(index)
	index[k] = e
	return index
}

// perAxis checks that an attribute holds one number per axis.
func perAxis(name string, values []int, rank int) error {
	if len(values) != rank {
		return fmt.Errorf("%s has %s for a tensor of rank %d", name, spelling.Count(len(values), "number"), rank)
	}
	return nil
}

// strided fills out, in row-major order, with elements of in that lie steps[k] elements apart along axis k: constants of a hundred megabytes
// are transposed when a model is compiled.
func strided(out, in *tensor.Tensor, steps []int) {
	size, last := out.DType.Size(), len(out.Shape)-1
	if out.Len() == 0 {
		return
	}
	if last < 0 {
		copy(out.Data, in.Data)
		return
	}
	if out.DType.IsNibble() {
		i := 0
		eachIndex(out.Shape, func(at []int) {
			from := 0
			for k, n := range at {
				from += n * steps[k]
			}
			setElement(out, i, in, from)
			i++
		})
		return
	}
	row, step := out.Shape[last]*size, steps[last]*size
	part := row
	if step != size { // so that what one line of the cache holds is read while it is there
		part = 16 * size
	}
	for begin := 0; begin < row; begin += part {
		to, n := out.Data[begin:], min(part, row-begin)
		eachIndex(out.Shape[:last], func(at []int) {
			from := begin / size * step
			for k, i := range at {
				from += i * steps[k] * size
			}
			if step == size {
				copy(to[:n], in.Data[from:])
			} else {
				gather(to[:n], in.Data, from, step, size)
			}
			to = to[min(row, len(to)):]
		})
	}
}

// gather copies elements of size bytes that lie step bytes apart.
func gather(to, in []byte, from, step, size int) {
	switch size {
	case 1:
		for i := range to {
			to[i] = in[from]
			from += step
		}
	case 4:
		for ; len(to) > 0; to = to[4:] {
			*(*[4]byte)(to) = [4]byte(in[from : from+4])
			from += step
		}
	default:
		for ; len(to) > 0; to = to[size:] {
			copy(to[:size], in[from:])
			from += step
		}
	}
}
