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
func scatterElements(c impl.Call) (*impl.Plan, error) {
	a := c.Attrs.(ops.ScatterElementsAttrs)
	s, err := newScattering(a.Reduction, c.In)
	if err != nil {
		return nil, err
	}
	shape, count := c.In[0].Shape, c.In[1].Shape
	work := 2 * float64(c.In[0].Elements()+c.In[1].Elements())
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
		return c.Plan(s.function("scatter_elements", build.Do(s.copy(expr.Index(0), c.In[0].Elements()), eachPlace(count, nil, put))), work), nil
	}
	n := types.Count(shape[lead+1:])
	return c.Plan(s.function("scatter_elements", impl.Divided("slice", shape[lead], func(i expr.Expr) loop.Stmt {
		updates := eachPlace(count, append(origin, i), put)
		return build.Do(s.copy(expr.Mul(i, expr.Index(n)), n), build.When(expr.LT(i, expr.Index(count[lead])), updates))
	})), work), nil
}
