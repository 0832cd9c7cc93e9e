package pass

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/graphtest"
)

// externalPasses are those that make regions.
var externalPasses = []string{"PrerequisiteOptimize", "MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph", "InlineComposites"}

// taker is a generator that takes operators by name, and convolutions with what follows them for one.
func taker(name string, names ...string) byoc.Chosen {
	conv := byoc.Op("nn.conv2d", byoc.Any(), byoc.Const())
	return byoc.Chosen{Codegen: &byoc.Codegen{
		Name: name,
		Patterns: func(byoc.Options) []byoc.Pattern {
			return []byoc.Pattern{
				{Name: "conv2d_sum", Root: byoc.Op("add", conv, byoc.Any()).Optional("nn.relu"), Check: func(nodes []*graph.Node) error {
					if len(nodes) < 2 || slices.ContainsFunc(nodes, func(n *graph.Node) bool { return n.Op == ops.Add && n.In[0] == n.In[1] }) {
						return errors.New("a sum with itself")
					}
					return nil
				}},
				{Name: "conv2d_relu", Root: conv.Optional("nn.relu", "sigmoid")},
			}
		},
		Supports: func(n *graph.Node, _ byoc.Options) error {
			if !slices.Contains(names, n.Op.Name) {
				return fmt.Errorf("%s is not supported", n.Op.Name)
			}
			return nil
		},
		Pays: func(r byoc.Region, o byoc.Options) error {
			if err := graph.Verify(r.Graph); err != nil {
				return err
			}
			if o.Value("least") == "2" && len(r.Graph.Nodes) < 2 {
				return errors.New("one node is not worth the call")
			}
			return nil
		},
	}}
}

// throughExternal runs the passes up to last on g and verifies after each.
func throughExternal(t testing.TB, g *graph.Graph, last string, gens ...byoc.Chosen) *Context {
	t.Helper()
	c := &Context{Graph: g, Target: machine, Level: 3, Codegens: gens}
	for _, p := range Table {
		if !slices.Contains(externalPasses, p.Name) {
			continue
		}
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if err := Verify(c); err != nil {
			t.Fatalf("after %s: %v\n%s", p.Name, err, g)
		}
		text := g.String()
		if again, err := graph.Parse(text, ops.Lookup, nil); err == nil && again.String() != text {
			t.Fatalf("after %s the text of the graph reads as\n%s\ninstead of\n%s", p.Name, again, text)
		} else if err != nil && !strings.Contains(err.Error(), "#") && !strings.Contains(err.Error(), "constant") {
			t.Fatalf("after %s: %v\n%s", p.Name, err, text)
		}
		if p.Name == last {
			break
		}
	}
	return c
}

const twoBranches = `graph main(%x: float32[1,1,4,4]) {
	@w = float32[1,1,1,1]{2} @b = float32[1,1,1,1]{1} @g = float32[1]{1} @z = float32[1]{0} @v = float32[1]{3}
	%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
	%1 = nn.batch_norm(%0, @g, @z, @z, @v) {axis=1, epsilon=0.001} origin "BatchNormalization_1"
	%2 = nn.relu(%1) origin "Relu_2"
	%3 = exp(%2) origin "Exp_3"
	%4 = nn.conv2d(%2, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_4"
	%5 = add(%3, %4) origin "Add_5"
	%6 = nn.relu(%5) origin "Relu_6"
	%7 = nn.max_pool2d(%2) {pool_size=[2,2], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false} origin "MaxPool_7"
	%8 = tanh(%7) origin "Tanh_8"
	return %6, %7, %8 }`

