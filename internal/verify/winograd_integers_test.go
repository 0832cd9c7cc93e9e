package verify

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestWinogradIntegers: convolutions of bytes by Winograd's algorithm, where products of int16 are added by the two, have every bit of
// what their definition gives: also of the greatest sums, and with zero points, for whole and partial tiles, paddings and images. The
// target of AVX2 has no dot products of bytes, others are narrower.
func TestWinogradIntegers(t *testing.T) {
	t.Parallel()
	targets := []*target.Target{
		targettest.Runnable(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2"),
		targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2"),
	}
	for i, c := range []winogradCase{
		{true, 2, 1, 32, 64, 20, 24, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 2, 1, 32, 64, 20, 24, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 2, 2, 16, 48, 33, 29, []int{1, 2, 0, 1}, nil, nil, nil},
		{false, 2, 3, 48, 16, 7, 15, []int{0, 2, 1, 0}, nil, nil, nil},
		{false, 2, 1, 512, 32, 7, 7, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 2, 1, 1792, 16, 20, 14, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 2, 1, 32, 64, 40, 45, []int{2, 2, 1, 2}, []int{5, 5}, nil, []int{2, 2}},
		{false, 2, 2, 16, 32, 20, 13, []int{1, 2, 1, 0}, []int{3, 6}, nil, []int{1, 2}},
	} {
		for _, tgt := range targets {
			for _, greatest := range []bool{false, true} {
				t.Run(fmt.Sprintf("%+v/%v/%s", c, greatest, tgt.CPU), func(t *testing.T) {
					testWinogradIntegers(t, rand.New(rand.NewPCG(uint64(i), 7)), c, tgt, greatest)
				})
			}
		}
	}
}

func testWinogradIntegers(t *testing.T, r *rand.Rand, c winogradCase, tgt *target.Target, greatest bool) {
	bytesOf := func(dt types.DType, all int64, shape ...int) *tensor.Tensor {
		x := tensor.New(dt, shape...)
		for i := range x.Len() {
			x.SetInt(i, all)
			if !greatest {
				x.SetInt(i, int64(r.IntN(256)))
			}
		}
		return x
	}
	zero := int64(0)
	if !greatest {
		zero = int64(r.IntN(256))
	}
	x := bytesOf(types.U8, 255, c.images, c.in, c.height, c.width)
	w := bytesOf(types.I8, -128, c.out, c.in, c.ofKernel()[0], c.ofKernel()[1])
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
	constant := func(dt types.DType, v int64) *graph.Value {
		z := tensor.New(dt)
		z.SetInt(0, v)
		return graph.NewConst("", z)
	}
	_, attrs := c.conv()
	y := n.apply(ops.QnnConv2d, attrs, n.g.Input("x", x.Type()), constant(types.U8, zero), graph.NewConst("w", w), constant(types.I8, 0))
	y = n.apply(ops.Add, op.None{}, y, graph.NewConst("b", bytesOf(types.I32, 1000, c.out, 1, 1)))
	y.Name = "y"
	n.g.Outputs = []*graph.Value{y}
	want, err := grapheval.Eval(n.g, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	way := "F(2x2)"
	if c.fused {
		way += " by blocks"
	}
	o := compile.Options{Target: tgt, Level: 3, Workers: 2, Choices: map[string]choice.Point{ops.QnnConv2d.Name: {"algorithm": way}}}
	res, err := compile.Compile(t.Context(), n.g, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "winograd" }) {
		t.Errorf("no kernel by the Winograd loops: %+v", res.Contents.Manifest.Steps)
	}
	for workers := 1; workers <= 3; workers++ {
		got, err := Execute(res, []*tensor.Tensor{x}, workers)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want[0].Bytes(), got[0].Bytes()) {
			t.Errorf("%d workers: other integers than by definition", workers)
		}
	}
}
