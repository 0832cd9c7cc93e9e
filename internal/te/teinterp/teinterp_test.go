package teinterp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func run(t *testing.T, out *te.Stage, in map[*te.Stage]*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	v, err := Run([]*te.Stage{out}, in)
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

func TestMatmul(t *testing.T) {
	a, b := te.Input("a", types.Of(types.F32, 2, 3)), te.Input("b", types.Of(types.F32, 3, 2))
	c := te.Fold("c", types.Of(types.F32, 2, 2), te.Sum, []int{3}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	got := run(t, c, map[*te.Stage]*tensor.Tensor{
		a: tensor.Of([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6}),
		b: tensor.Of([]int{3, 2}, []float32{1, 0, 0, 1, 1, 1}),
	})
	if want := []float32{4, 5, 10, 11}; !slices.Equal(tensor.As[float32](got), want) {
		t.Errorf("got %v, want %v", tensor.As[float32](got), want)
	}
}

// TestRounding checks that every operation is rounded to its own type, not only the stored result.
func TestRounding(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 1))
	big := expr.Const(types.F32, 1<<24)
	y := te.Compute("y", types.Of(types.F32, 1), func(i []expr.Expr) expr.Expr {
		return expr.Sub(expr.Add(x.At(i...), big), big)
	})
	got := run(t, y, map[*te.Stage]*tensor.Tensor{x: tensor.Of([]int{1}, []float32{1})})
	if v := got.Float(0); v != 0 {
		t.Errorf("(1 + 2^24) - 2^24 = %v, want 0: 2^24+1 is no float32", v)
	}
}

func TestEmptyReduction(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 0))
	y := te.Fold("y", types.Of(types.F32), te.Max, []int{0}, func(_, r []expr.Expr) expr.Expr { return x.At(r[0]) })
	if v := run(t, y, map[*te.Stage]*tensor.Tensor{x: tensor.New(types.F32, 0)}).Float(0); !math.IsInf(v, -1) {
		t.Errorf("maximum of nothing is %v", v)
	}
}

func TestGuards(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 3))
	value := map[*te.Stage]*tensor.Tensor{x: tensor.Of([]int{3}, []float32{1, 2, 3})}
	shifted := func(guard bool) *te.Stage {
		return te.Compute("y", types.Of(types.F32, 3), func(i []expr.Expr) expr.Expr {
			at := expr.Sub(i[0], expr.Index(1))
			var inside expr.Expr
			if guard {
				inside = expr.GE(at, expr.Index(0))
			}
			return expr.If(inside, x.At(at), expr.Const(types.F32, 9))
		})
	}
	if got := run(t, shifted(true), value); !slices.Equal(tensor.As[float32](got), []float32{9, 1, 2}) {
		t.Errorf("got %v", tensor.As[float32](got))
	}
	_, err := Run([]*te.Stage{shifted(false)}, value)
	if err == nil || !strings.Contains(err.Error(), "x[(i0 - 1)]: index 0 is -1, outside [0,3)") {
		t.Errorf("unguarded load: %v", err)
	}
}

func TestBadStages(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 2))
	value := map[*te.Stage]*tensor.Tensor{x: tensor.New(types.F32, 2)}
	for want, body := range map[string]expr.Expr{
		"body of type int64":       expr.Index(1),
		"variable k has no value":  &expr.Cast{To: types.F32, A: expr.NewVar("k")},
		"condition of type int64":  &expr.Select{Cond: expr.Index(1), A: expr.Const(types.F32, 0), B: expr.Const(types.F32, 0)},
		"body of type float16":     &expr.Cast{To: types.F16, A: expr.Const(types.F32, 0)},
		"2 indices into x":         &expr.Load{From: x, Index: []expr.Expr{expr.Index(0), expr.Index(0)}},
		"has type int32":           &expr.Load{From: x, Index: []expr.Expr{expr.Const(types.I32, 0)}},
		"+ of float32 and float64": &expr.Binary{Op: expr.OpAdd, A: expr.Const(types.F32, 0), B: expr.Const(types.F64, 0)},
	} {
		_, err := Run([]*te.Stage{{Name: "y", Type: types.Of(types.F32), Body: body}}, value)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := Run([]*te.Stage{x}, nil); err == nil {
		t.Error("a missing input is no error")
	}
}

