package pass

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/ops"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// anyOf decides at random.
type anyOf struct{ *rand.Rand }

func (r anyOf) Choose(d choice.Decision) (int, error) { return r.IntN(len(d.Values)), nil }

// TestNodeDecisions: what is asked for nodes is what the list has, by the pass that the list names, and the default costs least.
// Whatever is taken, the passes behind carry it out, and values stay; all that was taken, given by hand, makes the same graph.
func TestNodeDecisions(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 29))
		g := graphtest.New(r)
		if seed%10 == 0 {
			g = dequantised(t, r)
		}
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		again, before := g.Clone(), g.String()
		taken := map[string]choice.Point{}
		decided(t, g, func(string) choice.Chooser { return anyOf{r} }, func(node string, d choice.Decision, value string) {
			seen[d.Name] = true
			if taken[node] == nil {
				taken[node] = choice.Point{}
			}
			if _, twice := taken[node][d.Name]; twice {
				t.Errorf("seed %d: %s of %s is asked twice", seed, d.Name, node)
			}
			taken[node][d.Name] = value
		})
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v: %v\n%s\n%s", seed, taken, err, before, g)
		}
		decided(t, again, func(node string) choice.Chooser { return taken[node] }, func(string, choice.Decision, string) {})
		if again.String() != g.String() {
			t.Fatalf("seed %d: %v given by hand makes another graph:\n%s\n%s", seed, taken, g, again)
		}
	}
	for _, d := range algorithms.Table.NodeDecisions() {
		if !seen[d.Name] && (d.Owner == "ChooseImplementations" || d.Owner == "FuseOps") {
			t.Errorf("decision %s is in the list and is never asked", d.Name)
		}
	}
}

// dequantised is a network that computes with elements of a byte, which random ones have none of.
func dequantised(t *testing.T, r *rand.Rand) *graph.Graph {
	t.Helper()
	shape := fmt.Sprintf("[%d,%d]", 1+r.IntN(4), 1+r.IntN(40))
	g, err := graph.Parse(strings.ReplaceAll(`graph main(%x: float32SHAPE) { @s = float32[]{0.05} @z = uint8[]{128}
	%q: uint8SHAPE = qnn.quantize(%x, @s, @z) {out_dtype=uint8, rounding="half_even"}
	%d: float32SHAPE = qnn.dequantize(%q, @s, @z) origin "Dequantize_0"
	%a: float32SHAPE = nn.relu(%d) origin "Relu_1"
	%b: float32SHAPE = exp(%d) origin "Exp_2"
	return %a, %b }`, "SHAPE", shape), ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A noting chooser tells what it is asked and what another one takes.
type noting struct {
	choice.Chooser
	node string
	note func(node string, d choice.Decision, value string)
}

func (n noting) Choose(d choice.Decision) (int, error) {
	i, err := n.Chooser.Choose(d)
	if err == nil {
		n.note(n.node, d, d.Values[i].Text)
	}
	return i, err
}

// decided runs the table on g and notes what is decided.
func decided(t *testing.T, g *graph.Graph, by func(string) choice.Chooser, note func(node string, d choice.Decision, value string)) {
	t.Helper()
	for _, p := range Table {
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(node string) choice.Chooser {
			return noting{by(node), node, func(node string, d choice.Decision, value string) {
				checkDecision(t, p.Name, d)
				note(node, d, value)
			}}
		}}
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, g)
		}
		if err := Verify(c); err != nil {
			t.Fatalf("after %s: %v\n%s", p.Name, err, g)
		}
	}
}

func checkDecision(t *testing.T, pass string, d choice.Decision) {
	t.Helper()
	list := algorithms.Table.NodeDecisions()
	i := slices.IndexFunc(list, func(i impl.DecisionInfo) bool { return i.Name == d.Name })
	if i < 0 || !slices.Contains(strings.Split(list[i].Owner, ", "), pass) {
		t.Errorf("decision %s of pass %s is not in the list", d.Name, pass)
	}
	for _, v := range d.Values {
		if v.Cost < d.Values[d.Default].Cost {
			t.Errorf("decision %s: %s costs %g, the default %g", d.Name, v.Text, v.Cost, d.Values[d.Default].Cost)
		}
	}
}
