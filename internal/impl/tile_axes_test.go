package impl_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
)

// TestFewRows: a convolution to few channels along short lines takes several of these at once, so that sums do not wait for each other.
func TestFewRows(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 31))
		m := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu="+[]string{"znver4", "haswell", "skylake-avx512"}[r.IntN(3)])
		channels, lines, width := 2+r.IntN(2), 4+r.IntN(20), m.Lanes(32)-r.IntN(3)
		depth := 16 + r.IntN(100)
		s := of(t, ops.Conv2d, conv(1, 1, 1), "", f32("", 1, depth, lines, width), f32("", channels, depth, 3, 3))
		plan, err := algorithms.Table.Choose(lower.Lower("conv", s, lower.Options{}), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		sums := 1
		for _, n := range strings.Split(plan.Taken["tile"], " x ") {
			i, err := strconv.Atoi(n)
			if err != nil {
				t.Fatalf("%d channels of %d x %d on %s: %s", channels, lines, width, m.CPU, plan.Why)
			}
			sums *= i
		}
		if least := min(channels*lines, m.Latency*m.Units) * 3 / 4; sums < least {
			t.Errorf("%d channels of %d x %d on %s: %d sums, less than %d (%s)", channels, lines, width, m.CPU, sums, least, plan.Why)
		}
	}
}
