package winograd

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestWeight compares the fast transform of weights with the operator's own evaluation, to the bit but for the
// order of sums.
func TestWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	w := tensor.New(types.F32, 5, 7, 3, 3)
	for i := range w.Len() {
		w.SetFloat(i, r.NormFloat64())
	}
	for _, tile := range []int{2, 4, 6} {
		got, err := transformedWeight(graph.NewConst("w", w), tile)
		if err != nil {
			t.Fatal(err)
		}
		want := tensor.NewOf(got.Type)
		if err := ops.WinogradWeight.Eval(ops.WinogradWeightAttrs{TileSize: tile}, []*tensor.Tensor{w}, []*tensor.Tensor{want}); err != nil {
			t.Fatal(err)
		}
		for i := range want.Len() {
			if d := got.Const.Float(i) - want.Float(i); d > 1e-6 || d < -1e-6 {
				t.Fatalf("tile %d: element %d is %g instead of %g", tile, i, got.Const.Float(i), want.Float(i))
			}
		}
	}
}
