package tetest

import (
	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// places reads rows at computed places: those that another operand names, between others, beyond an edge where the row turns around,
// from the beginning again, or every second one of a plane, as another plane reads the others.
func (d *draw) places() *te.Stage {
	t := pick(d, types.F32, types.F32, types.I32, types.U8)
	planes, rows, n := d.between(1, 3), d.between(1, 9), d.between(1, 30)
	x := d.input(t, planes, rows, n)
	switch d.IntN(5) {
	case 0:
		from := d.input(types.I64, d.between(1, 30))
		return te.Compute("places", types.Of(t, planes, rows, from.Type.Shape[0]), func(i []expr.Expr) expr.Expr {
			return x.At(i[0], i[1], expr.Max(expr.Min(from.At(i[2]), expr.Index(n-1)), expr.Index(0)))
		})
	case 1:
		return te.Compute("places", types.Of(t, planes, rows, 5*n/3), func(i []expr.Expr) expr.Expr {
			p := expr.Bin(expr.OpFloorDiv, at(i[2], 3, 1), expr.Index(5))
			return expr.Add(x.At(i[0], i[1], p), x.At(i[0], i[1], expr.Min(at(p, 1, 1), expr.Index(n-1))))
		})
	case 2:
		edge := d.between(0, n-1)
		return te.Compute("places", types.Of(t, planes, rows, n+2*edge), func(i []expr.Expr) expr.Expr {
			p := expr.Max(at(i[2], 1, -edge), at(i[2], -1, edge))
			return x.At(i[0], i[1], expr.Min(p, at(p, -1, 2*(n-1))))
		})
	case 3:
		return te.Compute("places", types.Of(t, planes, rows, n*d.between(1, 3)), func(i []expr.Expr) expr.Expr {
			return x.At(i[0], i[1], expr.Bin(expr.OpFloorMod, i[2], expr.Index(n)))
		})
	}
	image := d.input(t, planes, 2*rows, 2*n)
	return te.Compute("places", types.Of(t, 4*planes, rows, n), func(i []expr.Expr) expr.Expr {
		phase := expr.Bin(expr.OpFloorDiv, i[0], expr.Index(planes))
		row, column := expr.Bin(expr.OpFloorDiv, phase, expr.Index(2)), expr.Bin(expr.OpFloorMod, phase, expr.Index(2))
		return image.At(expr.Bin(expr.OpFloorMod, i[0], expr.Index(planes)), expr.Add(at(i[1], 2, 0), row), expr.Add(at(i[2], 2, 0), column))
	})
}
