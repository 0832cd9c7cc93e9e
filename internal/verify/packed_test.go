package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// plainProduct draws a product whose right operand is a matrix as it lies, or several, by a matrix of the network's or by weights; or a convolution of single pixels, which is
// one. Rows of the operand are any number of elements, or many times a power of two; a bias and relu follow.
func plainProduct(t *testing.T, r *rand.Rand) *graph.Graph {
	rows, depth, columns := 1+r.IntN(50), 1+r.IntN(300), 1+r.IntN(200)
	if r.IntN(2) == 0 {
		columns = 256 << r.IntN(3)
	}
	many := 1 + r.IntN(3)/2
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
	x := n.g.Input("x", types.Of(types.F32, many, depth, columns))
	var y *graph.Value
	switch r.IntN(3) {
	case 0:
		y = n.apply(ops.Matmul, ops.MatmulAttrs{}, n.g.Input("w", types.Of(types.F32, many, rows, depth)), x)
	case 1:
		y = n.apply(ops.Matmul, ops.MatmulAttrs{}, graph.NewConst("w", random(r, types.Of(types.F32, rows, depth))), x)
	default:
		a := ops.ConvAttrs{Strides: ones(1), Dilation: ones(1), Padding: []int{0, 0}, Groups: 1}
		y = n.apply(ops.Conv[1], a, x, graph.NewConst("w", random(r, types.Of(types.F32, rows, depth, 1))))
	}
	y = n.apply(ops.Add, op.None{}, y, graph.NewConst("b", random(r, types.Of(types.F32, rows, 1))))
	y = n.apply(ops.Relu, op.None{}, y)
	y.Name, n.g.Outputs = "y", []*graph.Value{y}
	return n.g
}

// TestPacked: products compute what they stand for, however many panels of a matrix as it lies are packed together, or by themselves.
func TestPacked(t *testing.T) {
	t.Parallel()
	cases := uint64(50)
	if testing.Short() {
		cases = 8
	}
	met := map[string]int{}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for seed := range cases {
			for _, panels := range []string{"", "0", "1", "2", "4"} {
				r := rand.New(rand.NewPCG(seed, 79))
				g := plainProduct(t, r)
				of := g.Nodes[0].Op
				kernel := map[*op.Def]string{ops.Matmul: "fused_nn_matmul_add_nn_relu", ops.Conv[1]: "fused_nn_conv1d_nn_relu"}[of]
				if asDecided(t, r, g, tgt, fmt.Sprintf("seed %d", seed), kernel, "packed_panels", panels) {
					met[of.Name+" "+panels]++
				}
			}
		}
	}
	for _, of := range []string{"nn.matmul", "nn.conv1d"} {
		for _, panels := range []string{"0", "1", "2", "4"} {
			if met[of+" "+panels] == 0 {
				t.Errorf("no %s with %s panels: compiled %v times", of, panels, met)
			}
		}
	}
}
