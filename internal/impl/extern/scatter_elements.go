package extern

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// scatterElements copies and updates slice by slice of an axis before the scattered one: updates stay in their slice.
// Where there is no such axis one worker does all.
func scatterElements(attrs any, in, _ []types.Tensor) (*loop.Func, error) {
	a := attrs.(ops.ScatterElementsAttrs)
	s, err := newScattering(a.Reduction, in)
	if err != nil {
		return nil, err
	}
	shape, count := in[0].Shape, in[1].Shape
	put := func(at []expr.Expr) loop.Stmt {
		j := offset(count, at)
		return s.target(j, shape[a.Axis], func(to expr.Expr) loop.Stmt {
			place := slices.Clone(at)
			place[a.Axis] = to
			return s.update(offset(shape, place), j)
		})
	}
	lead := 0 // axes of one element
	for lead < a.Axis && shape[lead] == 1 {
		lead++
	}
	origin := make([]expr.Expr, lead)
	for k := range origin {
		origin[k] = expr.Index(0)
	}
	if lead == a.Axis {
		return s.kernel("scatter_elements", build.Do(s.copy(expr.Index(0), in[0].Elements()), eachPlace(count, nil, put)))
	}
	n := types.Count(shape[lead+1:])
	return s.kernel("scatter_elements", impl.Divided("slice", shape[lead], 2*float64(in[0].Elements()+in[1].Elements()), func(i expr.Expr) loop.Stmt {
		updates := eachPlace(count, append(origin, i), put)
		return build.Do(s.copy(expr.Mul(i, expr.Index(n)), n), build.When(expr.LT(i, expr.Index(count[lead])), updates))
	}))
}
