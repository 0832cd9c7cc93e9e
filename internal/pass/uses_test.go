package pass

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
)

// TestUses runs every pass on uses of every operator between other nodes, twice in a row where the types allow: what keeps
// its type, is undone by the next node or has axes of no or one element is no node without effect. Values stay.
func TestUses(t *testing.T) {
	samples := 20
	if testing.Short() {
		samples = 8
	}
	for _, d := range ops.All {
		if !isOrdinary(d.Name) {
			continue
		}
		kept := 0 // uses that keep the type
		for seed := range uint64(100 * samples) {
			r := rand.New(rand.NewPCG(seed, 51))
			attrs, in := d.Sample(r)
			use := graphtest.Use{Op: d, Attrs: attrs, In: in}
			switch moves := keepsType(use) && d.Fusion == op.Injective; {
			case moves && kept < samples:
				kept++
			case seed >= uint64(samples)/2:
				continue
			}
			for _, u := range append([]graphtest.Use{use}, graphtest.Small(r, d, 1)...) {
				if err := throughPasses(r, u); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, u, err)
				}
			}
		}
	}
}

// keepsType reports whether the one result of a use has the type of its first operand, and more than one element.
func keepsType(u graphtest.Use) bool {
	args := make([]op.Arg, len(u.In))
	for i, t := range u.In {
		args[i].Tensor = t
	}
	out, err := u.Op.Infer(u.Attrs, args)
	return err == nil && len(out) == 1 && out[0].Equal(u.In[0]) && out[0].Elements() > 1
}

// isOrdinary leaves out what only passes make, and only where it fits.
func isOrdinary(name string) bool {
	return name != "layout_transform" && !strings.Contains(name, "winograd")
}

func throughPasses(r *rand.Rand, u graphtest.Use) error {
	g := &graph.Graph{Name: "main"}
	if err := u.Apply(g, graphtest.Computed); err != nil {
		return err
	}
	// The same node again, on its own result.
	if y := g.Outputs[0]; len(u.In) == 1 && y.Type.Equal(u.In[0]) {
		if n, err := g.Apply(u.Op, u.Attrs, y); err == nil {
			n.Out[0].Name = "again"
			g.Outputs = append(g.Outputs, n.Out[0])
		}
	}
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, smallValues(r, v.Type))
	}
	want, err := grapheval.Eval(g, in)
	if err != nil {
		return err
	}
	for _, p := range Table {
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3}
		if err := p.Run(c); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := Verify(c); err != nil {
			return fmt.Errorf("after %s: %w", p.Name, err)
		}
		if err := sameNumbers(g, in, want); err != nil {
			return fmt.Errorf("after %s: %w\n%s\n%s", p.Name, err, before, g)
		}
	}
	return nil
}

// sameNumbers is sameValues for results that may not be numbers, and of 16 bits.
func sameNumbers(g *graph.Graph, in, want []*tensor.Tensor) error {
	got, err := grapheval.Eval(g, in)
	if err != nil {
		return err
	}
	for i, w := range want {
		if !got[i].Type().Equal(w.Type()) {
			return fmt.Errorf("output %d is %s instead of %s", i, got[i].Type(), w.Type())
		}
		allowed := 1e-4
		if w.DType.IsFloat() && w.DType.Size() == 2 {
			allowed = 0.02
		}
		for j := range w.Len() {
			a, b := w.Float(j), got[i].Float(j)
			if a == b || a != a && b != b {
				continue
			}
			if d := math.Abs(a - b); !(d <= allowed*max(1, math.Abs(a))) {
				return fmt.Errorf("element %d of output %d is %v instead of %v", j, i, b, a)
			}
		}
	}
	return nil
}
