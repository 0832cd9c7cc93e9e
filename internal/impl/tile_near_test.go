package impl_test

import (
	"fmt"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestRowsAskedFor: tiles ask L1 for rows whose steps are on lines apart, such as channels of planes, where a tile reads more than L1 holds, in a loop
// that goes on for at least as long as they ask ahead.
func TestRowsAskedFor(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		for _, c := range []struct {
			in, taps int
			layout   types.Layout
		}{
			{n, 1, blocked(n)}, {32 * n, 1, blocked(n)}, {64 * n, 1, blocked(n)}, {n, 3, blocked(n)}, {32 * n, 3, blocked(n)}, {64 * n, 3, blocked(n)},
			{64, 3, ""}, {128, 5, ""}, {512, 1, ""}, // planes as they lie
		} {
			in, taps := c.in, c.taps
			t.Run(fmt.Sprintf("%d/%d taps, %d %s", m.VectorBits, taps, in, c.layout), func(t *testing.T) {
				w := f32(weights(n), 64, in, taps, taps)
				k := lower.Lower("conv2d", of(t, ops.Conv2d, conv(taps, 1, 1), blocked(n), f32(c.layout, 1, in, 32, 32), w), lower.Options{})
				p, err := algorithms.Table.Choose(k, m, choice.Preferred{"parts_of": "tiles", "block_panels": "0"})
				if err != nil {
					t.Fatal(err)
				}
				bytes := 4 * in * taps * taps * n // of a panel of one vector
				far := bytes > m.L1
				if got := p.Taken["prefetch_near"]; far && got != "rows" || in == n && taps == 1 && got == "rows" {
					t.Errorf("rule %s, %d bytes, prefetch_near %q", p.Rule, bytes, got)
				}
				asked := false
				loop.Walk(p.Schedule.Func.Body, func(s loop.Stmt) bool {
					if q, ok := s.(*loop.Prefetch); ok && q.Near {
						asked = true
						if q.From.Name != k.Func.Params[0].Name {
							t.Errorf("%s is asked for", q.From.Name)
						}
					}
					return true
				})
				for _, step := range p.Schedule.Trace {
					if step.Op == "prefetch_near" {
						if extent := p.Schedule.Extent(step.Args[1]); 2*step.N > extent {
							t.Errorf("%d iterations ahead of %d: %s", step.N, extent, p.Schedule)
						}
					}
				}
				if far && !asked {
					t.Errorf("nothing is asked for\n%s", p.Schedule.Func)
				}
			})
		}
	}
}

// TestPanelsAskedSeldom: a tile asks for the next panel in a loop whose iterations take longer than to ask, though that is not the innermost.
func TestPanelsAskedSeldom(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		w := f32(types.Layout(fmt.Sprintf("ABC%da", 3*n)), 24*n, 450, 3)
		attrs := ops.ConvAttrs{Strides: []int{1}, Padding: []int{2, 2}, Dilation: []int{2}, Groups: 1}
		s := inPanels(3, of(t, ops.Conv1d, attrs, types.Layout(fmt.Sprintf("ABC%db", n)), f32("", 1, 450, 400), w))
		p, err := algorithms.Table.Choose(lower.Lower("conv1d", s, lower.Options{}), m, choice.Preferred{"steps": "1"})
		if err != nil {
			t.Fatal(err)
		}
		var visit func(s loop.Stmt, inner int)
		visit = func(s loop.Stmt, inner int) {
			switch s := s.(type) {
			case *loop.Seq:
				for _, t := range s.List {
					visit(t, inner)
				}
			case *loop.For:
				i, _ := expr.IntOf(s.Extent)
				visit(s.Body, int(i))
			case *loop.If:
				visit(s.Then, inner)
			case *loop.Alloc:
				visit(s.Body, inner)
			case *loop.Prefetch:
				if inner == 3 && !s.Write {
					t.Errorf("%d bits: %s is asked for in the loop over taps\n%s", m.VectorBits, s.From.Name, p.Schedule)
				}
			}
		}
		visit(p.Schedule.Func.Body, 0)
	}
}

// TestPanelsAskedWhereSaid: where a schedule says that tiles ask for weights it has them do so, whether parts of a sum are unrolled or not.
func TestPanelsAskedWhereSaid(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		for _, rows := range []int{1, 2, 4, 6, 12} {
			for _, depth := range []int{333, 1000, 1024, 4096} {
				for _, steps := range []choice.Preferred{nil, {"steps": "1"}} {
					for _, panel := range []int{1, 2} {
						w := f32(types.Layout(fmt.Sprintf("AB%da", panel*n)), 64*n, depth)
						s := inPanels(panel, of(t, ops.Dense, op.None{}, "", f32("", rows, depth), w))
						p, err := algorithms.Table.Choose(lower.Lower("dense", s, lower.Options{}), m, steps)
						if err != nil {
							t.Fatal(err)
						}
						asked := false
						loop.Walk(p.Schedule.Func.Body, func(s loop.Stmt) bool {
							q, ok := s.(*loop.Prefetch)
							asked = asked || ok && !q.Near && !q.Write
							return true
						})
						if way := p.Taken["prefetch_panel"]; (way == "on" || way == "ahead") && !asked {
							t.Errorf("%d bits, %d rows by %d, panels of %d, %v: prefetch_panel %s, and nothing is asked for\n%s", m.VectorBits, rows, depth, panel, steps, way, p.Schedule)
						}
					}
				}
			}
		}
	}
}
