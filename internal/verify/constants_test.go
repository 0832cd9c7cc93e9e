package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
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
			diff, err := difference(&tensor.Tensor{DType: want[0].DType, Shape: []int{want[0].Len()}, Data: want[0].Data}, got[0])
			if err != nil || !(diff <= tolerance(want[0].DType)) {
				t.Errorf("differs by %g: %v", diff, err)
			}
		})
	}
}
