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
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestComputedZeroPoints multiplies and convolves data whose zero points are computed, as dynamic quantisation does, by
// weights of both types with any zero point: random shapes, to the byte, on targets with different dot products. No product is left to
// a rule that computes elements one by one.
func TestComputedZeroPoints(t *testing.T) {
	t.Parallel()
	samples := uint64(14)
	if testing.Short() {
		samples = 5
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2", "llvm -mcpu=x86-64"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 43))
			o.Level = []int{0, 3, 3}[r.IntN(3)]
			data, weight := []types.DType{types.U8, types.I8}[r.IntN(2)], []types.DType{types.U8, types.I8}[r.IntN(2)]
			p := zeroPoints{conv: r.IntN(3) == 0, data: data, weight: weight}
			t.Run(fmt.Sprintf("%s/%d, conv %v, %s, %s, -O%d", tgt, seed, p.conv, data, weight, o.Level), func(t *testing.T) { p.test(t, r, o) })
		}
	}
}

type zeroPoints struct {
	conv         bool
	data, weight types.DType
}

func (p zeroPoints) test(t *testing.T, r *rand.Rand, o compile.Options) {
	m, k, n := 1+r.IntN(20), 1+r.IntN(96), 16+r.IntN(60)
	shape, wshape, zshape := []int{2, m, k}[r.IntN(2):], []int{k, n}, [][]int{nil, {1}, {m, 1}}[r.IntN(3)]
	d, attrs := ops.QnnMatmul, any(op.None{})
	wzero := [][]int{nil, {n}}[r.IntN(2)]
	if p.conv {
		c := []int{1, 2, 3, 4, 6, 16, 19}[r.IntN(7)]
		shape, wshape, zshape = []int{1, c, 3 + m, 5 + m}, []int{n, c, 3, 3}, nil
		d, attrs = ops.QnnConv2d, ops.ConvAttrs{Strides: []int{1, 1 + r.IntN(2)}, Padding: []int{1, 0, 2, 1}, Dilation: []int{1, 1}, Groups: 1}
	}
	w, wz := allBytes(r, types.Of(p.weight, wshape...)), allBytes(r, types.Of(p.weight, wzero...))
	if p.conv { // int8 holds the weights
		for i := range wz.Len() {
			wz.SetInt(i, map[types.DType]int64{types.U8: 128}[p.weight])
		}
	}
	g := &graph.Graph{Name: "main"}
	x, z := g.Input("x", types.Of(p.data, shape...)), g.Input("z", types.Of(p.data, zshape...))
	node, err := g.Apply(d, attrs, x, z, graph.NewConst("w", w), graph.NewConst("wz", wz))
	if err != nil {
		t.Fatal(err)
	}
	node.Out[0].Name = "y"
	g.Outputs = slices.Clone(node.Out)
	in := []*tensor.Tensor{allBytes(r, x.Type), allBytes(r, z.Type)}
	res, want := withReference(t, g, in, o)
	for _, rule := range rulesOf(res, d) {
		if o.Level > 0 && rule != "tile" && rule != "matrix" {
			t.Errorf("left to rule %s", rule)
		}
	}
	if err := outputsWithin(0, res, in, want, 1, 3); err != nil {
		t.Error(err)
	}
}

// allBytes fills a tensor of a type of one byte with all of its numbers.
func allBytes(r *rand.Rand, t types.Tensor) *tensor.Tensor {
	x := tensor.NewOf(t)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(r.IntN(256))
	}
	return x
}
