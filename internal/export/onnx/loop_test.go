package onnx

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
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
			if string(got[i].Bytes()) != string(want[i].Bytes()) {
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

// TestPartsRefused: ONNX has no form for loops in parts.
func TestPartsRefused(t *testing.T) {
	g, err := graph.Parse(`graph main(%h: float32[4,6]) {
	%y: float32[4,6] = loop(%h) {trips=3, carried=1, sequences=0, parts=2} origin "loop"
	  graph body(%h: float32[2,6]) { %r: float32[2,6] = tanh(%h) return %r }
	return %y }`, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(io.Discard, g, Options{}); err == nil || !strings.Contains(err.Error(), "in parts of their rows") {
		t.Errorf("error: %v", err)
	}
}
