package matrix_test

import (
	"testing"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestOverlappedEpilogue: a rest with an exponential waits for the next block where sums have steps to hide it in; what a core looks across does not.
func TestOverlappedEpilogue(t *testing.T) {
	exponential := func(x expr.Expr) expr.Expr {
		return expr.CastTo(types.I32, expr.Call(expr.FnExp, expr.CastTo(types.F32, x)))
	}
	short := func(x expr.Expr) expr.Expr { return expr.Max(x, expr.Const(types.I32, 0)) }
	for _, c := range []struct {
		name  string
		depth int
		rest  func(x expr.Expr) expr.Expr
		want  string
	}{{"exponential", 512, exponential, "on"}, {"short", 512, short, "off"}, {"one step", 64, exponential, "off"}} {
		l := layer{ops.QnnMatmul, nil, []types.Tensor{
			types.Of(types.U8, 128, c.depth), types.Of(types.U8),
			types.Of(types.I8, c.depth, 64).With(impl.DotPanels(32, impl.DotWidth)), types.Of(types.I8),
		}, choice.Point{"algorithm": impl.Matrix, "panel": "2"}}
		if got := l.planWith(t, types.Of(types.I32, 128, 64), nil, c.rest).Taken["overlap_epilogue"]; got != c.want {
			t.Errorf("%s: overlap_epilogue is %s, want %s", c.name, got, c.want)
		}
	}
}