// TestTotal lists the corners of package expr's integer and conversion semantics.
func TestTotal(t *testing.T) {
	i := func(d types.DType, v int64) expr.Expr { return &expr.Int{V: v, Type: d} }
	f := func(v float64) expr.Expr { return expr.Const(types.F32, v) }
	bin := func(op expr.Op, d types.DType, a, b int64) expr.Expr { return expr.Bin(op, i(d, a), i(d, b)) }
	for _, c := range []struct {
		e    expr.Expr
		want int64
	}{
		{bin(expr.OpDiv, types.I32, 7, 0), 0},
		{bin(expr.OpMod, types.I32, 7, 0), 0},
		{bin(expr.OpFloorDiv, types.U8, 7, 0), 0},
		{bin(expr.OpFloorMod, types.I8, 7, 0), 0},
		{bin(expr.OpDiv, types.I32, math.MinInt32, -1), math.MinInt32},
		{bin(expr.OpDiv, types.I64, math.MinInt64, -1), math.MinInt64},
		{bin(expr.OpDiv, types.I8, -7, 2), -3},
		{bin(expr.OpMod, types.I8, -7, 2), -1},
		{bin(expr.OpFloorDiv, types.I8, -7, 2), -4},
		{bin(expr.OpFloorMod, types.I8, -7, 2), 1},
		{bin(expr.OpDiv, types.U64, -1, 2), math.MaxInt64},
		{bin(expr.OpLT, types.U64, -1, 2), 0},
		{bin(expr.OpAdd, types.U8, 255, 1), 0},
		{bin(expr.OpMul, types.I16, 300, 300), 24464},
		{bin(expr.OpShl, types.I8, 1, 8), 0},
		{bin(expr.OpShl, types.I8, 1, 7), -128},
		{bin(expr.OpShr, types.I8, -128, 3), -16},
		{bin(expr.OpShr, types.I8, -128, 8), 0},
		{bin(expr.OpShr, types.U32, math.MaxUint32, 31), 1},
		{bin(expr.OpShl, types.U64, 1, 64), 0},
		{bin(expr.OpShl, types.I32, 1, -1), 0},
		{expr.Call(expr.FnAbs, i(types.I8, -128)), -128},
		{expr.Call(expr.FnNot, i(types.U8, 1)), 254},
		{expr.Call(expr.FnNot, i(types.Bool, 1)), 0},
		{expr.Call(expr.FnClz, i(types.I16, 1)), 15},
		{expr.Call(expr.FnClz, i(types.U8, 0)), 8},
		{expr.Call(expr.FnPopcnt, i(types.I8, -1)), 8},
		{expr.CastTo(types.I8, f(300)), 127},
		{expr.CastTo(types.U8, f(-3)), 0},
		{expr.CastTo(types.I32, f(math.NaN())), 0},
		{expr.CastTo(types.U64, f(math.Inf(1))), -1},
		{expr.CastTo(types.I32, f(-1.9)), -1},
		{expr.CastTo(types.Bool, f(0.1)), 1},
		{expr.CastTo(types.I8, i(types.I32, 200)), -56},
		{&expr.Bits{To: types.I32, A: f(1)}, 0x3f800000},
		{expr.CastTo(types.I32, expr.Bin(expr.OpNE, f(math.NaN()), f(math.NaN()))), 1},
		{expr.CastTo(types.I32, expr.Bin(expr.OpGE, f(math.NaN()), f(0))), 0},
		{expr.CastTo(types.I32, expr.Call(expr.FnIsNaN, expr.Max(f(math.NaN()), f(0)))), 1},
		{expr.CastTo(types.I32, expr.Call(expr.FnRound, f(2.5))), 2},
		{expr.CastTo(types.I64, expr.CastTo(types.F32, i(types.I64, 1<<24+1))), 1 << 24},
	} {
		s := &te.Stage{Name: "y", Type: types.Of(c.e.DType()), Body: c.e}
		if got := run(t, s, nil).Int(0); got != c.want {
			t.Errorf("%s = %d, want %d", expr.String(c.e), got, c.want)
		}
	}
}
