package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// longProduct draws a product whose sums are made in parts, by weights or by those of a convolution, of which panels may be put together to blocks: rows of any number, and
// sums that parts do not divide. Taps of a convolution have strides, so that no transform computes it. A bias and relu follow.
func longProduct(t *testing.T, r *rand.Rand) *graph.Graph {
	rows, depth, columns := 2+r.IntN(90), 200+r.IntN(900), 64*(1+r.IntN(6))
	if r.IntN(2) == 0 {
		depth = 64 * (4 + r.IntN(12)) // whose parts are vectors, so that rows can be packed
	}
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
	var y *graph.Value
	if r.IntN(3) > 0 {
		y = n.apply(ops.Dense, op.None{}, n.g.Input("x", types.Of(types.F32, rows, depth)), graph.NewConst("w", random(r, types.Of(types.F32, columns, depth))))
		y = n.apply(ops.Add, op.None{}, y, graph.NewConst("b", random(r, types.Of(types.F32, columns))))
	} else {
		width, taps, pad := 3+r.IntN(8), 1+r.IntN(3), r.IntN(2)
		a := ops.ConvAttrs{Strides: []int{taps, taps}, Dilation: ones(2), Padding: []int{pad, pad, pad, pad}, Groups: 1}
		y = n.apply(ops.Conv2d, a, n.g.Input("x", types.Of(types.F32, 1, depth/taps, 3+rows/width, width)), graph.NewConst("w", random(r, types.Of(types.F32, columns, depth/taps, taps, taps))))
		y = n.apply(ops.Add, op.None{}, y, graph.NewConst("b", random(r, types.Of(types.F32, columns, 1, 1))))
	}
	y = n.apply(ops.Relu, op.None{}, y)
	y.Name, n.g.Outputs = "y", []*graph.Value{y}
	return n.g
}

// TestPanelBlocks: long products compute what they stand for, in blocks of any number of panels, with rows as they lie and packed.
func TestPanelBlocks(t *testing.T) {
	t.Parallel()
	cases := uint64(20)
	if testing.Short() {
		cases = 6
	}
	met := map[string]int{}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for seed := range cases {
			for _, panels := range []string{"2", "3", "4", "6"} {
				for _, packed := range []string{"", "off", "on"} {
					r := rand.New(rand.NewPCG(seed, 83))
					g := longProduct(t, r)
					of := g.Nodes[0].Op
					kernel := map[*op.Def]string{ops.Dense: "fused_nn_dense_add_nn_relu", ops.Conv2d: "fused_nn_conv2d_nn_relu"}[of]
					point := choice.Point{"block_panels": panels}
					if packed != "" {
						point["packed_rows"] = packed
					}
					if asChosen(t, r, g, tgt, fmt.Sprintf("seed %d", seed), kernel, point) {
						met[fmt.Sprintf("%s %s %s", of.Name, panels, packed)]++
					}
				}
			}
		}
	}
	for _, want := range []string{"nn.dense 2 on", "nn.dense 2 off", "nn.dense 3 on", "nn.dense 4 on", "nn.conv2d 2 ", "nn.conv2d 4 "} {
		if met[want] == 0 {
			t.Errorf("no %s: compiled %v times", want, met)
		}
	}
}
