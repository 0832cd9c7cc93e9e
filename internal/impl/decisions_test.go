package impl_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/te"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// anyOf decides at random, and notes what it decided.
type anyOf struct {
	*rand.Rand
	names map[string]int // values taken that are no default, by decision
}

func (r anyOf) Choose(d choice.Decision) (int, error) {
	i := r.IntN(len(d.Values))
	name, _, _ := strings.Cut(d.Name, "(")
	if r.names[name] += 0; i != d.Default {
		r.names[name]++
	}
	return i, nil
}

// sample is a random kernel; strips are made by a graph pass and random sums are
// short, so that random computations have none.
func sample(t *testing.T, r *rand.Rand, kind string) *tetest.Case {
	if kind == "strips" {
		rows, channels := 3+r.IntN(12), 8*(1+r.IntN(3))
		y := relu(of(t, ops.Conv2d, conv(1, 1, 1), blocked(8), f32("", 1, 5, rows, 9), f32("ABCD8a", channels, 5, 1, 1)))
		y.Tag = lower.Strips
		stride := 1 + r.IntN(2)
		w := te.Input("w", f32("ABCD8a", channels, 1, 3, 3))
		return tetest.Of(r, kind, relu(ops.Conv2d.Compute(conv(3, stride, channels), []*te.Stage{y, w}, []types.Tensor{f32(blocked(8), 1, channels, (rows+stride-1)/stride, (8+stride)/stride)})[0]))
	}
	if kind == "long sum" {
		m, depth, n := 1+r.IntN(9), 100+r.IntN(900), 1+r.IntN(40)
		return tetest.Of(r, kind, relu(of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", m, depth), f32("", depth, n))))
	}
	return tetest.New(r, kind)
}

// checkDecision tells what is wrong with a decision: the default costs least, unless the list says what is preferred.
func checkDecision(d choice.Decision) string {
	name, _, _ := strings.Cut(d.Name, "(")
	i := slices.IndexFunc(algorithms.Table.Decisions(), func(info impl.DecisionInfo) bool { return info.Name == name })
	if i < 0 {
		return "not in the list"
	}
	if len(d.Values) == 0 || d.Default >= len(d.Values) {
		return "no default"
	}
	for _, v := range d.Values {
		switch fixed := algorithms.Table.Decisions()[i].Prefer != ""; {
		case fixed && v.Cost != 0:
			return "a cost that decides nothing"
		case !fixed && len(d.Values) > 1 && !(v.Cost > 0):
			return "no cost"
		case v.Cost < d.Values[d.Default].Cost:
			return "the default costs more than " + v.Text
		}
	}
	return ""
}

// TestPoints: whatever is decided, a kernel computes the same; a point given by hand makes the nest that was decided so;
// decisions are those of the list.
func TestPoints(t *testing.T) {
	points := 1000 / len(tetest.Kinds())
	if testing.Short() {
		points = 12
	}
	r := anyOf{rand.New(rand.NewPCG(1, 12)), map[string]int{}}
	cpus := append(slices.Clone(machines), core)
	for _, kind := range append(tetest.Kinds(), "strips", "long sum") {
		for seed := range uint64(points) {
			c := sample(t, rand.New(rand.NewPCG(seed, 11)), kind)
			k := c.Lower()
			cpu := cpus[seed%uint64(len(cpus))]
			plan, err := algorithms.Table.Choose(k, cpu, r)
			if err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", kind, seed, err, te.String(c.Out))
			}
			again, err := algorithms.Table.Choose(k, cpu, plan.Taken)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", kind, seed, err)
			}
			if again.Schedule.Func.String() != plan.Schedule.Func.String() {
				t.Fatalf("%s, seed %d: %v makes another nest when given by hand", kind, seed, plan.Taken)
			}
			for _, d := range plan.Asked {
				if why := checkDecision(d); why != "" {
					t.Errorf("%s, seed %d: %s: %+v", kind, seed, why, d)
				}
			}
			if n := len(plan.Divisions); n > 0 {
				if err := plan.DivideBy(plan.Divisions[r.IntN(n)]); err != nil {
					t.Fatalf("%s, seed %d: %v", kind, seed, err)
				}
			}
			if err := loop.Verify(plan.Schedule.Func); err != nil {
				t.Fatalf("%s, seed %d, %v: %v\n%s", kind, seed, plan.Taken, err, plan.Schedule.Func)
			}
			if err := c.Check(k, plan.Schedule.Func, 1+int(seed%3)); err != nil {
				t.Fatalf("%s, seed %d, %v: %v\n%s\n%s\n%s", kind, seed, plan.Taken, err, te.String(c.Out), plan.Schedule, plan.Schedule.Func)
			}
		}
	}
	if testing.Short() {
		return // too few kernels for every decision
	}
	for _, d := range algorithms.Table.Decisions() {
		if _, asked := r.names[d.Name]; !asked {
			t.Errorf("decision %s is asked by no random kernel", d.Name)
		}
	}
}
