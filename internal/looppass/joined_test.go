package looppass_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/looppass"
	"lathe/internal/tensor"
)

// joined is a function that joins rows of so many elements each to rows of extent elements, lanes at a time in parallel parts.
func joined(rows, lanes int, widths []int) (text string, extent int) {
	for _, n := range widths {
		extent += n
	}
	parts := (extent + lanes - 1) / lanes
	at := fmt.Sprintf("((i * %d) + j)", lanes)
	var params []string
	value := "0.0"
	for k, end := len(widths)-1, extent; k >= 0; k-- {
		begin := end - widths[k]
		source := fmt.Sprintf("s%d[q, max(min((%s - %d), %d), 0)]", k, at, begin, widths[k]-1)
		if k == len(widths)-1 {
			value = source
		} else {
			value = fmt.Sprintf("select((%s < %d), %s, %s)", at, end, source, value)
		}
		params, end = append([]string{fmt.Sprintf("s%d: float32[%d,%d]", k, rows, widths[k])}, params...), begin
	}
	store := fmt.Sprintf("y[q, %s] = %s", at, value)
	if extent%lanes != 0 {
		store = fmt.Sprintf("if (%s < %d) { %s }", at, extent, store)
	}
	return fmt.Sprintf(`func f(%s, y: float32[%d,%d]) {
		parallel p in 0..%d { let q: int64 = floordiv(p, %d) let i: int64 = floormod(p, %d)
			vector j in 0..%d { %s } } }`, strings.Join(params, ", "), rows, extent, rows*parts, parts, parts, lanes, store), extent
}

// TestJoinedParts joins rows whose parts are divided among workers. The passes keep the result, and where sources are few no lane chooses between
// them that is not in the vector where one ends and the next begins.
func TestJoinedParts(t *testing.T) {
	samples := uint64(200)
	if testing.Short() {
		samples = 60
	}
	chosen := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 211))
		rows, lanes, whole := 1+r.IntN(3), []int{4, 8}[r.IntN(2)], r.IntN(2) == 0
		widths := make([]int, 2+r.IntN(5))
		for k := range widths {
			if widths[k] = 1 + r.IntN(9*lanes); whole {
				widths[k] = lanes * (1 + r.IntN(9))
			}
		}
		text, extent := joined(rows, lanes, widths)
		f, err := loop.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		args := make([]*tensor.Tensor, len(widths)+1)
		for k, n := range append(widths, extent) {
			args[k] = tensor.New(f.Params[k].DType, rows, n)
			for e := range args[k].Len() {
				args[k].SetFloat(e, float64(r.IntN(1<<20)))
			}
		}
		y := args[len(widths)]
		if err := interp.Run(f, args, 2); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, f)
		}
		want := append([]byte(nil), y.Bytes()...)
		for _, p := range looppass.Table {
			run(t, p.Name, f)
			if err := loop.Verify(f, loop.NoBlocks); err != nil {
				t.Fatalf("seed %d: after %s: %v\n%s", seed, p.Name, err, f)
			}
			clear(y.Bytes())
			if err := interp.Run(f, args, 2); err != nil || string(y.Bytes()) != string(want) {
				t.Fatalf("seed %d: after %s: %v, another result\n%s\n%s", seed, p.Name, err, text, f)
			}
		}
		if chooses := lanesChoose(f); whole && len(widths) <= 4 && chooses {
			t.Errorf("seed %d: lanes choose a source\n%s\n%s", seed, text, f)
		} else if chooses {
			chosen++
		}
		for k, n := range widths {
			if len(widths) <= 4 && n >= 2*lanes && !strings.Contains(f.String(), fmt.Sprintf("] = s%d[", k)) {
				t.Errorf("seed %d: lanes choose source %d all along\n%s\n%s", seed, k, text, f)
			}
		}
	}
	if chosen == 0 {
		t.Error("no sample is left a choice by which the test could fail")
	}
}

// lanesChoose reports whether a store of a vector loop holds a condition.
func lanesChoose(f *loop.Func) (found bool) {
	loop.Walk(f.Body, func(s loop.Stmt) bool {
		if st, ok := s.(*loop.Store); ok {
			expr.Walk(st.Value, func(e expr.Expr) bool {
				_, choice := e.(*expr.Select)
				found = found || choice
				return true
			})
		}
		return true
	})
	return found
}

// TestManyPieces: a line that many operands make, next to each other, has a loop for each of them, and no lane chooses.
func TestManyPieces(t *testing.T) {
	const pieces = 40 // more than are looked at in one go
	params, value := "", ""
	for k := range pieces {
		params += fmt.Sprintf("p%d: float32[9,8], ", k)
		piece := fmt.Sprintf("p%d[i, (((j.o * 8) + j.i) - %d)]", k, 8*k)
		if k < pieces-1 {
			value += fmt.Sprintf("select((((j.o * 8) + j.i) < %d), %s, ", 8*(k+1), piece)
		} else {
			value += piece
		}
	}
	for range pieces - 1 {
		value += ")"
	}
	f, err := loop.Parse(fmt.Sprintf("func f(%sy: float32[9,%d]) { for i in 0..9 { for j.o in 0..%d { vector j.i in 0..8 { y[i, ((j.o * 8) + j.i)] = %s } } } }", params, 8*pieces, pieces, value))
	if err != nil {
		t.Fatal(err)
	}
	run(t, "LoopPartition", f)
	stores := 0
	loop.Walk(f.Body, func(s loop.Stmt) bool {
		if st, ok := s.(*loop.Store); ok {
			stores++
			expr.Walk(st.Value, func(e expr.Expr) bool {
				if sel, ok := e.(*expr.Select); ok {
					t.Errorf("a lane chooses by %s", expr.String(sel.Cond))
				}
				return true
			})
		}
		return true
	})
	if stores != pieces {
		t.Errorf("%d pieces are written by %d stores", pieces, stores)
	}
}
