package pass

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/impl/winograd"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// TestNodeDecisions: what is asked for nodes is what the list has, and the default costs least. Whatever is taken, the passes
// behind carry it out, and values stay.
func TestNodeDecisions(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 29))
		g := graphtest.New(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		first := asked(t, g.Clone(), nil)
		choices := map[string]choice.Point{}
		for _, node := range slices.Sorted(maps.Keys(first)) {
			for _, d := range first[node] {
				if choices[node] == nil {
					choices[node] = choice.Point{}
				}
				if d.Name == "algorithm" || d.Name == "panel" { // others depend on them
					choices[node][d.Name] = d.Values[r.IntN(len(d.Values))].Text
				}
			}
		}
		before := g.String()
		for _, list := range asked(t, g, choices) {
			for _, d := range list {
				seen[d.Name] = true
				checkDecision(t, d)
			}
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v: %v\n%s\n%s", seed, choices, err, before, g)
		}
		for _, n := range g.Nodes {
			if p := impl.PanelOf(n.Impl.Point); p > 0 && n.Impl.Name != winograd.Name && choices[n.Impl.Of] != nil && n.Impl.Point["panel"] != choices[n.Impl.Of]["panel"] {
				t.Errorf("seed %d: %s has %v, want %v", seed, n.Impl.Of, n.Impl.Point, choices[n.Impl.Of])
			}
		}
	}
	for _, d := range algorithms.Table.NodeDecisions() {
		if !seen[d.Name] && d.Owner == "ChooseImplementations" {
			t.Errorf("decision %s is in the list and is never asked", d.Name)
		}
	}
}

// asked runs the table on g with choices and returns what was asked.
func asked(t *testing.T, g *graph.Graph, choices map[string]choice.Point) map[string][]choice.Decision {
	t.Helper()
	c := &Context{Graph: g, Target: machine, Level: 3, Choices: choices}
	for _, p := range Table {
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, g)
		}
		if err := Verify(c); err != nil {
			t.Fatalf("after %s: %v\n%s", p.Name, err, g)
		}
	}
	return c.Asked
}

func checkDecision(t *testing.T, d choice.Decision) {
	t.Helper()
	if !slices.ContainsFunc(algorithms.Table.NodeDecisions(), func(i impl.DecisionInfo) bool { return i.Name == d.Name }) {
		t.Errorf("decision %s is not in the list", d.Name)
	}
	for _, v := range d.Values {
		if v.Cost < d.Values[d.Default].Cost {
			t.Errorf("decision %s: %s costs %g, the default %g", d.Name, v.Text, v.Cost, d.Values[d.Default].Cost)
		}
	}
}
