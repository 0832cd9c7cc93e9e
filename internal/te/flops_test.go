package te_test

import (
	"testing"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

func TestFlopsAndFactors(t *testing.T) {
	x, w := te.Input("x", types.Of(types.U8, 4, 8)), te.Input("w", types.Of(types.I8, 8, 3))
	wide := func(e expr.Expr) expr.Expr { return expr.CastTo(types.I32, e) }
	product := te.Fold("y", types.Of(types.I32, 4, 3), te.Sum, []int{8}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(expr.Sub(wide(x.At(i[0], r[0])), expr.Const(types.I32, 3)), wide(w.At(r[0], i[1])))
	})
	if f := product.Flops(); f != 4*3*8*3 {
		t.Errorf("%.0f operations: a difference, a product and a sum in each of 96 places", f)
	}
	if d, ok := product.Multiplies(); !ok || d.Size() != 1 {
		t.Errorf("multiplies %v, %v", d, ok)
	}
	sum := te.Fold("s", types.Of(types.I32, 4), te.Sum, []int{8}, func(i, r []expr.Expr) expr.Expr { return wide(x.At(i[0], r[0])) })
	if _, ok := sum.Multiplies(); ok {
		t.Error("a sum without products multiplies")
	}
}
