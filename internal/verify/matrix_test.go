package verify

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/cpu"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/amxtest"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/crosstest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// matrixTargets have registers of matrices, and else no more than this machine.
func matrixTargets(t *testing.T) (list []*target.Target) {
	t.Helper()
	m, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	const v3, v4 = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -mattr=", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512vnni,"
	for _, name := range []string{v3, v4} {
		if tgt := targettest.Resolve(t, name+"+sse2"); m.Arch == tgt.Arch && m.Missing(tgt.Features) == nil {
			list = append(list, targettest.Resolve(t, name+"+amx-int8"))
		}
	}
	if list == nil {
		t.Skip("this machine lacks AVX2")
	}
	return list
}

// onMatrices executes modules for a target in a process that emulates the instructions of matrices.
func onMatrices(t *testing.T, tgt *target.Target) execute {
	t.Helper()
	p, err := crosstest.BuildHere(cctest.Compiler(t), amxtest.Build(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := p.On(tgt, t.TempDir())
	t.Cleanup(func() { r.Close() })
	return func(res *compile.Result, in []*tensor.Tensor, workers int) ([]*tensor.Tensor, error) {
		res.Contents.Manifest.MaxWorkers = 0
		return r.Run(&res.Contents, in, workers)
	}
}

// TestMatrixProducts multiplies bytes of random shapes by registers of matrices, with what follows in the same kernel, to the bit.
func TestMatrixProducts(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range matrixTargets(t) {
		run := onMatrices(t, tgt)
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 71))
			m, k, n := 1+r.IntN(100), 1+r.IntN(360), 1+r.IntN(100)
			shape := [][]int{{m, k}, {1, m, k}, {2, m, k}, {2, 3, 1 + m/6, k}}[r.IntN(4)]
			panel := fmt.Sprint(1 + r.IntN(2))
			if n <= 16 {
				panel = "1"
			}
			name := fmt.Sprintf("%s, seed %d: %v by %d, panel %s", tgt, seed, shape, n, panel)
			g := &graph.Graph{Name: "main"}
			apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
				node, err := g.Apply(d, attrs, in...)
				if err != nil {
					t.Fatal(err)
				}
				node.Origin = []string{d.Name}
				return node.Out[0]
			}
			zero := func(d types.DType) *graph.Value { return graph.NewConst("", tensor.New(d)) }
			x := g.Input("x", types.Of(types.U8, shape...))
			y := apply(ops.QnnMatmul, op.None{}, x, zero(types.U8), graph.NewConst("w", allBytes(r, types.Of(types.I8, k, n))), zero(types.I8))
			bias := tensor.New(types.I32, n)
			for i := range n {
				bias.SetInt(i, int64(r.IntN(2001)-1000))
			}
			y = apply(ops.Add, op.None{}, y, graph.NewConst("b", bias))
			if r.IntN(2) == 0 {
				y = apply(ops.Add, op.None{}, y, g.Input("z", y.Type))
			}
			y.Name = "y"
			g.Outputs = []*graph.Value{y}
			in := []*tensor.Tensor{allBytes(r, x.Type)}
			for _, v := range g.Inputs[1:] {
				z := tensor.NewOf(v.Type)
				for i := range z.Len() {
					z.SetInt(i, int64(r.IntN(1<<20)))
				}
				in = append(in, z)
			}
			o := compile.Options{Target: tgt, Level: 3, Workers: 2, Choices: map[string]choice.Point{ops.QnnMatmul.Name: {"algorithm": impl.Matrix, "panel": panel}}}
			res, want := withReference(t, g, in, o)
			if rules := rulesOf(res, ops.QnnMatmul); !slices.Equal(rules, []string{impl.Matrix}) {
				t.Errorf("%s: rules %v", name, rules)
			}
			for _, workers := range []int{1, 3} {
				got, err := run(res, in, workers)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff, err := difference(want[0], got[0]); err != nil || diff != 0 {
					t.Errorf("%s, %d workers: it differs by %v: %v", name, workers, diff, err)
				}
			}
		}
	}
}

// TestMatrixLayers is TestQuantizedLayers by registers of matrices, with a few convolutions more: what is left over of lines and channels,
// strides, and several pieces of data.
func TestMatrixLayers(t *testing.T) {
	t.Parallel()
	u, s := types.U8, types.I8
	layers := append(quantizedLayers(),
		quantizedLayer{64, 64, 14, 3, 1, 1, 1, u, s, 0, 0, 0},
		quantizedLayer{128, 96, 9, 1, 1, 0, 1, u, s, 7, 0, 0},
		quantizedLayer{64, 128, 11, 1, 2, 0, 1, u, s, 0, 0, 0},
		quantizedLayer{3, 64, 40, 7, 2, 3, 1, u, s, 0, 0, 0},
		quantizedLayer{100, 40, 8, 3, 2, 1, 1, s, s, 3, 0, 0},
	)
	for _, tgt := range matrixTargets(t) {
		run := onMatrices(t, tgt)
		for i, l := range layers {
			l.test(t, uint64(i), fmt.Sprintf("%s %+v", tgt, l), compile.Options{Target: tgt}, run)
		}
	}
}

// TestMatrixLoops reads the code: the sums of a block stay in their registers, and four products of its inner loop need at most five loads,
// which take half the time that products do.
func TestMatrixLoops(t *testing.T) {
	t.Parallel()
	for i, l := range []quantizedLayer{
		{256, 64, 16, 1, 1, 0, 1, types.U8, types.I8, 0, 0, 0},
		{64, 64, 32, 3, 1, 1, 1, types.U8, types.I8, 0, 0, 0},
		{512, 512, 8, 3, 1, 1, 1, types.U8, types.I8, 0, 0, 0},
		{64, 128, 32, 3, 2, 1, 1, types.U8, types.I8, 0, 0, 0},
	} {
		g := l.graph(t, rand.New(rand.NewPCG(uint64(i), 7)))
		res, err := compile.Compile(t.Context(), g, compile.Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"), Level: 3, Workers: 1, Code: []string{"asm"}})
		if err != nil {
			t.Fatal(err)
		}
		blocks := 0
		for _, block := range regexp.MustCompile(`(?m)^\.LBB`).Split(res.Code["asm"], -1) {
			loads, products := strings.Count(block, "tileloadd"), strings.Count(block, "tdpbusd")
			if products < 4 {
				continue // rows that are left over
			}
			blocks++
			if 4*loads > 5*products {
				t.Errorf("%+v: %d loads for %d products:\n%s", l, loads, products, block)
			}
			if strings.Contains(block, "tilestored") && strings.Index(block, "tilestored") < strings.LastIndex(block, "tdpbusd") || strings.Contains(block, "tilezero") && strings.LastIndex(block, "tilezero") > strings.Index(block, "tdpbusd") {
				t.Errorf("%+v: sums leave their registers between products:\n%s", l, block)
			}
		}
		if blocks == 0 {
			t.Errorf("%+v: no products of tiles", l)
		}
	}
}
