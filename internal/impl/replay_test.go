package impl_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/testkit/tetest"
)

// TestReplay: the trace of every rule on random kernels with random decisions, written as JSON and read again, makes the same nest of
// the unscheduled one.
func TestReplay(t *testing.T) {
	samples := uint64(40)
	if testing.Short() {
		samples = 10
	}
	seen := map[string]int{}
	for _, kind := range append(tetest.Kinds(), "strips", "long sum", "columns", "bytes", "streamed", "scaled") {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 5))
			k := sample(t, r, kind).Lower()
			cpus := append(slices.Clone(machines), crowded, &target.Target{VectorRegs: 8, Core: target.ClassOf(target.CSource, 0)})
			if kind == "streamed" {
				cpus = []*target.Target{crowded}
			}
			by := []choice.Chooser{nil, anyOf{r, map[string]int{}}}
			plan, err := algorithms.Table.Choose(k, cpus[r.IntN(len(cpus))], by[seed%2])
			if err != nil {
				t.Fatalf("%s, seed %d: %v", kind, seed, err)
			}
			if n := len(plan.Divisions); n > 0 {
				if err := plan.DivideBy(plan.Divisions[r.IntN(n)]); err != nil {
					t.Fatalf("%s, seed %d: %v", kind, seed, err)
				}
			}
			seen[plan.Rule]++
			data, err := json.Marshal(plan.Schedule.Trace)
			if err != nil {
				t.Fatal(err)
			}
			var trace []sched.Step
			if err := json.Unmarshal(data, &trace); err != nil {
				t.Fatal(err)
			}
			again := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
			if err := again.Apply(trace); err != nil {
				t.Fatalf("%s, seed %d, rule %s: %v\n%s", kind, seed, plan.Rule, err, plan.Schedule)
			}
			if got, want := again.Func.String(), plan.Schedule.Func.String(); got != want {
				t.Fatalf("%s, seed %d, rule %s: the trace gives another nest:\n%s\n%s\n%s", kind, seed, plan.Rule, plan.Schedule, got, want)
			}
		}
	}
	for _, a := range algorithms.Table {
		if a.Rule != nil && seen[a.Rule.Name] == 0 {
			t.Errorf("rule %s was never taken", a.Rule.Name)
		}
	}
}
