package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// TestPrefetchCovers: while a panel is used, each line of the next one is asked for once, and no more than a slice behind it.
func TestPrefetchCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		rows, depth, pace := 1+r.IntN(9), 1+r.IntN(13), r.IntN(5)
		width := 1 + r.IntN(3*rows) // lines of a row of the panel
		s := sched.New(parse(t, fmt.Sprintf(`func f(p: float32[%[1]d,%[2]d], q: float32[3,%[2]d,%[3]d], y: float32[%[1]d,%[4]d]) {
  for j in 0..3 { for i in 0..%[1]d { for k in 0..%[2]d { for l in 0..%[3]d {
    block y(a: %[1]d = i, b: 3 = j, c: %[3]d = l, r: reduce %[2]d = k) { init y[a, ((b * %[3]d) + c)] = 0.0
      y[a, ((b * %[3]d) + c)] = (y[a, ((b * %[3]d) + c)] + (p[a, r] * q[b, r, c])) } } } } } }`, rows, depth, 16*width, 48*width)))
		if err := s.Prefetch("y", "q", "j", "k", pace); err != nil {
			t.Fatal(err)
		}
		asked, slice := map[int64]int{}, 0
		var walk func(st loop.Stmt, at map[*expr.Var]expr.Expr)
		known := func(e expr.Expr, at map[*expr.Var]expr.Expr) int64 {
			n, ok := expr.IntOf(arith.Ranges{}.Simplify(expr.Subst(e, at)))
			if !ok {
				t.Fatalf("%v is no number", e)
			}
			return n
		}
		walk = func(st loop.Stmt, at map[*expr.Var]expr.Expr) {
			switch st := st.(type) {
			case *loop.Seq:
				for _, x := range st.List {
					walk(x, at)
				}
			case *loop.For:
				if st.Var.Name == "l" {
					return
				}
				n, _ := expr.IntOf(st.Extent)
				if st.Var.Name == "j" {
					n = 1
				}
				for i := range n {
					at[st.Var] = expr.Index(int(i))
					walk(st.Body, at)
				}
			case *loop.If:
				if known(st.Cond, at) != 0 {
					walk(st.Then, at)
				}
			case *loop.Prefetch:
				for i := range st.Lines {
					asked[known(st.At, at)/16+int64(i)]++
				}
				slice = max(slice, st.Lines)
			}
		}
		walk(s.Func.Body, map[*expr.Var]expr.Expr{})
		panel := int64(depth * width)
		for line := range panel {
			if asked[panel+line] != 1 {
				t.Fatalf("%d rows, %d lines by %d, pace %d: line %d is asked for %d times\n%v", rows, depth, width, pace, line, asked[panel+line], s.Func)
			}
		}
		if behind := len(asked) - int(panel); behind >= slice {
			t.Errorf("%d rows, %d lines by %d, pace %d: %d lines behind the panel\n%v", rows, depth, width, pace, behind, s.Func)
		}
	}
}
