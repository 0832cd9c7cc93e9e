package impl

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/types"
)

// NoRows is the axis of rows of what is equal for all of them.
const NoRows = -1

// RowAxes finds the axes of rows of an operator's results, from those of its operands, by the expressions that define them: row i, of so many, is
// computed from rows i of the operands that have rows, and otherwise alike for all i. Where it is not, wrong is the operand of which other
// rows are read, if that is why, and -1 if not.
func RowAxes(d *op.Def, attrs any, in, out []types.Tensor, rows []int, extent int) (axes []int, wrong int, ok bool) {
	if d.Compute == nil {
		return nil, -1, false
	}
	f := &rowFollower{extent: extent, axis: map[*te.Stage]int{}, wrong: -1}
	for i, t := range in {
		s := te.Input(fmt.Sprint(i), t)
		f.operands = append(f.operands, s)
		f.axis[s] = rows[i]
	}
	for _, s := range d.Compute(attrs, f.operands, out) {
		axis, ok := f.stage(s)
		if !ok {
			return nil, f.wrong, false
		}
		axes = append(axes, axis)
	}
	return axes, -1, true
}

// A rowFollower finds the axes of rows of an operator's stages.
type rowFollower struct {
	extent   int
	axis     map[*te.Stage]int
	operands []*te.Stage
	wrong    int // operand of which other rows are read
}

// stage is the axis along which s has rows.
func (f *rowFollower) stage(s *te.Stage) (axis int, ok bool) {
	if axis, known := f.axis[s]; known {
		return axis, true
	}
	if s.Body == nil {
		return 0, false
	}
	ranges := arith.Ranges{}
	for i, v := range s.Axes {
		ranges = ranges.With(v, arith.Span(s.Type.Shape[i]))
	}
	for _, r := range s.Reduce {
		ranges = ranges.With(r.Var, arith.Span(r.Extent))
	}
	body := ranges.Simplify(s.Body)
	axis, ok = NoRows, true
	expr.Loads(body, func(load *expr.Load) {
		from := load.From.(*te.Stage)
		rows, known := f.stage(from)
		switch {
		case !ok:
		case !known:
			ok = false
		case rows != NoRows:
			at := slices.IndexFunc(s.Axes, func(v *expr.Var) bool { return load.Index[rows] == expr.Expr(v) })
			if ok = at >= 0 && (axis == NoRows || at == axis) && s.Type.Shape[at] == f.extent; !ok {
				f.wrong = slices.Index(f.operands, from)
				return
			}
			axis = at
		}
	})
	if !ok || axis != NoRows && !f.rowsOnly(body, s.Axes[axis]) {
		return 0, false
	}
	f.axis[s] = axis
	return axis, true
}

// rowsOnly reports whether the number of the row serves for nothing but to find it.
func (f *rowFollower) rowsOnly(e expr.Expr, row *expr.Var) bool {
	if e == expr.Expr(row) {
		return false
	}
	load, isLoad := e.(*expr.Load)
	for i, c := range expr.Children(e) {
		if isLoad && f.axis[load.From.(*te.Stage)] == i {
			continue
		}
		if !f.rowsOnly(c, row) {
			return false
		}
	}
	return true
}
