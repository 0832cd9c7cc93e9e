package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestOddEnds reduces planes whose elements do not divide into vectors, and transposes matrices with a side that is shorter than one:
// what is left over is the only part under a condition, and no quotient is part of that.
func TestOddEnds(t *testing.T) {
	t.Parallel()
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2, Level: 3, Code: []string{"tir"}}
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 63))
			shape := []int{1 + r.IntN(3), 2 + r.IntN(5), 7 + 2*r.IntN(15), 9 + 2*r.IntN(15)}
			var d *op.Def
			var attrs any
			squares := seed%3 == 2
			switch seed % 3 {
			case 0:
				d, attrs = ops.Max, ops.ReduceAttrs{Axis: []int{0, 2, 3}}
			case 1:
				d, attrs = ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}}
			case 2:
				shape = []int{40 + r.IntN(90), []int{5, 6, 7}[r.IntN(3)]}
				d, attrs = ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0}}
			}
			t.Run(fmt.Sprintf("%s/%s %v", tgt, d.Name, shape), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of(types.F32, shape...))
				y, err := g.Apply(d, attrs, x)
				if err != nil {
					t.Fatal(err)
				}
				y.Out[0].Name = "y"
				g.Outputs = slices.Clone(y.Out)
				in := []*tensor.Tensor{random(r, x.Type)}
				res, want := withReference(t, g, in, o)
				tir := res.Code["tir"]
				if strings.Contains(tir, "if (floordiv(") || squares != strings.Contains(tir, "pointwise, transpose ") {
					t.Errorf("conditions on quotients, or no squares:\n%s", tir)
				}
				if err := sameOutputs(res, in, want, 1, 3); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
