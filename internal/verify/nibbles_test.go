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
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestBlocks multiplies by constant weights in blocks, of shapes that panels, words and blocks do not divide, with all kinds of zero points and with
// something behind the product, on targets of different vectors. No product of as many columns as a vector has is computed element by element.
func TestBlocks(t *testing.T) {
	t.Parallel()
	samples := uint64(14)
	if testing.Short() {
		samples = 5
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2", "llvm -mcpu=x86-64"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2}
		for seed := range samples {
			o.Level = []int{0, 3, 3, 3}[seed%4]
			t.Run(fmt.Sprintf("%s/%d", tgt, seed), func(t *testing.T) { testBlocks(t, rand.New(rand.NewPCG(seed, 21)), o) })
		}
	}
}

func testBlocks(t *testing.T, r *rand.Rand, o compile.Options) {
	rows, depth, columns := []int{1, 1, 3, 17, 40}[r.IntN(5)], 1+r.IntN(150), 16+r.IntN(90)
	a := ops.MatmulNBitsAttrs{BlockSize: 16 << r.IntN(3)}
	count := (depth + a.BlockSize - 1) / a.BlockSize
	w := []types.DType{types.I4, types.U4, types.U4, types.I8, types.U8}[r.IntN(5)]
	zero := []types.DType{w, w, types.F32}[r.IntN(3)]
	g := &graph.Graph{Name: "main"}
	in := []*graph.Value{g.Input("x", types.Of(types.F32, rows, depth))}
	for _, c := range []types.Tensor{types.Of(w, columns, depth), types.Of(types.F32, columns, count), types.Of(zero, columns, count)}[:2+r.IntN(2)] {
		in = append(in, graph.NewConst("", graphtest.Random(r, c, graphtest.Moderate)))
	}
	n, err := g.Apply(ops.MatmulNBits, a, in...)
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		if n, err = g.Apply(ops.Relu, op.None{}, n.Out[0]); err != nil {
			t.Fatal(err)
		}
	}
	n.Out[0].Name = "y"
	g.Outputs = slices.Clone(n.Out)
	x := []*tensor.Tensor{graphtest.Random(r, in[0].Type, graphtest.Moderate)}
	res, want := withReference(t, g, x, o)
	for _, rule := range rulesOf(res, ops.MatmulNBits) {
		if o.Level > 0 && rule != "tile" {
			t.Errorf("left to rule %s", rule)
		}
	}
	if err := outputsWithin(1e-5, res, x, want, 1, 3); err != nil {
		t.Error(err)
	}
}
