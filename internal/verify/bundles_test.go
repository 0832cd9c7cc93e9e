package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestBundles transposes axes around an innermost one of a few elements, such as coordinates, boxes or colours: squares of such
// bundles are moved, and no bundle alone.
func TestBundles(t *testing.T) {
	t.Parallel()
	samples := uint64(20)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2, Level: 3, Code: []string{"tir"}}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 62))
			d := []types.DType{types.F32, types.F32, types.I8, types.I32}[seed%4]
			shape, axes := []int{1 + r.IntN(3), 8 + r.IntN(90), 8 + r.IntN(40), 2 + r.IntN(3)}, []int{0, 2, 1, 3}
			if r.IntN(3) == 0 {
				axes = []int{2, 0, 1, 3}
			}
			t.Run(fmt.Sprintf("%s/%d, %s%v by %v", tgt, seed, d, shape, axes), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of(d, shape...))
				y, err := g.Apply(ops.Transpose, ops.TransposeAttrs{Axes: axes}, x)
				if err != nil {
					t.Fatal(err)
				}
				y.Out[0].Name = "y"
				g.Outputs = slices.Clone(y.Out)
				in := []*tensor.Tensor{random(r, x.Type)}
				res, want := withReference(t, g, in, o)
				if tir := res.Code["tir"]; !strings.Contains(tir, "pointwise, transpose ") {
					t.Errorf("no squares:\n%s", tir)
				}
				if err := sameOutputs(res, in, want, 1, 3); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
