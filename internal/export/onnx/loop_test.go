package onnx

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// TestLoops writes random networks with loops. What is imported computes the same bits, short loops one iteration after the
// other, and what is imported once comes back as it is.
func TestLoops(t *testing.T) {
	loops := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 63))
		g := graphtest.Loops(r)
		in := graphtest.Inputs(r, g)
		want, err := evaltest.Actual(g, in)
		if err != nil {
			t.Fatal(err)
		}
		first := decode(t, encode(t, g))
		got, err := evaltest.Actual(first, in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if string(got[i].Data) != string(want[i].Data) {
				t.Fatalf("seed %d: output %d is another\n%s\n%s", seed, i, g, first)
			}
		}
		again := decode(t, encode(t, first))
		if graph.Hash(first, graph.ByValue) != graph.Hash(again, graph.ByValue) {
			t.Errorf("seed %d: imported again it is another graph\n%s\n%s", seed, first, again)
		}
		for _, n := range first.Nodes {
			if n.Op == graph.Loop {
				loops++
			}
		}
	}
	if loops < 20 {
		t.Errorf("%d loops stayed loops", loops)
	}
}
