package graph

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestHashStable pins hashes: tuning records and caches are kept under them.
func TestHashStable(t *testing.T) {
	for by, want := range []string{"5a895053993acca6766a55bbd55de9f9", "08c31cf8ed6108dd3dfb9441ba186942"} {
		if got := Hash(testNet(t), ConstKey(by)); got != want {
			t.Errorf("%d: %s, want %s", by, got, want)
		}
	}
}

func TestHashIgnores(t *testing.T) {
	want := Hash(testNet(t), ByValue)
	for name, change := range map[string]func(g *Graph){
		"names": func(g *Graph) {
			g.Name, g.Inputs[0].Name, g.Nodes[1].Sub[0].Name = "other", "x", "y"
			g.Nodes[0].Out[0].Name, g.Nodes[0].In[1].Name = "z", "w"
		},
		"origins": func(g *Graph) { g.Nodes[0].Origin, g.Nodes[1].Origin = nil, []string{"a"} },
		"order": func(g *Graph) {
			n := g.Nodes
			g.Nodes = []*Node{n[3], n[2], n[0], n[1], n[4]}
		},
		"dead nodes":                  func(g *Graph) { apply(t, g, testRelu, op.None{}, g.Inputs[0]) },
		"an equal copy of a constant": func(g *Graph) { g.Nodes[0].In[1] = NewConst("", ramp(4, 4, 3, 3)) },
	} {
		g := testNet(t)
		change(g)
		if err := Verify(g); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := Hash(g, ByValue); got != want {
			t.Errorf("%s: the hash changes", name)
		}
	}
}

func TestHashSees(t *testing.T) {
	changes := map[string]func(g *Graph){
		"attributes":     func(g *Graph) { g.Nodes[0].Attrs = convAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 0}} },
		"sub-attributes": func(g *Graph) { g.Nodes[1].Sub[0].Nodes[1].Attrs = convAttrs{Strides: []int{2, 2}, Groups: 1} },
		"operator":       func(g *Graph) { g.Nodes[1].Sub[0].Nodes[0].Op = unary[op.None]("nn.elu") },
		"implementation": func(g *Graph) { g.Nodes[0].Impl.Name = "winograd" },
		"decision":       func(g *Graph) { g.Nodes[0].Impl.Point = choice.Point{"panel": "3"} },
		"input type":     func(g *Graph) { g.Inputs[0].Type.DType = types.F16 },
		"layout":         func(g *Graph) { g.Nodes[0].Out[0].Type.Layout = "ABCD8b" },
		"result":         func(g *Graph) { g.Outputs[1] = g.Nodes[2].Out[0] },
		"operand":        func(g *Graph) { g.Nodes[1].In[0] = g.Inputs[0] },
		"outputs":        func(g *Graph) { g.Outputs = g.Outputs[:3] },
		"unused input":   func(g *Graph) { g.Input("more", types.Of(types.F32)) },
		"constant type":  func(g *Graph) { g.Nodes[0].In[1] = NewConst("", ramp(4, 4, 1, 3)) },
	}
	for name, change := range changes {
		g := testNet(t)
		change(g)
		for _, by := range []ConstKey{ByType, ByValue} {
			if Hash(g, by) == Hash(testNet(t), by) {
				t.Errorf("%s: the hash does not change", name)
			}
		}
	}
}

func TestHashConstants(t *testing.T) {
	// The sum of two constants, which may be one.
	sum := func(a, b *Value) *Graph {
		g := &Graph{}
		g.Outputs = apply(t, g, testAdd, op.None{}, a, b).Out
		return g
	}
	c := func(v float32) *Value { return NewConst("", tensor.Scalar(v)) }
	one := c(1)
	same := func(by ConstKey, g, h *Graph, want bool) {
		t.Helper()
		if got := Hash(g, by) == Hash(h, by); got != want {
			t.Errorf("equal is %v, want %v for\n%s%s", got, want, g, h)
		}
	}
	same(ByType, sum(one, c(2)), sum(c(3), c(4)), true)
	same(ByType, sum(one, one), sum(one, c(1)), false) // code for one operand and for two
	same(ByValue, sum(one, c(2)), sum(one, c(3)), false)
	same(ByValue, sum(one, c(2)), sum(c(2), one), false)
	same(ByValue, sum(one, one), sum(one, c(1)), true)
}

// TestHashSharing: two uses of one node and two equal nodes are different structures.
func TestHashSharing(t *testing.T) {
	build := func(shared bool) *Graph {
		g := &Graph{}
		x := g.Input("x", types.Of(types.F32, 2))
		a := apply(t, g, testRelu, op.None{}, x)
		b := a
		if !shared {
			b = apply(t, g, testRelu, op.None{}, x)
		}
		g.Outputs = apply(t, g, testAdd, op.None{}, a.Out[0], b.Out[0]).Out
		return g
	}
	if Hash(build(true), ByType) == Hash(build(false), ByType) {
		t.Error("the hash does not see which values are shared")
	}
}

// TestHashOrder moves the nodes of random graphs to other topological orders.
func TestHashOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := &Graph{}
		values := []*Value{g.Input("x", types.Of(types.F32, 2)), g.Input("y", types.Of(types.F32, 2))}
		for range 20 {
			a, b := values[r.IntN(len(values))], values[r.IntN(len(values))]
			values = append(values, apply(t, g, testAdd, op.None{}, a, b).Out...)
		}
		g.Outputs = []*Value{values[len(values)-1], values[len(values)-2]}
		want := Hash(g, ByType)
		for range 5 {
			shuffleNodes(r, g)
			if err := Verify(g); err != nil {
				t.Fatal(err)
			}
			if Hash(g, ByType) != want {
				t.Fatalf("the hash depends on the order of nodes:\n%s", g)
			}
		}
	}
}

// shuffleNodes swaps neighbours that do not depend on each other.
func shuffleNodes(r *rand.Rand, g *Graph) {
	for range 200 {
		i := r.IntN(len(g.Nodes) - 1)
		a, b := g.Nodes[i], g.Nodes[i+1]
		if b.In[0].Def != a && b.In[1].Def != a {
			g.Nodes[i], g.Nodes[i+1] = b, a
		}
	}
}
