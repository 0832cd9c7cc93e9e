package impl_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/te"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// TestEpilogueAskedFor: tiles ask for the lines that they store to, before their sums, where these lie beyond L2 and the sums take longer than they do. Sums
// that are straight code have no step at which to ask.
func TestEpilogueAskedFor(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		for _, size := range []int{14, 112} {
			for _, in := range []int{2, 3, 512, 1024} {
				t.Run(fmt.Sprintf("%d/%dx%d", m.VectorBits, in, size), func(t *testing.T) {
					w := f32(types.Layout(fmt.Sprintf("ABCD%da", n)), 32, in, 1, 1)
					k := lower.Lower("conv2d", of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32("", 1, in, size, size), w), lower.Options{})
					p, err := algorithms.Table.Choose(k, m, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := "on"
					switch {
					case in == 3 || size == 14:
						want = ""
					case in == 2:
						want = "off"
					}
					if got := p.Taken["prefetch_epilogue"]; got != want {
						t.Errorf("rule %s, prefetch_epilogue %q; want %q", p.Rule, got, want)
					}
				})
			}
		}
	}
}

// TestPanelsAskedFor: tiles ask for each line of a panel of weights once, be these floats or bytes that dot products take; those of few rows,
// which wait for memory, for none where one or two streams are as fast as it can be.
func TestPanelsAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 21))
	dots := *machines[0]
	dots.HasDot = true
	dots.Core.Streams = 2
	for range 40 {
		rows, depth, panel := 1+r.IntN(12), 64*(4+r.IntN(12)), 1+r.IntN(4)
		columns := 16 * panel * (8 + r.IntN(8))
		s := inPanels(panel, of(t, ops.Dense, op.None{}, "", f32("", rows, depth), f32(types.Layout(fmt.Sprintf("AB%da", 16*panel)), columns, depth)))
		what := "float32"
		if r.IntN(2) == 0 {
			what = "bytes"
			x := te.Input("x", types.Of(types.U8, rows, depth))
			w := te.Input("w", types.Of(types.I8, columns, depth).With(types.Layout(fmt.Sprintf("AB%da4b", 16*panel))))
			s = inPanels(panel, te.Fold("products", types.Of(types.I32, rows, columns), te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
				return expr.Mul(expr.CastTo(types.I32, x.At(i[0], r[0])), expr.CastTo(types.I32, w.At(i[1], r[0])))
			}))
		}
		name := fmt.Sprintf("%d rows by %d x %d %s in panels of %d vectors", rows, depth, columns, what, panel)
		p, err := algorithms.Table.Choose(tetest.Of(r, "product", s).Lower(), &dots, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0 // lines of weights, in a run
		var weights *loop.Buffer
		var visit func(s loop.Stmt, times int)
		visit = func(s loop.Stmt, times int) {
			switch s := s.(type) {
			case *loop.Seq:
				for _, t := range s.List {
					visit(t, times)
				}
			case *loop.For:
				n, _ := expr.IntOf(s.Extent)
				visit(s.Body, times*int(n))
			case *loop.If:
				visit(s.Then, times)
			case *loop.Alloc:
				visit(s.Body, times)
			case *loop.Prefetch:
				if !s.Write && !s.Near {
					asked, weights = asked+times*s.Lines, s.From
				}
			}
		}
		visit(p.Schedule.Func.Body, 1)
		switch way := p.Taken["prefetch_panel"]; {
		case rows <= 3 && way != "off":
			t.Errorf("%s: prefetch_panel %q\n%s", name, way, p.Schedule)
		case way == "off" && asked > 0 || way != "off" && rows > 8 && asked == 0:
			t.Errorf("%s: prefetch_panel %q, %d lines\n%s\n%s", name, way, asked, p.Schedule, p.Schedule.Func)
		case asked > 0:
			if lines := weights.Bytes() / 64; asked > lines*5/4 {
				t.Errorf("%s: %d lines of %d are asked for\n%s\n%s", name, asked, lines, p.Schedule, p.Schedule.Func)
			}
		}
	}
}
