// Package hotloops tests that the loops in which layers of networks spend their time keep values in registers, and ports busy.
package hotloops

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// Percentages of the instructions in hot loops that may move values to and from the stack: vectors, and all. An address that is
// loaded again in a loop of fifty instructions costs nothing.
const (
	mostVectors = 2.0
	mostAll     = 5.0
)

// An exception is what remains, in percent, with its cause.
type exception struct {
	vectors, all float64
	why          string
}

const (
	transforms = "a transform of Winograd's algorithm works on more values than there are registers"
	addresses  = "the registers for addresses are few, and some are loaded again"
)

var exceptions = map[string]exception{
	"core-avx2/3x3":       {4, 4, transforms},
	"x86-64-v4/3x3":       {4.5, 4.5, transforms},
	"znver5/3x3":          {4.5, 4.5, transforms},
	"cortex-a7/3x3":       {12.5, 13.5, transforms},
	"core-avx2/5x5":       {6.5, 6.5, transforms},
	"x86-64-v4/5x5":       {3, 3, transforms},
	"znver5/5x5":          {3, 3, transforms},
	"cortex-a72/5x5":      {5.5, 5.5, transforms},
	"cortex-a76/5x5":      {5.5, 5.5, transforms},
	"cortex-a7/5x5":       {11.5, 12.5, transforms},
	"sifive-x280/3x3":     {3.5, 5.5, transforms},
	"sifive-x280/5x5":     {3, 6, transforms},
	"core-avx2/dilated":   {8, 8, transforms},
	"x86-64-v4/dilated":   {4, 4, transforms},
	"znver5/dilated":      {4, 4, transforms},
	"cortex-a72/dilated":  {9, 9, transforms},
	"cortex-a76/dilated":  {9, 9, transforms},
	"sifive-x280/dilated": {3.5, 6, transforms},
	"cortex-a7/dilated":   {18.5, 21.5, transforms},
	"x86-64-v4/grouped":   {3.5, 3.5, "in any other order LLVM moves more"},
	"cortex-a7/depthwise": {4.5, 4.5, "taps and data of a row of seven fill all registers"},
}

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
	free    bool   // the second operand is an input
	direct  bool   // a convolution is computed by its definition
	lanes   string // that are decided for it; "": by default
}

// inBlocks is the convolution as it is between others, whose data lie in blocks of channels.
func inBlocks(l layer) layer {
	l.lanes = "channels"
	return l
}

// options are those to compile the layer with.
func (l layer) options(t *target.Target) compile.Options {
	o := compile.Options{Target: t, Level: 3, Workers: 2, Code: []string{"asm"}}
	if l.direct {
		o.Disabled = []string{"Winograd"}
	}
	if l.lanes != "" {
		o.Choices = map[string]choice.Point{l.op.Name: {"lanes": l.lanes}}
	}
	return o
}

// byDefinition is the convolution without Winograd's algorithm.
func byDefinition(l layer) layer {
	l.name += " direct"
	l.direct = true
	return l
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
	conv("1x1 three vectors", 2, 72, 24, 1, 1, 1, 1, 56),
	conv("1x1 five vectors", 2, 240, 40, 1, 1, 1, 1, 14),
	conv("1x1 seven vectors", 2, 480, 56, 1, 1, 1, 1, 14),
	conv("1x1 stride", 2, 64, 128, 1, 2, 1, 1, 28),
	conv("3x3", 2, 64, 64, 3, 1, 1, 1, 28),
	conv("3x3 stride", 2, 64, 64, 3, 2, 1, 1, 56),
	conv("stem", 2, 3, 64, 7, 2, 1, 1, 112),
	conv("dilated", 2, 64, 64, 3, 1, 2, 1, 33),
	conv("5x5", 2, 32, 64, 5, 1, 1, 1, 14),
	byDefinition(conv("dilated", 2, 64, 64, 3, 1, 2, 1, 33)),
	byDefinition(conv("5x5", 2, 32, 64, 5, 1, 1, 1, 14)),
	inBlocks(conv("depthwise", 2, 96, 96, 3, 1, 1, 96, 28)),
	inBlocks(conv("depthwise stride", 2, 96, 96, 5, 2, 1, 96, 28)),
	inBlocks(conv("depthwise 31x31", 2, 64, 64, 31, 1, 1, 64, 32)),
	conv("depthwise alone", 2, 96, 96, 3, 1, 1, 96, 28),
	conv("grouped", 2, 128, 128, 3, 1, 1, 4, 28),
	conv("narrow groups", 2, 128, 128, 3, 1, 1, 32, 28),
	conv("conv3d", 3, 16, 32, 3, 1, 1, 1, 14),
	{name: "dense", op: ops.Dense, attrs: op.None{}, in: []int{128, 768}, weights: []int{256, 768}},
	{name: "dense of long sums", op: ops.Dense, attrs: op.None{}, in: []int{128, 3072}, weights: []int{768, 3072}},
	{name: "dense of odd sizes", op: ops.Dense, attrs: op.None{}, in: []int{80, 3198}, weights: []int{795, 3198}},
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
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for _, l := range layers {
			name := tgt.CPU + "/" + strings.ReplaceAll(l.name, " ", "_")
			t.Run(name, func(t *testing.T) {
				res, err := compile.Compile(context.Background(), l.network(t), l.options(tgt))
				if err != nil {
					t.Fatal(err)
				}
				h := hot(res.Code["asm"])
				if h.all == 0 {
					t.Fatal("no loop has multiply-adds")
				}
				vectors, all := 100*h.vectors/h.all, 100*h.moves/h.all
				limit := exception{vectors: mostVectors, all: mostAll}
				if e, ok := exceptions[name]; ok {
					met[name] = true
					if vectors <= mostVectors && all <= mostAll {
						t.Errorf("the exception (%s) is not needed", e.why)
					}
					limit = e
				}
				if vectors > limit.vectors || all > limit.all {
					t.Errorf("%.1f %% of the instructions of hot loops move vectors to and from the stack, %.1f %% anything; want at most %g and %g",
						vectors, all, limit.vectors, limit.all)
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

// TestAddresses: what a hot loop does besides multiply-adds and their loads is little: addresses are computed in front of it. A tile of 6 x 2
// accumulators loads eight vectors for twelve multiply-adds.
func TestAddresses(t *testing.T) {
	const most = 2.0 // instructions a multiply-add, of which loads and sums are 1.67
	target := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2")
	for _, l := range []layer{conv("1x1 large map", 2, 64, 256, 1, 1, 1, 1, 56), conv("1x1", 2, 256, 128, 1, 1, 1, 1, 28), conv("1x1 deep", 2, 1024, 256, 1, 1, 1, 1, 14)} {
		res, err := compile.Compile(context.Background(), l.network(t), compile.Options{Target: target, Level: 3, Workers: 2, Code: []string{"asm"}})
		if err != nil {
			t.Fatal(err)
		}
		if h := hot(res.Code["asm"]); h.adds == 0 || h.all > most*h.adds {
			t.Errorf("%s: %.2f instructions a multiply-add; want at most %g", l.name, h.all/h.adds, most)
		}
	}
}
