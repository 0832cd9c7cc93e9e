package loop

import (
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// params are in scope of the bodies below.
const params = "func f(x: float32[8,8], y: float32[8,8], n: int64[4], b: bool[8], u: uint8[16,8], w: int8[2,16,4], z: int32[8,2]) {\n"

func TestVerifyText(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"x[0, 0] = 1.0", ""},
		{"x[0] = 1.0", "1 indices for x of rank 2"},
		{"x[0, 0] = y[0]", "1 indices for y of rank 2"},
		{"parallel i in 0..8 { parallel j in 0..8 { y[i, j] = 0.0 } } parallel k in 0..8 { y[k, 0] = 0.0 }", ""},
		{"let m: int64 = n[0] parallel i in 0..8 { y[i, 0] = 0.0 }", ""},
		{"for j in 0..8 { parallel i in 0..8 { y[i, j] = 0.0 } }", ""},
		{"for j in 0..8 { let m: int64 = j for k in 0..1 { parallel i in 0..8 { y[i, j] = 0.0 } } parallel i in 0..8 { y[i, m] = 1.0 } }", ""},
		{"for j in 0..n[0] { parallel i in 0..8 { y[i, j] = 0.0 } }", "parallel loop inside something else"},
		{"for j in 0..8 { parallel i in 0..8 { y[i, j] = 0.0 } y[0, j] = 1.0 }", "not divided"},
		{"for j in 0..8 { parallel i in 0..8 { y[i, j] = 0.0 } for k in 0..8 { y[k, j] = 1.0 } }", "not divided"},
		{"for j in 0..8 { parallel i in 0..8 { y[i, j] = 0.0 } if b[0] { y[0, j] = 1.0 } }", "not divided"},
		{"unroll j in 0..8 { parallel i in 0..8 { y[i, j] = 0.0 } }", "parallel loop inside something else"},
		{"if b[0] { parallel i in 0..8 { y[i, 0] = 0.0 } }", "parallel loop inside something else"},
		{"alloc t: float32[8] worker parallel i in 0..8 { t[i] = 0.0 y[i, 0] = t[i] }", ""},
		{"alloc t: float32[8] worker parallel i in 0..8 { t[i] = 0.0 } parallel j in 0..8 { y[j, 0] = t[j] }", "used inside a parallel loop and outside"},
		{"alloc t: float32[8] worker { t[0] = 1.0 parallel j in 0..8 { y[j, 0] = t[0] } }", "used inside a parallel loop and outside"},
		{"alloc t: float32[8] global t[0] = 0.0", "allocation in global scope"},
		{"vector l in 0..8 { y[0, l] = x[l, 0] }", ""},
		{"vector l in 0..65 { y[0, l] = x[l, 0] }", "constant extent of 1 to 64"},
		{"vector l in 0..n[0] { y[0, l] = x[l, 0] }", "constant extent of 1 to 64"},
		{"vector l in 0..8 { for i in 0..2 { vector k in 0..8 { y[l, k] = 0.0 } } }", "inside vector loop l"},
		{"vector l in 0..8 { for i in 0..n[0] { y[i, l] = 0.0 } }", ""},
		{"vector l in 0..8 { for i in 0..l { y[i, l] = 0.0 } }", "bounds depend on the lane"},
		{"vector l in 0..8 { let m: int64 = (l * 2) for i in m..+3 { y[i, l] = 0.0 } }", "bounds depend on the lane"},
		{"vector l in 0..8 { alloc t: float32[1] reg t[0] = 0.0 }", "allocation inside a vector loop"},
		{"vector l in 0..8 { y[0, 0] = x[0, l] }", "all lanes of vector loop l store the same element"},
		{"vector l in 0..8 { y[0, 0] = (y[0, 0] + x[0, l]) }", ""},
		{"vector l in 0..8 { y[0, 0] = (y[0, 0] - x[0, l]) }", "all lanes"},
		{"vector l in 0..8 { y[0, 0] = (y[0, 1] + x[0, l]) }", "all lanes"},
		{"vector l in 0..8 { y[0, 0] = (y[0, 0] + y[1, l]) }", "all lanes"},
		{"vector l in 0..8 { let m: int64 = floordiv(l, 2) y[0, m] = 0.0 }", ""},
		{"unroll t in 0..n[0] { y[0, t] = 0.0 }", "loop of kind unroll needs a constant extent"},
		{"alloc r: float32[8,8] reg unroll t in 0..8 { vector l in 0..8 { r[floordiv(t, 2), l] = 0.0 y[t, l] = r[0, (l + t)] } }", ""},
		{"alloc r: float32[8,8] reg for t in 0..8 { vector l in 0..8 { r[t, l] = 0.0 } }", "index t of register buffer r is not constant"},
		{"alloc r: float32[8,8] reg unroll t in n[0]..+8 { r[t, 0] = 0.0 }", "index t of register buffer r is not constant"},
		{"alloc r: float32[8,8] reg vector l in 0..8 { r[l, 0] = 0.0 }", "index l of register buffer r"},
		{"alloc r: float32[8,8] reg vector l in 0..8 { r[0, (l * 2)] = 0.0 }", "index (l * 2) of register buffer r"},
		{"alloc r: float32[8,8] reg vector l in 0..8 { r[0, (l + l)] = 0.0 }", "index (l + l) of register buffer r"},
		{"alloc r: float32[8,8] reg vector l in 0..8 { r[0, (3 - l)] = 0.0 }", "index (3 - l) of register buffer r"},
		{"alloc r: float32[8] reg y[0, 0] = r[n[0]]", "index n[0] of register buffer r"},
		{"for i in 0..8 { block s(k: 8 = i) where (k < 4) { init y[k, 0] = 0.0 y[k, 0] = x[k, 0] } }", "a block after lower_blocks"},
		{"for i in 0..8 { prefetch x at ((i * 8) + 64) lines 64 }", ""},
		{"alloc t: int32[2,16,16] tiles { unroll i in 0..2 { matrix m in 0..3 { matrix o in 0..16 { t[i, m, o] = 0:int32 } } } }", ""},
		{"alloc t: int32[16,16] tiles { matrix m in 0..16 { matrix o in 0..16 { matrix k in 0..2 { t[m, o] = (t[m, o] + dot4(u[m, (k * 4)], 1, w[k, o, 0], 2)) } } } }", ""},
		{"alloc t: int32[16,16] tiles { matrix m in 0..8 { matrix o in 0..2 { z[m, o] = t[m, o] } } }", ""},
		{"alloc t: int32[16,16] tiles t[0, 0] = 0:int32", "tiles t are used outside of matrix loops"},
		{"alloc t: int32[16,16] tiles for m in 0..16 { matrix o in 0..16 { t[m, o] = 0:int32 } }", "matrix loops are two or three"},
		{"alloc t: int32[16,16] tiles matrix m in 0..16 { matrix o in 0..16 { t[o, m] = 0:int32 } }", "last indices of t are not m and o"},
		{"alloc t: int32[16,16] tiles matrix m in 0..17 { matrix o in 0..16 { t[m, o] = 0:int32 } }", "last indices of t are not m and o"},
		{"alloc t: int32[16,16] tiles matrix m in 0..n[0] { matrix o in 0..16 { t[m, o] = 0:int32 } }", "no matrix loop from 0 of a constant extent"},
		{"alloc t: int32[16,16] tiles matrix m in 0..16 { matrix o in 0..16 { t[m, o] = 1:int32 } }", "all of t becomes neither 0 nor what a matrix in memory is"},
		{"alloc t: int32[16,16] tiles matrix m in 0..16 { matrix o in 0..16 { matrix k in 0..2 { t[m, o] = (t[m, o] + int32(u[m, k])) } } }", "no dot product"},
		{"alloc t: int32[2,16,16] tiles for i in 0..2 { matrix m in 0..16 { matrix o in 0..16 { t[i, m, o] = 0:int32 } } }", "index i of tiles t is not constant"},
		{"matrix m in 0..8 { matrix o in 0..8 { y[m, o] = x[m, o] } }", "what is stored to y is no tile"},
		{"prefetch x at 0 lines 0", "prefetch of 0 lines; 1 to 64"},
		{"prefetch x at 0 lines 65", "prefetch of 65 lines; 1 to 64"},
		{"alloc t: float32[8] worker prefetch t at 0 lines 1", "prefetch of t, which has scope worker"},
		{"vector l in 0..8 { prefetch x at l lines 1 y[0, l] = 0.0 }", "prefetch inside a vector loop"},
		{"block s(k: 8 = 0) { y[k] = 0.0 }", "1 indices for y"},
	} {
		f, err := Parse(params + c.body + "}")
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if strings.Contains(c.want, "after lower_blocks") {
			if err := Verify(f); err != nil {
				t.Errorf("%s: with blocks allowed: %v", c.body, err)
			}
			err = Verify(f, NoBlocks)
		} else {
			err = Verify(f)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.body, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.body, err, c.want)
		}
	}
}

