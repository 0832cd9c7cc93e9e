package pass

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestSeparateWindows folds windows of all kinds axis by axis, whatever that costs.
func TestSeparateWindows(t *testing.T) {
	separated := map[bool]int{} // resizes
	for seed := range uint64(1800) {
		r := rand.New(rand.NewPCG(seed, 97))
		rank := 2 + r.IntN(2)
		d := []*op.Def{ops.MaxPool[rank], ops.AvgPool[rank], ops.Resize}[r.IntN(3)]
		attrs, of := d.Sample(r)
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(d, attrs, g.Input("x", of[0]))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		in := []*tensor.Tensor{graphtest.Random(r, of[0], graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"windows": "by axis"} }}
		runIn(t, "SeparateWindows", c)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		if len(g.Nodes) > 1 {
			separated[d == ops.Resize]++
		}
	}
	if separated[false] < 400 || separated[true] < 20 {
		t.Errorf("windows of poolings were folded axis by axis in %d cases, of resizes in %d", separated[false], separated[true])
	}
}

// TestSeparateResizes: interpolations of planes, which are looked up in, become one along each axis, and a kernel each; along one axis they stay as
// they are.
func TestSeparateResizes(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 12))
		small, large := []int{1, 4, 20 + r.IntN(30), 20 + r.IntN(30)}, []int{1, 4, 50 + r.IntN(30), 50 + r.IntN(30)}
		from, to := small, large
		if r.IntN(2) == 0 {
			from, to = large, small
		}
		want := 2
		if k := r.IntN(4); k >= 2 {
			to[k], want = from[k], 1
		}
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(ops.Resize, ops.ResizeAttrs{Method: "linear", Sizes: to, CoordinateTransformationMode: []string{"half_pixel", "align_corners", "asymmetric"}[r.IntN(3)]},
			g.Input("x", types.Of(types.F32, from...)))
		if err != nil {
			t.Fatal(err)
		}
		g.Outputs = []*graph.Value{n.Out[0]}
		c := &Context{Graph: g, Target: machine, Level: 3}
		runIn(t, "SeparateWindows", c)
		runIn(t, "FuseOps", c)
		if len(g.Nodes) != want {
			t.Errorf("%v to %v: %d kernels instead of %d\n%s", from, to, len(g.Nodes), want, g)
		}
	}
}

// TestGatheredWindows: where a pooling has to gather the vectors of its windows, smaller windows are folded axis by axis than behind a
// convolution, whose channels are vectors.
func TestGatheredWindows(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		side, channels, plane := 3+r.IntN(3), 8*(1+r.IntN(4)), 40+r.IntN(20)
		stride := side - 1
		for _, conv := range []bool{false, true} {
			g := &graph.Graph{Name: "main"}
			x := g.Input("x", types.Of(types.F32, 1, channels, plane, plane))
			var err error
			if conv {
				n, e := g.Apply(ops.Conv2d, ops.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: make([]int, 4), Groups: 1}, x, g.Input("w", types.Of(types.F32, channels, channels, 1, 1)))
				if err = e; err == nil {
					x = n.Out[0]
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			n, err := g.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{side, side}, Strides: []int{stride, stride}, Padding: make([]int, 4), Dilation: []int{1, 1}}, x)
			if err != nil {
				t.Fatal(err)
			}
			g.Outputs = []*graph.Value{n.Out[0]}
			before := len(g.Nodes)
			runIn(t, "SeparateWindows", &Context{Graph: g, Target: machine, Level: 3})
			if apart := len(g.Nodes) > before; apart == conv {
				t.Errorf("%d x %d with stride %d over %d x %d x %d, behind a convolution: %v: folded axis by axis: %v", side, side, stride, channels, plane, plane, conv, apart)
			}
		}
	}
}
