package matrix_test

import (
	"testing"

	"lathe/internal/arith"
	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestPrefetchEpilogue: a product whose result comes from beyond L2 asks for each line of it while it is summed, where sums take as long as the
// lines do, and for nothing that L2 holds.
func TestPrefetchEpilogue(t *testing.T) {
	for _, c := range []struct {
		rows, depth, columns int
		want                 string
	}{
		{224, 2048, 224, "on"}, // 200 kB, where L2 has 256
		{210, 2048, 210, "on"}, // neither blocks nor panels are whole
		{224, 64, 224, "off"},  // one product for each tile
		{64, 2048, 64, "off"},  // 16 kB
	} {
		l := layer{ops.QnnMatmul, nil, []types.Tensor{
			types.Of(types.U8, c.rows, c.depth), types.Of(types.U8),
			types.Of(types.I8, c.depth, c.columns).With(impl.DotPanels(32, impl.DotWidth)), types.Of(types.I8),
		}, choice.Point{"algorithm": impl.Matrix, "panel": "2"}}
		p := l.plan(t, types.Of(types.I32, c.rows, c.columns), nil)
		if got := p.Taken["prefetch_epilogue"]; got != c.want {
			t.Errorf("%d x %d x %d: prefetch_epilogue is %s, want %s", c.rows, c.depth, c.columns, got, c.want)
		}
		y := p.Schedule.Func.Params[len(p.Schedule.Func.Params)-1]
		asked, stored := map[int]bool{}, map[int]bool{}
		walk(p.Schedule.Func.Body, map[*expr.Var]int{}, func(s loop.Stmt, at func(expr.Expr) int) {
			switch s := s.(type) {
			case *loop.Prefetch:
				if s.From == y {
					for i := range s.Lines {
						asked[at(s.At)/16+i] = true
					}
				}
			case *loop.Store:
				if s.To == y {
					stored[(at(s.Index[0])*c.columns+at(s.Index[1]))/16] = true
				}
			}
		})
		for line := range stored {
			if asked[line] != (c.want == "on") {
				t.Fatalf("%d x %d x %d: line %d is asked for: %v", c.rows, c.depth, c.columns, line, asked[line])
			}
		}
	}
}

// walk comes to each statement with values of the loops around it, of vectors and tiles the first.
func walk(s loop.Stmt, env map[*expr.Var]int, f func(s loop.Stmt, at func(expr.Expr) int)) {
	at := func(x expr.Expr) int {
		known := map[*expr.Var]expr.Expr{}
		for v, n := range env {
			known[v] = expr.Index(n)
		}
		n, _ := expr.IntOf(arith.Ranges{}.Simplify(expr.Subst(x, known)))
		return int(n)
	}
	switch s := s.(type) {
	case *loop.Seq:
		for _, x := range s.List {
			walk(x, env, f)
		}
	case *loop.Alloc:
		walk(s.Body, env, f)
	case *loop.Let:
		env[s.Var] = at(s.Value)
		walk(s.Body, env, f)
	case *loop.If:
		if at(s.Cond) != 0 {
			walk(s.Then, env, f)
		} else if s.Else != nil {
			walk(s.Else, env, f)
		}
	case *loop.For:
		n := at(s.Extent)
		if s.Kind == loop.Vector || s.Kind == loop.Matrix {
			n = min(n, 1)
		}
		for i := range n {
			env[s.Var] = at(s.Min) + i
			walk(s.Body, env, f)
		}
	default:
		f(s, at)
	}
}
