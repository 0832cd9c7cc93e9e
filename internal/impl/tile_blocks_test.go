package impl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/types"
)

// TestBlocksOfPanels: where L2 does not hold the rows of a long product beside the panel of weights in use and the next, panels are put together to blocks: the loop over parts of the
// sum stands outside of the one over panels, this one outside of the tiles of rows, and the part of the next panel is asked for.
func TestBlocksOfPanels(t *testing.T) {
	for _, m := range machines[:2] {
		n := 2 * m.Lanes(32)
		for seed := range uint64(20) { // totals cost less than weights that are read once more
			r := rand.New(rand.NewPCG(seed, 41))
			depth, panels := 192*(16+r.IntN(16)), 32*(1+r.IntN(4))
			rows := m.L2/(4*depth) + r.IntN(64)
			weights := f32(types.Layout(fmt.Sprintf("AB%da", n)), panels*n, depth)
			k := lower.Lower("dense", inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", rows, depth), weights)), lower.Options{})
			p, err := algorithms.Table.Choose(k, m, nil)
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%d bits, %d x %d by %d panels", m.VectorBits, rows, depth, panels)
			if blocks := p.Taken["block_panels"]; blocks == "" || blocks == "0" {
				t.Errorf("%s: rule %s, block_panels %q", what, p.Rule, blocks)
				continue
			}
			i := slices.IndexFunc(p.Schedule.Trace, func(s sched.Step) bool { return s.Op == "prefetch" })
			if i < 0 {
				t.Errorf("%s: nothing is asked for\n%s", what, p.Schedule.Func)
				continue
			}
			asks := p.Schedule.Trace[i]
			loops, next, at := p.Schedule.Loops(asks.On), asks.Args[1], asks.Args[2]
			parts := slices.IndexFunc(loops, func(n string) bool { return strings.HasPrefix(n, "dense_acc_r0") })
			if panel := slices.Index(loops, next); panel != parts+1 || slices.Index(loops, at) < panel+2 {
				t.Errorf("%s: of loops %v, %s asks for what the next iteration of %s reads", what, loops, at, next)
			}
		}
	}
}

// TestRowsPacked: rows that lie a large power of two apart are packed where a strip has more of them than their sets hold, and others are not.
func TestRowsPacked(t *testing.T) {
	for _, m := range machines[:2] {
		x86 := *m
		x86.Arch = target.X86
		n := 2 * m.Lanes(32)
		for _, c := range []struct {
			rows, depth int
			want        string
		}{{512, 4096, "on"}, {1024, 8192, "on"}, {16, 16384, "off"}, {256, 4096 + 64, "off"}, {512, 3072 + 96, "off"}} {
			weights := f32(types.Layout(fmt.Sprintf("AB%da", n)), 64*n, c.depth)
			k := lower.Lower("dense", inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", c.rows, c.depth), weights)), lower.Options{})
			p, err := algorithms.Table.Choose(k, &x86, choice.Preferred{"block_panels": "32"})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Taken["packed_rows"]; got != c.want {
				t.Errorf("%d bits, %d x %d: rule %s, packed_rows %q, want %q", m.VectorBits, c.rows, c.depth, p.Rule, got, c.want)
			}
		}
	}
}

// TestNoBlocksOfOwnWeights: rows that have weights of their own, such as products of one row each, read these once in any order, and are not put together to blocks.
func TestNoBlocksOfOwnWeights(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		k := lower.Lower("matmul", of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 8, 1, 512), f32("", 8, 512, 32*n)), lower.Options{})
		p, err := algorithms.Table.Choose(k, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if blocks := p.Taken["block_panels"]; blocks != "" {
			t.Errorf("%d bits: rule %s, block_panels %s", m.VectorBits, p.Rule, blocks)
		}
	}
}