// TestExternal shows each pass on a network with a path from a region through a node that no generator takes back to what it takes.
func TestExternal(t *testing.T) {
	for _, last := range externalPasses {
		g, err := graph.Parse(twoBranches, ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := graphtest.Inputs(rand.New(rand.NewPCG(1, 5)), g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		c := throughExternal(t, g, last, taker("one", "nn.max_pool2d"), taker("two", "tanh", "nn.max_pool2d"))
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Errorf("after %s: %v", last, err)
		}
		text := g.String()
		for _, o := range c.Offloads {
			text += fmt.Sprintf("%s %v: %s %s %s %v\n", o.Operator, o.Nodes, o.Generator, o.Composite, o.Symbol, o.Refusals)
		}
		for _, r := range c.Regions {
			text += fmt.Sprintf("region of %s: %s", r.Generator, r.Graph)
		}
		golden.Check(t, "external_"+last, []byte(text))
	}
}

// TestPays: a region that its generator does not want is as if it had never been, and the reason is told.
func TestPays(t *testing.T) {
	g, err := graph.Parse(`graph main(%x: float32[4]) { %0 = tanh(%x) origin "Tanh_0" %1 = exp(%0) origin "Exp_1" %2 = tanh(%1) %y = tanh(%2) return %y }`, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	gen := taker("one", "tanh")
	gen.Given = byoc.Options{{Name: "least", Value: "2"}}
	c := throughExternal(t, g, "InlineComposites", gen)
	if len(c.Regions) != 1 || c.Regions[0].Symbol != "tvmgen_default_one_main_0" || len(c.Offloads) != 4 ||
		fmt.Sprint(c.Offloads[0].Refusals) != "[{one one node is not worth the call}]" || fmt.Sprint(c.Offloads[1].Refusals) != "[{one exp is not supported}]" {
		t.Errorf("%+v\n%s", c.Offloads, g)
	}
}

// TestExternalInside: what a branch runs is listed as the CPU's, with the reason.
func TestExternalInside(t *testing.T) {
	g, err := graph.Parse(`graph main(%c: bool[], %x: float32[8]) {
	%0 = tanh(%x)
	%y: float32[8] = if(%c, %0) origin "if"
	graph yes(%x1: float32[8]) { %0 = tanh(%x1) return %0 }
	graph no(%x2: float32[8]) { %0 = exp(%x2) return %0 }
	return %y }`, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := throughExternal(t, g, "InlineComposites", taker("one", "tanh"))
	var said []string
	for _, o := range c.Offloads {
		said = append(said, fmt.Sprintf("%s %s %v", o.Operator, o.Generator, o.Refusals))
	}
	const why = "[{one loops, branches and what they run are not taken}]"
	want := []string{"tanh one []", "if  " + why, "tanh  " + why, "exp  " + why}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// TestExternalRandom: whatever generators take, the graph is right after every pass, computes the same, and no two regions that
// could be one are left apart. Without generators nothing changes.
func TestExternalRandom(t *testing.T) {
	samples := uint64(300)
	if testing.Short() {
		samples = 60
	}
	regions, composites := 0, 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 71))
		g := graphtest.New(r)
		if seed%3 == 0 {
			g = graphtest.Loops(r)
		}
		var names []string
		for _, n := range g.Nodes {
			if r.IntN(3) > 0 {
				names = append(names, n.Op.Name)
			}
		}
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		throughExternal(t, g, "")
		if g.String() != before {
			t.Fatalf("seed %d: without generators\n%s\nbecomes\n%s", seed, before, g)
		}
		c := throughExternal(t, g, "", taker("one", names[:len(names)/2]...), taker("two", names...))
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\nbefore:\n%s\nafter:\n%s", seed, err, before, g)
		}
		m := newMerging(g)
		for _, n := range g.Nodes {
			for _, v := range n.In {
				if v.Def != nil && sameName(v.Def, n) && !m.around(v.Def, n) {
					t.Fatalf("seed %d: two regions could be one\n%s", seed, g)
				}
			}
		}
		regions += len(c.Regions)
		for _, r := range c.Regions {
			composites += strings.Count(r.Graph.String(), "= composite(")
		}
	}
	if regions < int(samples)/2 || composites < int(samples)/20 {
		t.Errorf("only %d regions and %d composites", regions, composites)
	}
}

func sameName(a, b *graph.Node) bool { return a.Op == graph.External && sameCompiler(a, b) }
