package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// drawUnfilled draws a convolution whose output channels do not fill vectors, behind another one or not, with ReLU and, where shapes allow
// it, a depthwise convolution behind it.
func drawUnfilled(t *testing.T, r *rand.Rand) (*graph.Graph, string) {
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
	rank := 1 + r.IntN(2)
	conv := func(x *graph.Value, k, out, groups int) *graph.Value {
		pad := slices.Repeat([]int{r.IntN(k + 1)}, 2*rank)
		a := ops.ConvAttrs{Strides: ones(rank), Padding: pad, Dilation: ones(rank), Groups: groups}
		w := types.Of(types.F32, slices.Concat([]int{out, x.Type.Shape[1] / groups}, slices.Repeat([]int{k}, rank))...)
		y := n.apply(ops.Conv[rank], a, x, graph.NewConst("w", random(r, w)))
		return n.apply(ops.Relu, op.None{}, y)
	}
	shape := []int{1 + r.IntN(2), []int{3, 8, 20, 37, 56}[r.IntN(5)]}
	for range rank {
		shape = append(shape, []int{7, 15, 29, 33, 41, 65}[r.IntN(6)])
	}
	x := n.g.Input("x", types.Of(types.F32, shape...))
	if r.IntN(2) == 0 {
		x = conv(x, 1, 32, 1)
	}
	out, k := []int{9, 10, 12, 17, 21, 53}[r.IntN(6)], []int{1, 3, 7}[r.IntN(3)]
	text := fmt.Sprintf("%v > %d by %d", x.Type.Shape, out, k)
	x = conv(x, k, out, 1)
	if r.IntN(3) == 0 {
		x = conv(x, 3, out, out)
		text += ", depthwise"
	}
	x.Name, n.g.Outputs = "y", []*graph.Value{x}
	return n.g, text
}

// TestUnfilledChannels: convolutions whose output channels do not fill vectors compute what they stand for, by vectors of channels and of
// pixels, of three widths. Both ways are taken, and before a depthwise convolution, which reads channels in blocks, only that of channels.
func TestUnfilledChannels(t *testing.T) {
	t.Parallel()
	cases := uint64(40)
	if testing.Short() {
		cases = 12
	}
	taken := map[string]int{}
	for seed := range cases {
		r := rand.New(rand.NewPCG(seed, 71))
		g, text := drawUnfilled(t, r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		tgt := []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"}[seed%3]
		use := fmt.Sprintf("%s, seed %d: %s", tgt, seed, text)
		res, err := compile.Compile(t.Context(), g, compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2})
		if err != nil {
			t.Fatalf("%s: %v", use, err)
		}
		if err := sameOutputs(res, in, want, 1, 2); err != nil {
			t.Errorf("%s: %v", use, err)
		}
		for _, s := range res.Contents.Manifest.Steps {
			for _, p := range s.Graph {
				lanes := p["lanes"]
				taken[lanes]++
				if lanes == "pixels" && strings.HasSuffix(text, "depthwise") {
					t.Errorf("%s: vectors of pixels", use)
				}
			}
		}
	}
	if taken["pixels"] == 0 || taken["channels"] == 0 {
		t.Errorf("lanes: %v", taken)
	}
}
