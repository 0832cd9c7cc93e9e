// Package hotloops tests that the loops in which layers of networks spend their time keep values in registers.
package hotloops

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// most is the percentage of the instructions in hot loops that may move values to and from the stack: an address that is loaded
// again in a loop of fifty instructions costs nothing.
const most = 2.0

// exceptions are what remains, in percent, with its cause.
var exceptions = map[string]struct {
	most float64
	why  string
}{}

var cpus = []string{
	"core-avx2", "x86-64-v4", "znver5", "cortex-a72 -mtriple=aarch64-linux-gnu", "cortex-a76 -mtriple=aarch64-linux-gnu",
	"cortex-a7 -mtriple=armv7-linux-gnueabihf", "sifive-x280 -mtriple=riscv64-linux-gnu",
}

// A layer is one operator on random weights.
type layer struct {
	name    string
	op      *op.Def
	attrs   any
	in      []int
	weights []int
	free    bool // the second operand is an input
}

// conv is a convolution on an image, or a volume, of equal sides.
func conv(name string, axes, in, out, kernel, stride, dilate, groups, size int) layer {
	each := func(n, times int) (list []int) {
		for range times {
			list = append(list, n)
		}
		return list
	}
	d := ops.Conv2d
	if axes == 3 {
		d = ops.Conv3d
	}
	a := ops.ConvAttrs{Strides: each(stride, axes), Padding: each(kernel/2*dilate, 2*axes), Dilation: each(dilate, axes), Groups: groups}
	return layer{name: name, op: d, attrs: a, in: append([]int{1, in}, each(size, axes)...), weights: append([]int{out, in / groups}, each(kernel, axes)...)}
}

var layers = []layer{
	conv("1x1", 2, 64, 128, 1, 1, 1, 1, 28),
	conv("1x1 small map", 2, 512, 256, 1, 1, 1, 1, 7),
	conv("1x1 stride", 2, 64, 128, 1, 2, 1, 1, 28),
	conv("3x3", 2, 64, 64, 3, 1, 1, 1, 28),
	conv("3x3 stride", 2, 64, 64, 3, 2, 1, 1, 56),
	conv("stem", 2, 3, 64, 7, 2, 1, 1, 112),
	conv("dilated", 2, 64, 64, 3, 1, 2, 1, 33),
	conv("5x5", 2, 32, 64, 5, 1, 1, 1, 14),
	conv("depthwise", 2, 96, 96, 3, 1, 1, 96, 28),
	conv("depthwise stride", 2, 96, 96, 5, 2, 1, 96, 28),
	conv("depthwise 31x31", 2, 64, 64, 31, 1, 1, 64, 32),
	conv("grouped", 2, 128, 128, 3, 1, 1, 4, 28),
	conv("narrow groups", 2, 128, 128, 3, 1, 1, 32, 28),
	conv("conv3d", 3, 16, 32, 3, 1, 1, 1, 14),
	{name: "dense", op: ops.Dense, attrs: op.None{}, in: []int{128, 768}, weights: []int{256, 768}},
	{name: "matmul", op: ops.Matmul, attrs: ops.MatmulAttrs{}, in: []int{4, 96, 128}, weights: []int{4, 128, 96}, free: true},
	{name: "matmul of rows", op: ops.Matmul, attrs: ops.MatmulAttrs{TransposeB: true}, in: []int{4, 96, 64}, weights: []int{4, 96, 64}, free: true},
}

// network is a graph of the layer alone.
func (l layer) network(t *testing.T) *graph.Graph {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, l.in...))
	w := types.Of(types.F32, l.weights...)
	var second *graph.Value
	if l.free {
		second = g.Input("w", w)
	} else {
		c := tensor.New(w.DType, w.Shape...)
		r := rand.New(rand.NewPCG(1, 7))
		for i := range c.Len() {
			c.SetFloat(i, r.Float64()-0.5)
		}
		second = graph.NewConst("w", c)
	}
	n, err := g.Apply(l.op, l.attrs, x, second)
	if err != nil {
		t.Fatal(err)
	}
	g.Outputs = append(g.Outputs, n.Out...)
	return g
}

// TestHotLoops: the loops with the multiply-adds of each layer hold what they work on in registers, on CPUs with 16 and 32 of them.
func TestHotLoops(t *testing.T) {
	met := map[string]bool{}
	for _, cpu := range cpus {
		target := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for _, l := range layers {
			name := fmt.Sprintf("%s/%s", target.CPU, l.name)
			t.Run(name, func(t *testing.T) {
				res, err := compile.Compile(context.Background(), l.network(t), compile.Options{Target: target, Level: 3, Workers: 2, Code: []string{"asm"}})
				if err != nil {
					t.Fatal(err)
				}
				all, moves := hot(res.Code["asm"])
				if all == 0 {
					t.Fatal("no loop has multiply-adds")
				}
				share, limit := 100*moves/all, most
				if e, ok := exceptions[name]; ok {
					met[name] = true
					if limit = e.most; share <= most {
						t.Errorf("%.1f %% of the instructions of hot loops move values to and from the stack: the exception (%s) is not needed", share, e.why)
					}
				}
				if share > limit {
					t.Errorf("%.1f %% of the instructions of hot loops move values to and from the stack, want at most %.1f", share, limit)
				}
			})
		}
	}
	for name := range exceptions {
		if !met[name] {
			t.Errorf("exception %s is of no layer", name)
		}
	}
}