// TestVerifyTrees has faults that text cannot have.
func TestVerifyTrees(t *testing.T) {
	y := &Buffer{Name: "y", DType: types.F32, Shape: []int{8}}
	i := expr.NewVar("i")
	zero, one := expr.Index(0), expr.Const(types.F32, 1)
	store := func(x expr.Expr) *Store { return &Store{y, []expr.Expr{x}, one} }
	loop := func(v *expr.Var, body Stmt) *For { return &For{v, zero, expr.Index(2), Serial, body} }
	other := *y
	for _, c := range []struct {
		name string
		body Stmt
		want string
	}{
		{"free variable", store(i), "variable i is not in scope, in:\n  y[i] = 1.0"},
		{"shadowing", loop(i, loop(i, store(i))), "i is bound twice, in:\n  for i in 0..2 {"},
		{"bound twice", &Seq{[]Stmt{loop(i, store(i)), loop(i, store(i))}}, "i is bound twice"},
		{"let twice", &Let{i, zero, &Let{i, zero, store(i)}}, "i is bound twice"},
		{"let in its scope", loop(i, store(&expr.Let{Var: i, Value: zero, Body: i})), "inside its own scope"},
		{"buffer not in scope", &Store{&other, []expr.Expr{zero}, one}, "buffer y is not in scope"},
		{"value type", &Store{y, []expr.Expr{zero}, zero}, "value 0 has type int64, not float32"},
		{"index type", &Store{y, []expr.Expr{one}, one}, "index 1.0 has type float32, not int64"},
		{"no value", &Store{y, []expr.Expr{zero}, nil}, "no value"},
		{"condition", &If{Cond: zero, Then: store(zero)}, "condition 0 has type int64"},
		{"operands", store(&expr.Binary{Op: expr.OpAdd, A: zero, B: one}), "+ of int64 and float32"},
		{"no statement", nil, "no body"},
		{"nil in a list", &Seq{[]Stmt{nil}}, "no statement"},
		{"loop type", &For{&expr.Var{Name: "i", Type: types.I32}, zero, zero, Serial, store(zero)}, "loop variable has type int32"},
		{"16-bit let", &Let{&expr.Var{Name: "h", Type: types.F16}, &expr.Cast{To: types.F16, A: one}, store(zero)}, "a variable of type float16"},
		{"alloc twice", &Alloc{y, store(zero)}, "declared twice"},
		{"alignment", &Alloc{&Buffer{Name: "a", DType: types.F32, Align: 3, Scope: Worker}, store(zero)}, "power of two"},
	} {
		err := Verify(&Func{Name: "f", Params: []*Buffer{y}, Body: c.body})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	good := loop(i, store(i))
	if err := Verify(&Func{Name: "f", Params: []*Buffer{y}, Body: good}); err != nil {
		t.Error(err)
	}
	if err := Verify(&Func{Name: "f", Params: []*Buffer{y, y}, Body: good}); err == nil || !strings.Contains(err.Error(), "declared twice") {
		t.Errorf("one buffer given twice: %v", err)
	}
}
