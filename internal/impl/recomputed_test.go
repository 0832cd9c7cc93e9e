package impl_test

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/sched"
	"lathe/internal/testkit/tetest"
)

// TestNothingIsComputedAgain: no rule makes a stage of a random kernel run much more often than its elements ask for. Tiles that do
// not divide an axis leave out what is too much of the last one by a condition, and strips share rows of their borders. Groups of two
// products are judged where rule attention takes them.
func TestNothingIsComputedAgain(t *testing.T) {
	samples := uint64(60)
	if testing.Short() {
		samples = 15
	}
	const enough = 4096 // runs of a stage, from where on tails are a small part
	judged := map[string]int{}
	for _, kind := range tetest.Kinds() {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 79))
			k := tetest.New(r, kind).Lower()
			plan, err := algorithms.Table.Choose(k, machines[r.IntN(len(machines))], nil)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", kind, seed, err)
			}
			if kind == "attention" && plan.Rule != kind {
				continue
			}
			before := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
			for _, name := range k.Blocks {
				asked, done := runs(before, name), runs(plan.Schedule, name)
				if asked < enough || done == 0 {
					continue
				}
				judged[plan.Rule]++
				if done > 2*asked {
					t.Errorf("%s, seed %d, rule %s: %s runs %d times for %d\n%s", kind, seed, plan.Rule, name, done, asked, plan.Schedule)
				}
			}
		}
	}
	for _, rule := range []string{"tile", "rows"} {
		if judged[rule] == 0 {
			t.Errorf("no kernel by rule %s was large enough", rule)
		}
	}
}

// runs is how often a block runs; 0 where there is none.
func runs(s *sched.Schedule, block string) int {
	b, around := s.Block(block)
	if b == nil {
		return 0
	}
	n := 1
	for _, f := range around {
		if extent, ok := expr.IntOf(f.Extent); ok {
			n *= int(extent)
		}
	}
	return n
}
