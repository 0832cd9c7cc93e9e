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
	copy(out.Bytes()[i*n:(i+1)*n], in.Bytes()[j*n:])
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
		copy(out.Bytes(), in.Bytes())
		return
	}
	if out.DType.IsNibble() {
		clear(out.Bytes())
		i := 0
		eachIndex(out.Shape, func(at []int) {
			setElement(out, i, in, place(at, steps))
			i++
		})
		return
	}
	row, step := out.Shape[last]*size, steps[last]*size
	if step == size {
		to := out.Bytes()
		eachIndex(out.Shape[:last], func(at []int) {
			copy(to[:row], in.Bytes()[place(at, steps)*size:])
			to = to[row:]
		})
		return
	}
	// Another axis goes along the lines of the cache that elements are read from.
	shape, across := slices.Clone(out.Shape[:last]), 1
	outSteps := types.RowMajor(out.Shape)
	along := slices.Index(steps[:last], 1)
	if along >= 0 {
		across, shape[along] = shape[along], 1
	} else {
		along = last
	}
	eachIndex(shape, func(at []int) {
		m := tensor.Turned{Columns: out.Shape[last], Rows: across, Step: outSteps[along], Across: steps[last]}
		to, from := out.Bytes()[place(at, outSteps)*size:], in.Bytes()[place(at, steps)*size:]
		switch size {
		case 1:
			tensor.Turn(m, tensor.Elements[uint8](to), tensor.Elements[uint8](from))
		case 2:
			tensor.Turn(m, tensor.Elements[uint16](to), tensor.Elements[uint16](from))
		case 4:
			tensor.Turn(m, tensor.Elements[uint32](to), tensor.Elements[uint32](from))
		case 8:
			tensor.Turn(m, tensor.Elements[uint64](to), tensor.Elements[uint64](from))
		}
	})
}

// place is where the element at some first indices lies whose step along each axis is given.
func place(at, steps []int) int {
	n := 0
	for k, i := range at {
		n += i * steps[k]
	}
	return n
}
