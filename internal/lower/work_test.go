package lower

import (
	"math"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/te"
	"lathe/internal/types"
)

// TestWorkOfLoops counts a product of 6 rows in blocks of 4, the last of which has 2, and what is done to the sums.
func TestWorkOfLoops(t *testing.T) {
	x := &loop.Buffer{Name: "x", DType: types.F32, Shape: []int{6, 8}}
	y := &loop.Buffer{Name: "y", DType: types.F32, Shape: []int{6}}
	at := func(b *loop.Buffer, i ...expr.Expr) expr.Expr { return &expr.Load{From: b, Index: i} }
	o, i, k := expr.NewVar("o"), expr.NewVar("i"), expr.NewVar("k")
	row := expr.Add(expr.Mul(o, expr.Index(4)), i)
	sum := &loop.Store{To: y, Index: []expr.Expr{row}, Value: expr.Add(at(y, row), expr.Mul(at(x, row, k), at(x, row, k)))}
	root := &loop.Store{To: y, Index: []expr.Expr{row}, Value: expr.Call(expr.FnSqrt, at(y, row))}
	inner := &loop.Seq{List: []loop.Stmt{&loop.For{Var: k, Min: expr.Index(0), Extent: expr.Index(8), Body: sum}, &loop.If{Cond: expr.LT(row, expr.Index(6)), Then: root, Else: root}}}
	rows := &loop.For{Var: i, Min: expr.Index(0), Extent: expr.Min(expr.Index(4), expr.Sub(expr.Index(6), expr.Mul(o, expr.Index(4)))), Body: inner}
	f := &loop.Func{Name: "f", Params: []*loop.Buffer{x, y}, Body: &loop.For{Var: o, Min: expr.Index(0), Extent: expr.Index(2), Body: rows}}
	w := WorkOf(f)
	if w.Flops != 6*8*2+6 || w.Multiply != types.F32 {
		t.Errorf("%.0f operations, products of %v", w.Flops, w.Multiply)
	}
	f.Body.(*loop.For).Body.(*loop.For).Body = root
	if w := WorkOf(f); w.Flops != 6 || w.Multiply != types.Invalid {
		t.Errorf("%.0f operations, products of %v where there are none", w.Flops, w.Multiply)
	}
}

// TestWorkOfExtents: a loop whose extent is chosen by one around it counts with what it runs in all, as by running it.
func TestWorkOfExtents(t *testing.T) {
	y := &loop.Buffer{Name: "y", DType: types.F32, Shape: []int{64}}
	for n := 1; n <= 9; n++ {
		for step := 1; step <= 4; step++ {
			k, i := expr.NewVar("k"), expr.NewVar("i")
			extent := expr.If(expr.LT(expr.Bin(expr.OpFloorMod, k, expr.Index(step)), expr.Index(step-1)), expr.Index(2*step), expr.Index(step))
			root := &loop.Store{To: y, Index: []expr.Expr{i}, Value: expr.Call(expr.FnSqrt, &expr.Load{From: y, Index: []expr.Expr{i}})}
			f := &loop.Func{Name: "f", Params: []*loop.Buffer{y}, Body: &loop.For{Var: k, Min: expr.Index(0), Extent: expr.Index(n),
				Body: &loop.For{Var: i, Min: expr.Index(0), Extent: extent, Body: root}}}
			want := 0
			for k := range n {
				if want += step; k%step < step-1 {
					want += step
				}
			}
			if w := WorkOf(f); math.Abs(w.Flops-float64(want)) > 1e-9*float64(want) {
				t.Errorf("%d iterations, step %d: %g operations, want %d", n, step, w.Flops, want)
			}
		}
	}
}

// TestWorkOfDots: a dot product is its products and their sum, wherever loops over matrices have it.
func TestWorkOfDots(t *testing.T) {
	a := &loop.Buffer{Name: "a", DType: types.U8, Shape: []int{3, 5, 4}}
	b := &loop.Buffer{Name: "b", DType: types.I8, Shape: []int{5, 7, 4}}
	sums := &loop.Buffer{Name: "sums", DType: types.I32, Shape: []int{3, 7}}
	m, n, k := expr.NewVar("m"), expr.NewVar("n"), expr.NewVar("k")
	dot := &expr.Dot{A: &expr.Load{From: a, Index: []expr.Expr{m, k, expr.Index(0)}}, AxisA: 2, B: &expr.Load{From: b, Index: []expr.Expr{k, n, expr.Index(0)}}, AxisB: 2}
	var body loop.Stmt = &loop.Store{To: sums, Index: []expr.Expr{m, n}, Value: expr.Add(&expr.Load{From: sums, Index: []expr.Expr{m, n}}, dot)}
	for _, l := range []struct {
		v *expr.Var
		n int
	}{{k, 5}, {n, 7}, {m, 3}} {
		body = &loop.For{Var: l.v, Kind: loop.Matrix, Min: expr.Index(0), Extent: expr.Index(l.n), Body: body}
	}
	if w := WorkOf(&loop.Func{Name: "f", Params: []*loop.Buffer{a, b, sums}, Body: body}); w.Flops != 3*7*5*8 || w.Multiply != types.I8 {
		t.Errorf("%.0f operations, products of %v", w.Flops, w.Multiply)
	}
}

// TestTouched counts the rows of a table that are looked up, not the table.
func TestTouched(t *testing.T) {
	table, rows := te.Input("table", types.Of(types.F32, 1000, 8)), te.Input("rows", types.Of(types.I64, 3))
	k := Lower("kernel", te.Compute("y", types.Of(types.F32, 3, 8), func(i []expr.Expr) expr.Expr {
		return table.At(rows.At(i[0]), i[1])
	}), Options{})
	touched := map[string]int{}
	for i, p := range k.Params {
		touched[p.Name] = k.Touched(i)
	}
	if touched["table"] != 3*8*4 || touched["rows"] != 3*8 || touched["y"] != 3*8*4 {
		t.Errorf("bytes %v", touched)
	}
}
