package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// A quantizedLayer is a convolution, or with H 0 a dense layer, between dequantize and quantize nodes. Scales are powers
// of two, so that the float32 of the model is exact and results must agree to the byte.
type quantizedLayer struct {
	C, O, H, Kernel, Stride, Pad, Groups int
	Data, Weight                         types.DType
	DataZero, WeightZero                 int64
	Most                                 int // magnitude of most weights, of which neighbours have one sign; 0: any up to 100
}

func (l quantizedLayer) graph(t *testing.T, r *rand.Rand) *graph.Graph {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	scale := func(s float32) *graph.Value { return graph.NewConst("", tensor.Scalar(s)) }
	zero := func(d types.DType, z int64) *graph.Value {
		v := tensor.New(d)
		v.SetInt(0, z)
		return graph.NewConst("", v)
	}
	shape, wshape, bshape := []int{1, l.C, l.H, l.H + 1}, []int{l.O, l.C / l.Groups, l.Kernel, l.Kernel}, []int{l.O}
	if l.H == 0 {
		shape, wshape = []int{3, l.C}, []int{l.O, l.C}
	}
	x := g.Input("x", types.Of(types.F32, shape...))
	q := apply(ops.Quantize, ops.QuantizeAttrs{OutDType: l.Data, Rounding: ops.HalfEven}, x, scale(0.25), zero(l.Data, l.DataZero))
	dx := apply(ops.Dequantize, ops.DequantizeAttrs{}, q, scale(0.25), zero(l.Data, l.DataZero))
	w := tensor.New(l.Weight, wshape...)
	for i := range w.Len() {
		w.SetInt(i, l.WeightZero+int64(r.IntN(201))-100)
		if l.Most > 0 {
			w.SetInt(i, int64(r.IntN(l.Most)))
		}
		if l.Most > 0 && r.IntN(8) > 0 {
			w.SetInt(i, int64(l.Most-i/2%2*2*l.Most))
		}
	}
	wscales := make([]float32, l.O)
	for i := range wscales {
		wscales[i] = []float32{0.125, 0.0625, 0.03125}[r.IntN(3)]
	}
	wz := tensor.New(l.Weight, l.O)
	for i := range l.O {
		wz.SetInt(i, l.WeightZero)
	}
	dw := apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst("w", w), graph.NewConst("", tensor.Of(bshape, wscales)), graph.NewConst("", wz))
	bias := tensor.New(types.F32, l.O)
	for i := range l.O {
		bias.SetFloat(i, float64(r.IntN(401)-200)*0.25*float64(wscales[i]))
	}
	b := graph.NewConst("b", bias)
	var y *graph.Value
	if l.H > 0 {
		a := ops.ConvAttrs{Strides: []int{l.Stride, l.Stride}, Padding: []int{l.Pad, l.Pad, l.Pad, l.Pad}, Dilation: []int{1, 1}, Groups: l.Groups}
		y = apply(ops.Conv2d, a, dx, dw, b)
	} else {
		y = apply(ops.Add, op.None{}, apply(ops.Dense, op.None{}, dx, dw), b)
	}
	y = apply(ops.Relu, op.None{}, y)
	out := float32(2)
	if l.Most > 0 {
		out = 64
	}
	y = apply(ops.Quantize, ops.QuantizeAttrs{OutDType: l.Data, Rounding: ops.HalfEven}, y, scale(out), zero(l.Data, l.DataZero))
	y.Name = "y"
	g.Outputs = []*graph.Value{y}
	return g
}

// quantizedTypes are those of data and weights.
var quantizedTypes = []types.DType{types.U8, types.I8}

