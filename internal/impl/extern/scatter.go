package extern

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// reductions are the operators by which updates join the element that is there; none replaces it.
var reductions = map[string]expr.Op{"add": expr.OpAdd, "mul": expr.OpMul, "max": expr.OpMax, "min": expr.OpMin}

// A scattering copies data x to y and puts updates into it, in their order. All buffers are flat.
type scattering struct {
	reduction              string
	x, indices, updates, y *loop.Buffer
}

// newScattering makes the buffers of a scatter operator with operands data, indices and updates.
func newScattering(reduction string, in []types.Tensor) (scattering, error) {
	t := in[0].DType
	if reduction == "none" {
		t = moved(t)
	} else if _, ok := reductions[reduction]; !ok {
		return scattering{}, fmt.Errorf("unknown reduction %q", reduction)
	}
	flat := func(name string, t types.DType, of types.Tensor) *loop.Buffer {
		return build.Param(name, t, of.Elements())
	}
	return scattering{reduction, flat("data", t, in[0]), flat("indices", in[1].DType, in[1]), flat("updates", t, in[2]), flat("y", t, in[0])}, nil
}

func (s scattering) function(name string, body loop.Stmt) *loop.Func {
	return &loop.Func{Name: name, Params: []*loop.Buffer{s.x, s.indices, s.updates, s.y}, Body: body}
}

// copy copies n elements of x from a place on.
func (s scattering) copy(from expr.Expr, n int) loop.Stmt {
	return build.Run("c", s.y.DType, n, func(i expr.Expr) loop.Stmt {
		at := expr.Add(from, i)
		return build.Set(s.y, build.Get(s.x, at), at)
	})
}

// update puts element j of updates at a place of y.
func (s scattering) update(at, j expr.Expr) loop.Stmt {
	v := build.Get(s.updates, j)
	if op, ok := reductions[s.reduction]; ok {
		v = expr.Bin(op, build.Get(s.y, at), v)
	}
	return build.Set(s.y, v, at)
}

// target binds the place on an axis of n elements that element j of indices means, counted from the end if it is negative,
// and runs body if it exists.
func (s scattering) target(j expr.Expr, n int, body func(at expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind("index", expr.CastTo(types.I64, build.Get(s.indices, j)), func(i expr.Expr) loop.Stmt {
		return build.Bind("at", expr.If(expr.LT(i, expr.Index(0)), expr.Add(i, expr.Index(n)), i), func(at expr.Expr) loop.Stmt {
			return build.When(expr.AllOf(expr.GE(at, expr.Index(0)), expr.LT(at, expr.Index(n))), body(at))
		})
	})
}

// offset is the place of a coordinate in a flat tensor.
func offset(shape []int, at []expr.Expr) expr.Expr {
	var sum expr.Expr = expr.Index(0)
	for i, stride := range types.RowMajor(shape) {
		sum = expr.Add(sum, expr.Mul(at[i], expr.Index(stride)))
	}
	return sum
}

// eachPlace loops over all coordinates of a shape that start with the given ones.
func eachPlace(shape []int, at []expr.Expr, body func(at []expr.Expr) loop.Stmt) loop.Stmt {
	if len(at) == len(shape) {
		return body(at)
	}
	return build.Each(fmt.Sprintf("i%d", len(at)), expr.Index(shape[len(at)]), func(i expr.Expr) loop.Stmt {
		return eachPlace(shape, append(slices.Clone(at), i), body)
	})
}
