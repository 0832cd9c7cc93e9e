package impl_test

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
)

// TestJammed: vectors of functions that wait for themselves are computed side by side, as many as registers hold with what the functions
// keep on the way and the loops have; those of other functions one after the other.
func TestJammed(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    *op.Def
		cpu   string
		shape []int
		want  string
		loops string // of how many iterations are computed side by side
	}{
		{"erf", ops.Erf, "x86-64-v3", []int{197, 3072}, "4", "4"},
		{"erf", ops.Erf, "x86-64-v4", []int{197, 3072}, "4", "4"},
		{"erf", ops.Erf, "x86-64-v2", []int{197, 3072}, "4", "4"},
		{"erf", ops.Erf, "cortex-a72 -mtriple=aarch64-linux-gnu", []int{197, 3072}, "4", "4"},
		{"erf", ops.Erf, "x86-64-v3", []int{8 * 197}, "4", "4"}, // with a rest
		{"erf", ops.Erf, "x86-64-v3", []int{8 * 6}, "4", "3"},
		{"erf", ops.Erf, "x86-64-v3", []int{8}, "", ""},
		{"mish", ops.Mish, "x86-64-v3", []int{64, 56}, "2", "2"},
		{"mish", ops.Mish, "x86-64-v4", []int{64, 64}, "4", "4"},
		{"relu", ops.Relu, "x86-64-v3", []int{64, 56}, "", ""},
	} {
		t.Run(fmt.Sprintf("%s/%s/%v", c.name, c.cpu, c.shape), func(t *testing.T) {
			k := lower.Lower(c.name, of(t, c.op, op.None{}, "", f32("", c.shape...)), lower.Options{})
			p, err := algorithms.Table.Choose(k, targettest.Resolve(t, "llvm -mcpu="+c.cpu), nil)
			if err != nil {
				t.Fatal(err)
			}
			loops := ""
			loop.Walk(p.Schedule.Func.Body, func(s loop.Stmt) bool {
				if f, ok := s.(*loop.For); ok && f.Kind == loop.Jammed {
					loops += expr.String(f.Extent)
				}
				return true
			})
			if got := p.Taken["jam"]; p.Rule != "pointwise" || got != c.want || loops != c.loops {
				t.Errorf("rule %s, jam %q of loops of %q; want %q, %q", p.Rule, got, loops, c.want, c.loops)
			}
		})
	}
}

// TestJammedTiles: the rolled epilogue of any tile computes its rows side by side, as far as they divide: a loop that is part of another has no rest.
func TestJammedTiles(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		jammed := 0
		for rows := 2; rows <= 30; rows++ {
			y := silu(of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32(blocked(n), 1, 64, 3, 6*rows), f32(weights(n), 128, 64, 1, 1)))
			p, err := algorithms.Table.Choose(lower.Lower("kernel", y, lower.Options{}), m, choice.Preferred{"tile": fmt.Sprintf("%d x 1", rows), "epilogue": "rolled"})
			if err != nil {
				t.Errorf("%d lanes, %d rows: %v", n, rows, err)
			} else if strings.HasPrefix(p.Taken["tile"], fmt.Sprint(rows)) && p.Taken["jam"] != "" {
				jammed++
			}
		}
		if jammed < 8 {
			t.Errorf("%d lanes: %d tiles had vectors side by side", n, jammed)
		}
	}
}
