package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestStatisticsBehindConvolutions: softmax along every axis of small maps behind a depthwise convolution, whose elements
// lie in vectors or not, for vectors of three widths.
func TestStatisticsBehindConvolutions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 9))
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		o := compile.Options{Target: targettest.Resolve(t, tgt), Level: 3, Workers: 2}
		for _, shape := range [][]int{{1, 8, 2, 3}, {1, 8, 2, 2}, {1, 16, 3, 5}, {2, 3, 4, 2}} {
			for axis := 1; axis < 4; axis++ {
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of(types.F32, shape...))
				w := graph.NewConst("w", random(r, types.Of(types.F32, shape[1], 1, 3, 3)))
				conv, err := g.Apply(ops.Conv2d, ops.ConvAttrs{Strides: []int{1, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: shape[1]}, x, w)
				if err != nil {
					t.Fatal(err)
				}
				n, err := g.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: axis}, conv.Out[0])
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name = "y"
				g.Outputs = []*graph.Value{n.Out[0]}
				in := []*tensor.Tensor{random(r, x.Type)}
				want, err := grapheval.Eval(g, in)
				if err != nil {
					t.Fatal(err)
				}
				use := fmt.Sprintf("%s: %v along axis %d", tgt, shape, axis)
				got, err := run(t, g, o, 1, in)
				if err != nil {
					t.Errorf("%s: %v", use, err)
					continue
				}
				if diff, err := difference(want[0], got[0]); err != nil || diff > networkTolerance {
					t.Errorf("%s: differs by %g: %v", use, diff, err)
				}
			}
		}
	}
}
