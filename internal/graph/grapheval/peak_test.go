package grapheval

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
)

// TestPeak compares the peak with what an evaluation holds.
func TestPeak(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := graphtest.New(r)
		inputs := graphtest.Inputs(r, g)
		held := map[*tensor.Tensor]int{}
		total := func() (bytes int64) {
			for x, n := range held {
				if n > 0 {
					bytes += int64(len(x.Bytes()))
				}
			}
			return bytes
		}
		left := readers(g)
		of := map[*graph.Value]*tensor.Tensor{}
		for i, v := range g.Inputs {
			held[inputs[i]], of[v] = 1, inputs[i]
		}
		most := total()
		_, err := Watch(g, inputs, func(n *graph.Node, in, out []*tensor.Tensor) error {
			for i, v := range n.Out {
				of[v] = out[i]
				held[out[i]] = 1
			}
			most = max(most, total())
			for i, v := range n.Out {
				if left[v] == 0 {
					delete(held, out[i])
				}
			}
			for _, v := range n.In {
				if left[v]--; left[v] == 0 && v.Const == nil {
					delete(held, of[v])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, at := Peak(g); got != most || at == nil {
			t.Errorf("seed %d: %d at %v, the evaluation holds %d", seed, got, at, most)
		}
	}
}
