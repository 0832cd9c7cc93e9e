package impl_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/testkit/tetest"
)

// TestRelief: what is proposed for a kernel whose loops spill differs from what was taken in one decision that is not fixed, can be
// taken, and computes the same.
func TestRelief(t *testing.T) {
	tried := map[string]int{}
	for _, kind := range append(tetest.Kinds(), "strips", "long sum", "winograd") {
		for seed := range uint64(6) {
			c := sample(t, rand.New(rand.NewPCG(seed, 11)), kind)
			k := c.Lower()
			cpu := machines[seed%uint64(len(machines))]
			if kind == "winograd" {
				cpu = narrow
			}
			plan, err := planned(k, kind, seed, cpu, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range plan.Relief(nil) {
				point := maps.Clone(plan.Taken)
				maps.Copy(point, change)
				other, err := planned(k, kind, seed, cpu, choice.Preferred(point))
				if err != nil {
					t.Fatalf("%s, seed %d, %v: %v", kind, seed, change, err)
				}
				for name, value := range change {
					if len(change) != 1 || plan.Taken[name] == value || other.Taken[name] != value {
						t.Errorf("%s, seed %d: %v is proposed for %v and gives %v", kind, seed, change, plan.Taken, other.Taken)
					}
					base, _, _ := strings.Cut(name, "(")
					tried[base]++
				}
				if err := c.Check(k, other.Schedule.Func, 1); err != nil {
					t.Errorf("%s, seed %d, %v: %v", kind, seed, change, err)
				}
			}
			if list := plan.Relief(plan.Taken); len(list) > 0 {
				t.Errorf("%s, seed %d: %v is proposed though all is fixed", kind, seed, list)
			}
		}
	}
	for _, name := range []string{"instructions", "steps", "tile"} {
		if tried[name] == 0 {
			t.Errorf("no kernel has %s proposed otherwise", name)
		}
	}
}
