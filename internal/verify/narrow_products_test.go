package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestNarrowProducts multiplies by constant weights with fewer columns than a vector has lanes, as classifiers of a few classes do:
// of many rows, sums are lanes of packed weights; of a single row, or for a single column, vectors along the sum.
func TestNarrowProducts(t *testing.T) {
	t.Parallel()
	for _, tgt := range []string{"llvm -mcpu=x86-64-v4", "llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		target := targettest.Runnable(t, tgt)
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 71))
			rows, depth, columns := []int{1, 30 + r.IntN(60)}[r.IntN(2)], 100+r.IntN(300), 1+r.IntN(target.Lanes(32)-1)
			t.Run(fmt.Sprintf("%s/%dx%dx%d", tgt, rows, depth, columns), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of(types.F32, rows, depth))
				w := graph.NewConst("w", random(r, types.Of(types.F32, columns, depth)))
				y := apply(t, g, ops.Relu, op.None{}, apply(t, g, ops.Dense, op.None{}, x, w).Out[0]).Out[0]
				y.Name = "y"
				g.Outputs = []*graph.Value{y}
				in := []*tensor.Tensor{random(r, x.Type)}
				res, want := withReference(t, g, in, compile.Options{Target: target, Level: 3, Workers: 2})
				rule := "rows"
				if rows > 1 && 2*columns > target.Lanes(32) {
					rule = "tile"
				}
				if rules := rulesOf(res, ops.Dense); (rows == 1 || columns == 1 || rule == "tile") && !slices.Equal(rules, []string{rule}) {
					t.Errorf("by rules %v, not %s", rules, rule)
				}
				if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
