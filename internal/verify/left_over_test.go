package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// largeWork is the number of operations from which on a kernel needs a rule for its kind.
const largeWork = 1_000_000

// fallbacks are the rules that serve products and reductions for which there is none of their own.
var fallbacks = []string{"rows", "serial", "pointwise"}

// workloads are shapes of networks: convolutions are data, weights, strides, groups; products rows, sums, columns; reductions
// data, axes.
type workload struct {
	name          string
	d             *op.Def
	attrs         any
	data, weights []int
}

func convolution(data, weights []int, stride, dilation, groups int) workload {
	n := len(data) - 2
	a := ops.ConvAttrs{Groups: groups}
	for range n {
		a.Strides, a.Dilation = append(a.Strides, stride), append(a.Dilation, dilation)
	}
	for range 2 {
		for _, k := range weights[2:] {
			a.Padding = append(a.Padding, k/2*dilation)
		}
	}
	return workload{"conv", []*op.Def{ops.Conv1d, ops.Conv2d, ops.Conv3d}[n-1], a, data, weights}
}

func matrices(m, k, n int, transposed bool) workload {
	w := []int{k, n}
	if transposed {
		w = []int{n, k}
	}
	return workload{"product", ops.Matmul, ops.MatmulAttrs{TransposeB: transposed}, []int{m, k}, w}
}

func reduction(d *op.Def, axis int, shape ...int) workload {
	attrs := any(ops.ReduceAttrs{Axis: []int{axis}})
	if d == ops.Softmax {
		attrs = ops.SoftmaxAttrs{Axis: axis}
	}
	return workload{"reduction", d, attrs, shape, nil}
}

var known = []workload{
	convolution([]int{1, 3, 224, 224}, []int{64, 3, 7, 7}, 2, 1, 1), convolution([]int{1, 64, 56, 56}, []int{64, 64, 3, 3}, 1, 1, 1),
	convolution([]int{1, 128, 56, 56}, []int{256, 128, 3, 3}, 2, 1, 1), convolution([]int{1, 37, 29, 29}, []int{53, 37, 1, 1}, 1, 1, 1),
	convolution([]int{1, 128, 28, 28}, []int{128, 4, 3, 3}, 1, 1, 32), convolution([]int{1, 72, 28, 28}, []int{72, 24, 3, 3}, 1, 1, 3),
	convolution([]int{1, 96, 56, 56}, []int{96, 1, 7, 7}, 1, 1, 96), convolution([]int{1, 64, 65, 65}, []int{64, 64, 3, 3}, 1, 4, 1),
	convolution([]int{1, 64, 128, 128}, []int{3, 64, 9, 9}, 1, 1, 1), convolution([]int{1, 1, 4000}, []int{512, 1, 10}, 5, 1, 1),
	convolution([]int{1, 80, 3000}, []int{512, 80, 3}, 1, 1, 1), convolution([]int{1, 64, 16, 16, 16}, []int{32, 64, 1, 1, 1}, 1, 1, 1),
	convolution([]int{1, 3, 8, 56, 56}, []int{64, 3, 3, 3, 3}, 1, 1, 1), convolution([]int{1, 54, 8, 28, 28}, []int{54, 1, 3, 3, 3}, 1, 1, 54),
	matrices(1, 4096, 1024, false), matrices(1, 2048, 1000, true), matrices(64, 2048, 10, true), matrices(512, 512, 512, false),
	matrices(127, 129, 131, true), matrices(3136, 64, 64, false), matrices(16, 8192, 16, false),
	reduction(ops.Softmax, 1, 2048, 300), reduction(ops.Softmax, 0, 2048, 300), reduction(ops.Softmax, 1, 19, 128, 128),
	reduction(ops.Sum, 0, 1<<21), reduction(ops.Max, 1, 64, 1024, 32), reduction(ops.Mean, 1, 1024, 2048),
}

// drawn is a random workload, large enough to be judged.
func drawn(r *rand.Rand) workload {
	switch r.IntN(4) {
	case 0:
		return matrices(20+r.IntN(200), 100+r.IntN(400), 16+r.IntN(300), r.IntN(2) == 0)
	case 1:
		shape := []int{100 + r.IntN(60), 100 + r.IntN(100), 100 + r.IntN(100)}
		return reduction([]*op.Def{ops.Softmax, ops.Sum, ops.Max, ops.Mean}[r.IntN(4)], r.IntN(3), shape...)
	default:
		groups, each, k := 1+r.IntN(4)*r.IntN(2), 8+r.IntN(70), 1+2*r.IntN(3)
		size := 32 + r.IntN(40)
		return convolution([]int{1, groups * (16 + r.IntN(40)), size, size}, []int{groups * each, 0, k, k}, 1+r.IntN(2), 1+r.IntN(2), groups)
	}
}

// TestNothingIsLeftOver: no large product is left to a rule that takes what is left, and no large reduction to one that computes its
// elements one by one, on any CPU with vectors, whether or not something pointwise follows.
func TestNothingIsLeftOver(t *testing.T) {
	t.Parallel()
	cpus := []string{"sapphirerapids", "x86-64-v3", "cortex-a76 -mtriple=aarch64-linux-gnu", "sifive-x280 -mtriple=riscv64-linux-gnu"}
	list, samples := known, 40
	if testing.Short() {
		samples = 8
	}
	r := rand.New(rand.NewPCG(1, 73))
	for range samples {
		list = append(list, drawn(r))
	}
	for i, w := range list {
		if w.name == "conv" {
			w.weights[1] = w.data[1] / w.attrs.(ops.ConvAttrs).Groups
		}
		cpu := cpus[i%len(cpus)]
		t.Run(fmt.Sprintf("%d %s of %v by %v, %+v on %s", i, w.d.Name, w.data, w.weights, w.attrs, cpu), func(t *testing.T) {
			g := &graph.Graph{Name: "main"}
			in := []*graph.Value{g.Input("x", types.Of(types.F32, w.data...))}
			if w.weights != nil {
				in = append(in, graph.NewConst("w", random(r, types.Of(types.F32, w.weights...))))
			}
			y := apply(t, g, w.d, w.attrs, in...).Out[0]
			if i%2 == 0 {
				y = apply(t, g, ops.Relu, op.None{}, y).Out[0]
			}
			g.Outputs = []*graph.Value{y}
			res, err := compile.Compile(t.Context(), g, compile.Options{Target: targettest.Resolve(t, "llvm -mcpu="+cpu), Level: 3, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			judged := false
			for _, s := range res.Contents.Manifest.Steps {
				judged = judged || s.FLOPs >= largeWork
				if leftOver(s) {
					t.Errorf("%s, %d operations, is left to rule %s: %s", s.Name, s.FLOPs, s.Rule, s.Why)
				}
			}
			if !judged {
				t.Errorf("no kernel is large")
			}
		})
	}
}

func leftOver(s bundle.Step) bool {
	return s.FLOPs >= largeWork && (s.Rule == "serial" || s.Multiply != "" && slices.Contains(fallbacks, s.Rule))
}
