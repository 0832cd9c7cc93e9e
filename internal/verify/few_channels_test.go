package verify

import (
	"context"
	"fmt"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestFewChannels: a convolution to less channels than a vector has, which reads those of another convolution, is computed in
// tiles for vectors of every width.
func TestFewChannels(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"x86-64-v2", "x86-64-v3", "x86-64-v4"} {
		for _, channels := range []int{1, 2, 3} {
			g := &graph.Graph{Name: "main"}
			x := g.Input("x", types.Of(types.F32, 1, 3, 30, 40))
			for _, w := range [][]int{{32, 3, 3, 3}, {channels, 32, 7, 7}} {
				pad := w[2] / 2
				a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1}, Groups: 1}
				n, err := g.Apply(ops.Conv2d, a, x, graph.NewConst("w", tensor.New(types.F32, w...)))
				if err != nil {
					t.Fatal(err)
				}
				x = n.Out[0]
			}
			x.Name, g.Outputs = "y", []*graph.Value{x}
			res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, fmt.Sprintf("llvm -mcpu=%s", cpu)), Level: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range res.Contents.Manifest.Steps {
				if s.Multiply != "" && s.Rule != "tile" {
					t.Errorf("%d channels on %s: %s by rule %s", channels, cpu, s.Name, s.Rule)
				}
			}
		}
	}
}
