package pass

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// TestSelectBranches: whatever is taken for ifs, values stay, and branches with loops stay branches.
func TestSelectBranches(t *testing.T) {
	taken := map[string]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 91))
		g := graphtest.Loops(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		decided(t, g, func(string) choice.Chooser { return anyOf{r} }, func(_ string, d choice.Decision, value string) {
			if d.Name == "branches" {
				taken[value]++
			}
		})
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
	if taken["run"] < 10 || taken["select"] < 10 {
		t.Errorf("taken: %v", taken)
	}
}

// TestBranchesByCost: few cheap elements are selected, many are not computed in vain, and a condition that is known decides.
func TestBranchesByCost(t *testing.T) {
	const text = `graph main(%c: bool[], %x: float32[SIZE]) { @yes = bool[]{true}
	%y: float32[SIZE] = if(COND, %x) origin "if"
	  graph a(%x: float32[SIZE]) { %0: float32[SIZE] = exp(%x) return %0 }
	  graph b(%x: float32[SIZE]) { %0: float32[SIZE] = negative(%x) %1: float32[SIZE] = tanh(%0) return %1 }
	return %y }`
	for _, c := range []struct{ size, cond, want string }{{"8", "%c", "where"}, {"4000000", "%c", "if"}, {"4000000", "@yes", "copy"}} {
		g, err := graph.Parse(strings.NewReplacer("SIZE", c.size, "COND", c.cond).Replace(text), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		run(t, "SelectBranches", g)
		var names []string
		for _, n := range g.Nodes {
			names = append(names, n.Op.Name)
		}
		if list := strings.Join(names, " "); !strings.Contains(list, c.want) || c.want != "if" && strings.Contains(list, "if") || c.want == "copy" && strings.Contains(list, "tanh") {
			t.Errorf("%s elements, condition %s: %s", c.size, c.cond, list)
		}
	}
}
