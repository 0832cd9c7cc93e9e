package winograd

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/loop/interp"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestMultiply compares products of matrices and vectors, with what rows and columns share computed once, with plain sums.
func TestMultiply(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matrices := [][][]float64{{{0, 0, 0}}, {{2, -1, 0}, {2, 1, 0}}, {{1, 1}, {1, -1}, {3, 3}}, {{0, 0.5}, {1, 0}}}
	for _, tile := range []int{2, 4, 6} {
		for taps := 3; tile+taps <= 9; taps += 2 {
			w, err := ops.WinogradOf(tile, []int{taps, 1}, []int{1, 1}, []int{1, 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, axis := range w.Axes {
				matrices = append(matrices, axis.AT, axis.BT, axis.G)
			}
		}
	}
	for _, m := range matrices {
		const lanes = 4
		x, y := build.Param("x", types.F32, len(m[0]), lanes), build.Param("y", types.F32, len(m), lanes)
		p := newLaneProgram(types.F32, lanes)
		in := make([]expr.Expr, len(m[0]))
		for i := range in {
			in[i] = p.keep(build.Get(x, expr.Index(i), p.lane))
		}
		for i, v := range p.multiply(m, in) {
			p.store(y, v, expr.Index(i), p.lane)
		}
		f := &loop.Func{Name: "f", Params: []*loop.Buffer{x, y}, Body: p.loop()}
		if err := loop.Verify(f); err != nil {
			t.Fatal(err)
		}
		a, b := tensor.New(types.F32, x.Shape...), tensor.New(types.F32, y.Shape...)
		for i := range a.Len() {
			a.SetFloat(i, r.NormFloat64())
		}
		if err := interp.Run(f, []*tensor.Tensor{a, b}, 1); err != nil {
			t.Fatal(err)
		}
		for i, row := range m {
			for l := range lanes {
				want := 0.0
				for k, c := range row {
					want += c * a.Float(k*lanes+l)
				}
				if got := b.Float(i*lanes + l); !(math.Abs(got-want) < 1e-5) {
					t.Errorf("%v: row %d, lane %d is %g instead of %g", m, i, l, got, want)
				}
			}
		}
	}
}

// TestMultiplyShares pins the arithmetic of the transforms of four outputs: a product by the matrix itself has an
// operation per element that is not 0.
func TestMultiplyShares(t *testing.T) {
	of, err := ops.WinogradOf(4, []int{3, 3}, []int{1, 1}, []int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	w := of.Axes[0]
	for _, c := range []struct {
		name string
		m    [][]float64
		want int
	}{{"data", w.BT, 14}, {"products", w.AT, 12}} {
		x, p := build.Param("x", types.F32, w.Alpha), newLaneProgram(types.F32, 1)
		in := make([]expr.Expr, w.Alpha)
		for i := range in {
			in[i] = build.Get(x, expr.Index(i))
		}
		p.multiply(c.m, in)
		n := 0
		for _, s := range p.list {
			if _, moved := s.(*loop.Store).Value.(*expr.Load); !moved {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %d operations, want %d", c.name, n, c.want)
		}
	}
}