// quantizedLayers are convolutions and dense layers of all types of data and weights, with and without zero points.
func quantizedLayers() []quantizedLayer {
	u, s := types.U8, types.I8
	return []quantizedLayer{
		{16, 16, 5, 1, 1, 0, 1, u, s, 0, 0, 0},
		{3, 32, 9, 3, 2, 1, 1, u, s, 100, 0, 0},
		{24, 40, 6, 1, 1, 0, 1, u, s, 3, 0, 0},
		{32, 16, 6, 3, 1, 1, 1, s, s, -7, 0, 0},
		{64, 35, 7, 3, 2, 1, 1, u, u, 0, 128, 0},
		{38, 32, 6, 3, 1, 1, 1, u, s, 5, 0, 0},
		{48, 48, 7, 3, 1, 1, 48, u, s, 0, 0, 0},
		{20, 20, 7, 5, 2, 2, 20, u, s, 9, 0, 0},
		{32, 64, 6, 3, 1, 1, 2, u, s, 0, 0, 0},
		{6, 10, 5, 3, 1, 1, 1, u, s, 0, 0, 0},
		{64, 50, 0, 0, 0, 0, 1, u, s, 12, 0, 0},
		{37, 33, 0, 0, 0, 0, 1, s, u, 0, 120, 0},
		{64, 48, 6, 3, 1, 1, 1, u, s, 120, 0, 64},
		{64, 50, 0, 0, 0, 0, 1, u, s, 120, 0, 64},
		{32, 64, 6, 3, 1, 1, 2, u, s, 120, 0, 64},
		{3, 32, 9, 3, 2, 1, 1, u, s, 120, 0, 64},
		{64, 48, 6, 1, 1, 0, 1, u, s, 120, 0, 65},
		{24, 8, 9, 5, 2, 0, 1, u, s, 3, 0, 0}, // to few channels
		{32, 3, 7, 3, 1, 1, 1, u, u, 9, 131, 0},
		{64, 1, 6, 1, 1, 0, 1, s, s, -3, 0, 0},
		{3, 1, 8, 3, 1, 1, 1, u, s, 7, 0, 0},
		{24, 30, 7, 3, 1, 1, 3, u, u, 5, 121, 0}, // groups whose weights have a zero point
		{30, 24, 6, 1, 2, 0, 2, s, u, 0, 255, 0},
		{16, 32, 6, 3, 1, 1, 4, u, u, 250, 0, 0},
	}
}

// TestQuantizedLayers runs quantised layers as integers on targets with different dot products, with channels in blocks and
// last, and compares them with the model's float32.
func TestQuantizedLayers(t *testing.T) {
	t.Parallel()
	last := []string{"NHWC"}
	for i, l := range quantizedLayers() {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			for _, v := range []struct {
				target  string
				layouts []string
			}{{"llvm", nil}, {"llvm -mcpu=core-avx2", nil}, {"llvm -mcpu=x86-64", nil}, {"llvm", last}, {"llvm -mcpu=core-avx2", last}} {
				l.test(t, uint64(i), fmt.Sprint(v.target, v.layouts), compile.Options{Target: targettest.Runnable(t, v.target), Layouts: v.layouts}, Execute)
			}
		})
	}
}

// TestDeployQuantizedLayers is TestQuantizedLayers for other architectures.
func TestDeployQuantizedLayers(t *testing.T) {
	for _, name := range crossTargets {
		t.Run(strings.ReplaceAll(name, " ", ""), func(t *testing.T) {
			tgt := targettest.Resolve(t, name)
			run := emulated(t, compile.Options{Target: tgt})
			for i, l := range quantizedLayers() {
				t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) { l.test(t, uint64(i), name, compile.Options{Target: tgt}, run) })
			}
		})
	}
}

func (l quantizedLayer) test(t *testing.T, seed uint64, name string, o compile.Options, run execute) {
	t.Helper()
	o.Level, o.Workers = 3, 1
	r := rand.New(rand.NewPCG(seed, 7))
	g := l.graph(t, r)
	in := tensor.NewOf(g.Inputs[0].Type)
	for i := range in.Len() {
		in.SetFloat(i, float64(r.IntN(400)-200)*0.25)
	}
	want, err := grapheval.Eval(g, []*tensor.Tensor{in})
	if err != nil {
		t.Fatal(err)
	}
	res, err := compile.Compile(context.Background(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range res.Contents.Manifest.Steps {
		if ops := strings.Join(step.Ops, " "); strings.Contains(ops, "nn.conv2d") && !strings.Contains(ops, "qnn.conv2d") || strings.Contains(ops, "nn.dense") {
			t.Errorf("%s: it computes in float32: %s", name, ops)
		} else if strings.Contains(ops, "qnn.conv2d") && l.O >= 16 && l.C >= 16 && (l.Groups == 1 || l.Groups == l.C) && step.Rule != "tile" && step.Rule != impl.Matrix {
			t.Errorf("%s: its sums are not in registers, by rule %s: %s", name, step.Rule, ops)
		}
	}
	for _, workers := range []int{1, 3} {
		got, err := run(res, []*tensor.Tensor{in}, workers)
		if errors.Is(err, errNotCompared) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[0].Bytes(), want[0].Bytes()) {
			t.Errorf("%s, %d workers: got  %v\nwant %v", name, workers, got[0].Bytes()[:40], want[0].Bytes()[:40])
		}
	}
}

// TestDotInstructions: where a processor has an instruction for dots of its data, the inner loops use it.
func TestDotInstructions(t *testing.T) {
	t.Parallel()
	for name, instruction := range map[string]string{
		"llvm -mcpu=znver4": "vpdpbusd",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76":    "sdot",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1":   "usdot",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72":    "mla",
		"llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7": "vmla",
	} {
		for i, l := range quantizedLayers()[:4] {
			g := l.graph(t, rand.New(rand.NewPCG(uint64(i), 7)))
			res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, name), Level: 3, Workers: 1, Code: []string{"asm"}})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.Code["asm"], "\t"+instruction) {
				t.Errorf("%s: %+v has no %s", name, l, instruction)
			}
		}
	}
}

