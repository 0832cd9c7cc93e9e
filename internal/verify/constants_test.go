package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestConstantsAlone compiles operators whose operands are all constants, reshaped, at -O0, where nothing is folded: their
// kernels read no value of the model.
func TestConstantsAlone(t *testing.T) {
	t.Parallel()
	o := compile.Options{Target: targettest.Runnable(t, "llvm"), Workers: 2}
	for _, d := range ops.All {
		if d.Sample == nil || !implemented(d) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 91))
			attrs, in := d.Sample(r)
			g := &graph.Graph{Name: "main"}
			var vals []*tensor.Tensor
			var args []*graph.Value
			for _, ty := range in {
				vals = append(vals, random(r, ty))
				args = append(args, graph.NewConst("", vals[len(vals)-1]))
			}
			n, err := g.Apply(d, attrs, args...)
			if err != nil {
				t.Fatalf("with these values: %v", err)
			}
			want := make([]*tensor.Tensor, len(n.Out))
			for i, y := range n.Out {
				want[i] = tensor.NewOf(y.Type)
			}
			if err := d.Eval(attrs, vals, want); err != nil {
				t.Fatal(err)
			}
			flat, err := g.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{want[0].Len()}}, n.Out[0])
			if err != nil {
				t.Fatal(err)
			}
			flat.Out[0].Name = "y"
			g.Outputs = []*graph.Value{flat.Out[0]}
			got, err := run(t, g, o, 1, nil)
			if err != nil && strings.Contains(err.Error(), "depends on data, which is not supported here") {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got[0].Shape, []int{want[0].Len()}) {
				return // as many as the data have
			}
			diff, err := difference(tensor.Over(want[0].DType, []int{want[0].Len()}, want[0].Bytes()), got[0])
			if err != nil || !(diff <= tolerance(want[0].DType)) {
				t.Errorf("differs by %g: %v", diff, err)
			}
		})
	}
}

// TestSharedWeights compiles networks whose products read the same weights again and again, from one tensor and from others with the same
// elements. The package holds them once, and the results are the reference's.
func TestSharedWeights(t *testing.T) {
	t.Parallel()
	o := compile.Options{Target: targettest.Runnable(t, "llvm"), Level: 3, Workers: 2}
	r := rand.New(rand.NewPCG(5, 91))
	for range 3 {
		const steps = 5
		rows, wide := 1+r.IntN(9), 16+r.IntN(40)
		w := random(r, types.Of(types.F32, wide, wide))
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, rows, wide))
		y := x
		for i := range steps {
			mine := w
			if i%2 == 1 {
				mine = tensor.Over(w.DType, w.Shape, slices.Clone(w.Bytes()))
			}
			y = apply(t, g, ops.Tanh, op.None{}, apply(t, g, ops.Dense, op.None{}, y, graph.NewConst("", mine)).Out[0]).Out[0]
		}
		y.Name, g.Outputs = "y", []*graph.Value{y}
		in := []*tensor.Tensor{random(r, x.Type)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		res, err := compile.Compile(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Contents.Params); n != 1 {
			t.Errorf("%d constants in the package, want 1", n)
		}
		got, err := Execute(res, in, 2)
		if err != nil {
			t.Fatal(err)
		}
		if diff, err := difference(want[0], got[0]); err != nil || diff > networkTolerance {
			t.Errorf("%d rows of %d differ by %g: %v", rows, wide, diff, err)
		}
	}
}
