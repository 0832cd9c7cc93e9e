package winograd

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestWeight: any number of goroutines gives the bytes of the operator's own evaluation.
func TestWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, tile := range []int{2, 4, 6} {
		w := tensor.New(types.F32, 5, 7, 9-tile, 1+2*r.IntN((8-tile)/2+1))
		for i := range w.Len() {
			w.SetFloat(i, r.NormFloat64())
		}
		for _, workers := range []int{0, 1, 2, 3, 8, 100} {
			got, err := transformedWeight(graph.NewConst("w", w), ops.WinogradInputAttrs{TileSize: tile, KernelSize: w.Shape[2:], Strides: []int{1, 1}, Dilation: []int{1, 1}}, workers)
			if err != nil {
				t.Fatal(err)
			}
			want := tensor.NewOf(got.Type)
			if err := ops.WinogradWeight.Eval(ops.WinogradWeightAttrs{TileSize: tile}, []*tensor.Tensor{w}, []*tensor.Tensor{want}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Const.Bytes(), want.Bytes()) {
				t.Errorf("tile %d, %d workers: not what the operator gives", tile, workers)
			}
		}
	}
}
