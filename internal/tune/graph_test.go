package tune

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"lathe/internal/choice"
)

// graphs is a machine on which values of decisions cost factors of a run's time.
type graphs struct {
	*rand.Rand
	factors map[string]float64
	fails   string
	raced   []map[int]choice.Point
}

func (g *graphs) Networks(_ context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	g.raced = append(g.raced, points)
	f := 1.0
	for _, p := range points {
		for _, v := range p {
			if v == g.fails {
				return nil, nil, errors.New("it does not compile")
			}
			if own, ok := g.factors[v]; ok {
				f *= own
			}
		}
	}
	for range opens {
		lies := 1 + 0.01*g.NormFloat64() // where memory lies
		for range pairs {
			host = append(host, 1000*(1+0.01*math.Abs(g.NormFloat64())))
			tuned = append(tuned, 1000*f*lies*(1+0.01*math.Abs(g.NormFloat64())))
		}
	}
	return tuned, host, nil
}

func costly(costs ...float64) []choice.Value {
	list := make([]choice.Value, len(costs))
	for i, c := range costs {
		list[i] = choice.Value{Text: string(rune('a' + i)), Cost: c}
	}
	return list
}

// TestGraph: the values that are faster are found among those of which the costs expect much, and judged together; what cannot be
// compiled is passed over, and nothing is accepted where nothing is faster.
func TestGraph(t *testing.T) {
	list := []GraphDecision{
		{Decision: choice.Decision{Name: "algorithm", Values: costly(100, 90, 400)}, Nodes: []string{"x"}, Weight: 10 * time.Millisecond},
		{Decision: choice.Decision{Name: "panel", Values: []choice.Value{{Text: "p"}, {Text: "q"}, {Text: "broken"}}}, Nodes: []string{"y", "z"}, Weight: 5 * time.Millisecond},
		{Decision: choice.Decision{Name: "fuse", Values: []choice.Value{{Text: "on"}, {Text: "off"}}}, Nodes: []string{"u"}},
	}
	o := GraphOptions{Host: 20 * time.Millisecond, Most: 4}
	g := &graphs{Rand: rand.New(rand.NewPCG(1, 2)), factors: map[string]float64{"b": 0.8, "c": 1.5, "q": 0.9}, fails: "broken"}
	r, err := Graph(t.Context(), list, g, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Accepted || r.Judged[0]["algorithm"] != "b" || r.Judged[1]["panel"] != "q" || math.Abs(r.Verdict.Ratio-0.72) > 0.03 {
		t.Errorf("%+v", r)
	}
	if g.raced[0][0]["algorithm"] != "b" {
		t.Errorf("at first %v is tried", g.raced[0])
	}
	failed := 0
	for _, trial := range r.Trials {
		if trial.Decision == 2 {
			t.Error("a node that takes no time is tried")
		}
		if trial.Err != nil {
			failed++
		}
	}
	if len(r.Trials) > o.Most || failed != 1 {
		t.Errorf("%d networks, %d without a time", len(r.Trials), failed)
	}
	g.factors = map[string]float64{"c": 1.5, "q": 1.02, "b": 1.03}
	if r, err = Graph(t.Context(), list, g, o); err != nil || r.Accepted {
		t.Errorf("what is slower is accepted: %+v, %v", r, err)
	}
	if r, err = Graph(t.Context(), nil, g, o); err != nil || r.Accepted || len(r.Trials) > 0 {
		t.Errorf("without decisions: %+v, %v", r, err)
	}
}

// TestGraphKnown: trials of an earlier run are not repeated, and their values are judged on fresh openings all the same.
func TestGraphKnown(t *testing.T) {
	list := []GraphDecision{{Decision: choice.Decision{Name: "algorithm", Values: costly(100, 90, 95)}, Nodes: []string{"x"}, Weight: 10 * time.Millisecond}}
	g := &graphs{Rand: rand.New(rand.NewPCG(1, 2)), factors: map[string]float64{"b": 0.8, "c": 1.5}}
	asked := 0
	o := GraphOptions{Host: 20 * time.Millisecond, Most: 4, Known: func(c Candidate) (Estimate, bool) {
		asked++
		return Estimate{Ratio: 0.8, Low: 0.79, High: 0.81, Pairs: 1}, c.Point["algorithm"] == "b"
	}}
	r, err := Graph(t.Context(), list, g, o)
	if err != nil || asked != 2 || len(r.Trials) != 2 || !r.Trials[0].Known || r.Trials[1].Known || g.raced[0][0]["algorithm"] != "c" {
		t.Errorf("%+v, raced %v, %v", r.Trials, g.raced, err)
	}
	if !r.Accepted || r.Judged[0]["algorithm"] != "b" || len(g.raced) < 2 {
		t.Errorf("%+v, raced %v", r, g.raced)
	}
}

// TestOnAll: a network that the compiler decides by facts of the machine that are others than the target's is tried before all else, and stays where it is surely faster; where
// the target has the machine's facts nothing is tried.
func TestOnAll(t *testing.T) {
	const own, right = "-caches=8,128,4096 -fma-units=1", "-caches=32,512,16384 -fma-units=2"
	for _, c := range []struct {
		found    string
		factor   float64
		tried    int
		accepted bool
	}{
		{right, 0.85, 1, true},
		{right, 0.97, 1, true},
		{right, 1.02, 1, false},
		{right, 1, 1, false},
		{own, 0.85, 0, false},
		{"", 0.85, 0, false},
	} {
		g := &graphs{Rand: rand.New(rand.NewPCG(1, 2)), factors: map[string]float64{right: c.factor}}
		r, err := Graph(t.Context(), OnAll("facts", own, c.found, 20*time.Millisecond), g, GraphOptions{Host: 20 * time.Millisecond, Most: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Trials) != c.tried || r.Accepted != c.accepted || c.accepted && r.Judged[0]["facts"] != right || c.tried == 0 && len(g.raced) > 0 {
			t.Errorf("%+v: %+v, raced %v", c, r, g.raced)
		}
	}
}
