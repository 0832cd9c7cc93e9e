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

// TestPrefetchCovers: while a panel is used, or a part of it, each line of what follows is asked for once, and no more than a slice behind it.
func TestPrefetchCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		const panels = 3
		rows, parts, steps, pace := 1+r.IntN(9), 1+r.IntN(3), 1+r.IntN(13), r.IntN(5)
		width := 1 + r.IntN(3*rows) // lines of a row of the panel
		s := sched.New(parse(t, fmt.Sprintf(`func f(p: float32[%[1]d,%[6]d], q: float32[3,%[6]d,%[3]d], y: float32[%[1]d,%[4]d]) {
  for o in 0..%[5]d { for j in 0..3 { for i in 0..%[1]d { for k in 0..%[2]d { for l in 0..%[3]d {
    block y(a: %[1]d = i, b: 3 = j, c: %[3]d = l, r: reduce %[6]d = ((o * %[2]d) + k)) { init y[a, ((b * %[3]d) + c)] = 0.0
      y[a, ((b * %[3]d) + c)] = (y[a, ((b * %[3]d) + c)] + (p[a, r] * q[b, r, c])) } } } } } } }`, rows, steps, 16*width, 16*panels*width, parts, parts*steps)))
		if err := s.Prefetch("y", "q", "j", "k", pace); err != nil {
			t.Fatal(err)
		}
		for part := range parts {
			for panel := range panels {
				asked, slice := askedLines(t, s.Func.Body, map[string]int{"o": part, "j": panel})
				next, whole := panel+1, steps*width // the part of the next panel, the next part of the first, or what follows all
				first := (next*parts + part) * whole
				if next == panels && parts > 1 {
					if first = (part + 1) * whole; part == parts-1 {
						first = panels * parts * whole
					}
				}
				for line := first; line < first+whole; line++ {
					if asked[line] != 1 {
						t.Fatalf("%d rows, %d of %d lines by %d, pace %d: in part %d of panel %d, line %d is asked for %d times\n%v", rows, parts, width, steps, pace, part, panel, line, asked[line], s.Func)
					}
				}
				if behind := len(asked) - whole; behind >= slice {
					t.Errorf("%d rows, %d of %d lines by %d, pace %d: in part %d of panel %d, %d lines behind those\n%v", rows, parts, width, steps, pace, part, panel, behind, s.Func)
				}
			}
		}
	}
}

// askedLines counts how often a function asks for each line, while some loops are in one of their iterations, and gives the lines of the longest request.
func askedLines(t *testing.T, body loop.Stmt, fixed map[string]int) (asked map[int]int, slice int) {
	t.Helper()
	asked = map[int]int{}
	known := func(e expr.Expr, at map[*expr.Var]expr.Expr) int {
		n, ok := expr.IntOf(arith.Ranges{}.Simplify(expr.Subst(e, at)))
		if !ok {
			t.Fatalf("%v is no number", e)
		}
		return int(n)
	}
	var walk func(st loop.Stmt, at map[*expr.Var]expr.Expr)
	walk = func(st loop.Stmt, at map[*expr.Var]expr.Expr) {
		switch st := st.(type) {
		case *loop.Seq:
			for _, x := range st.List {
				walk(x, at)
			}
		case *loop.For:
			asks := false
			loop.Walk(st, func(u loop.Stmt) bool { _, ok := u.(*loop.Prefetch); asks = asks || ok; return !asks })
			if !asks {
				return
			}
			n, _ := expr.IntOf(st.Extent)
			for i := range int(n) {
				if only, ok := fixed[st.Var.Name]; ok && i != only {
					continue
				}
				at[st.Var] = expr.Index(i)
				walk(st.Body, at)
			}
		case *loop.If:
			if known(st.Cond, at) != 0 {
				walk(st.Then, at)
			}
		case *loop.Prefetch:
			for i := range st.Lines {
				asked[known(st.At, at)/16+i]++
			}
			slice = max(slice, st.Lines)
		}
	}
	walk(body, map[*expr.Var]expr.Expr{})
	return asked, slice
}