// TestPairsOfInt16: where an instruction adds two products of int16 and none adds four of bytes, data lie in memory as int16, so that no
// loop parts bytes.
func TestPairsOfInt16(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"llvm -mcpu=core-avx2", "llvm -mcpu=skylake-avx512", "llvm -mcpu=x86-64"} {
		for _, l := range quantizedLayers() {
			if l.Most == 64 || l.C == l.Groups {
				continue
			}
			res, err := compile.Compile(context.Background(), l.graph(t, rand.New(rand.NewPCG(1, 7))), compile.Options{Target: targettest.Resolve(t, name), Level: 3, Workers: 1, Code: []string{"tir"}})
			if err != nil {
				t.Fatal(err)
			}
			if l.Groups == 1 && l.O >= 16 && !strings.Contains(res.Code["tir"], "dot2(") || strings.Contains(res.Code["tir"], "dot4(") {
				t.Errorf("%s: %+v has no dots of int16, or dots of bytes", name, l)
			}
		}
	}
}

// TestDepthsOfDots: dense layers of any depth are sums of dot products, to the byte, on targets with each kind of them.
func TestDepthsOfDots(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 7))
	for _, c := range []int{1, 2, 3, 5, 6, 7, 13, 30, 63, 1 + r.IntN(250), 1 + r.IntN(250)} {
		l := quantizedLayer{C: c, O: 32 + r.IntN(60), Groups: 1, Data: quantizedTypes[r.IntN(2)], Weight: quantizedTypes[r.IntN(2)], DataZero: int64(r.IntN(100))}
		if l.Weight == types.U8 {
			l.WeightZero = 128
		}
		for name, width := range map[string]int{"llvm -mcpu=znver4": 4, "llvm -mcpu=core-avx2": 2, "llvm -mcpu=x86-64": 2, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76": 4} {
			res, err := compile.Compile(context.Background(), l.graph(t, rand.New(rand.NewPCG(1, 7))), compile.Options{Target: targettest.Resolve(t, name), Level: 3, Workers: 1, Code: []string{"tir"}})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.Code["tir"], fmt.Sprintf("dot%d(", width)) {
				t.Errorf("%s: %+v has no dots", name, l)
			}
		}
		for _, name := range []string{"llvm", "llvm -mcpu=core-avx2", "llvm -mcpu=x86-64"} {
			l.test(t, uint64(c), name, compile.Options{Target: targettest.Runnable(t, name)}, Execute)
		}
	}
}

// TestSevenBits: without an instruction for dots, those whose weights have 7 bits take the one that adds pairs of products to 16 bits, and
// no others: it saturates.
func TestSevenBits(t *testing.T) {
	t.Parallel()
	for _, l := range quantizedLayers() {
		res, err := compile.Compile(context.Background(), l.graph(t, rand.New(rand.NewPCG(1, 7))), compile.Options{Target: targettest.Resolve(t, "llvm -mcpu=core-avx2"), Level: 3, Workers: 1, Code: []string{"asm"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(res.Code["asm"], "vpmaddubsw"), l.Most == 64; got != want {
			t.Errorf("%+v: vpmaddubsw %v, want %v", l, got, want)
		}
	}
}
