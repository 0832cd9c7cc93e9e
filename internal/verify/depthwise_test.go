package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// depthwise draws a depthwise convolution of plain data, of one to three axes and any channels, stride and multiplier, with a bias and relu behind it.
func depthwise(t *testing.T, r *rand.Rand) *graph.Graph {
	channels, times := 1+r.IntN(70), 1+r.IntN(4)/3
	a := ops.ConvAttrs{Groups: channels}
	data, kernel := []int{1 + r.IntN(3), channels}, []int{channels * times, 1}
	for range 1 + r.IntN(3) {
		k, dilation, pad := []int{1, 2, 3, 3, 5, 7}[r.IntN(6)], 1+r.IntN(4)/3, r.IntN(4)
		kernel, data = append(kernel, k), append(data, (k-1)*dilation+1+[]int{0, 1, 6, 13, 15, 30}[r.IntN(6)])
		a.Strides, a.Dilation, a.Padding = append(a.Strides, []int{1, 1, 1, 2, 3, 5}[r.IntN(6)]), append(a.Dilation, dilation), append(a.Padding, pad)
	}
	rank := len(a.Strides)
	a.Padding = slices.Concat(a.Padding, a.Padding)
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
	x := n.g.Input("x", types.Of(types.F32, data...))
	y := n.apply(ops.Conv[rank], a, x, graph.NewConst("w", random(r, types.Of(types.F32, kernel...))))
	y = n.apply(ops.Add, op.None{}, y, graph.NewConst("b", random(r, types.Of(types.F32, slices.Concat([]int{channels * times}, ones(rank))...))))
	y = n.apply(ops.Relu, op.None{}, y)
	y.Name, n.g.Outputs = "y", []*graph.Value{y}
	return n.g
}

// asDecided holds what g computes for a target to its definition, with one decision on a node or kernel, or by itself where the value is "". It reports whether there is
// anything to decide, and that value.
func asDecided(t *testing.T, r *rand.Rand, g *graph.Graph, tgt, use, of, decision, value string) bool {
	t.Helper()
	if value == "" {
		return asChosen(t, r, g, tgt, use, of, nil)
	}
	return asChosen(t, r, g, tgt, use, of, choice.Point{decision: value})
}

// asChosen is asDecided with several decisions, or none.
func asChosen(t *testing.T, r *rand.Rand, g *graph.Graph, tgt, use, of string, point choice.Point) bool {
	t.Helper()
	in := graphtest.Inputs(r, g)
	want, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	use = fmt.Sprintf("%s, %s, %v: %v", tgt, use, point, g)
	o := compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2}
	if point != nil {
		o.Choices = map[string]choice.Point{of: point}
	}
	res, err := compile.Compile(context.Background(), g, o)
	if point != nil && err != nil && (strings.Contains(err.Error(), "there is no decision") || strings.Contains(err.Error(), "has no value")) {
		return false
	}
	if err != nil {
		t.Fatalf("%s: %v", use, err)
	}
	if err := sameOutputs(res, in, want, 1, 2); err != nil {
		t.Errorf("%s: %v", use, err)
	}
	return true
}

// TestDepthwise: depthwise convolutions by channels and by pixels, whatever is chosen by itself, compute what they stand for.
func TestDepthwise(t *testing.T) {
	t.Parallel()
	cases := uint64(60)
	if testing.Short() {
		cases = 6
	}
	met := map[string]int{}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for seed := range cases {
			for _, lanes := range []string{"", "channels", "pixels"} {
				r := rand.New(rand.NewPCG(seed, 73))
				g := depthwise(t, r)
				conv := g.Nodes[0].Op.Name
				if asDecided(t, r, g, tgt, fmt.Sprintf("seed %d", seed), conv, "lanes", lanes) {
					met[lanes]++
				}
			}
		}
	}
	if met["channels"] == 0 || met["pixels"] == 0 {
		t.Errorf("compiled %v times", met)
	}
}
