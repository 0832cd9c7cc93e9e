package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// A groupedConv is a convolution in groups between two of 1x1, with a bias, a residual where shapes allow it, and relu.
type groupedConv struct {
	attrs     ops.ConvAttrs
	in, out   int   // channels of a group
	data      []int // batch, channels and image
	kernel    []int
	quantized bool
}

func (c groupedConv) String() string {
	return fmt.Sprintf("%v %d>%d kernel %v %+v quantized %v", c.data, c.in, c.out, c.kernel, c.attrs, c.quantized)
}

// newGroupedConv draws groups of any width: parts of vectors, several vectors, and what is neither.
func newGroupedConv(r *rand.Rand) groupedConv {
	widths := []int{1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 40, 48}
	c := groupedConv{in: widths[r.IntN(len(widths))], quantized: r.IntN(3) == 0}
	if c.out = c.in; r.IntN(3) == 0 {
		c.out = widths[r.IntN(len(widths))]
	}
	if c.in == 1 && c.out == 1 {
		c.out = 2
	}
	c.attrs.Groups = 2 + r.IntN(max(2, 64/max(c.in, c.out)))
	c.data = []int{1 + r.IntN(2), c.in * c.attrs.Groups}
	for range 1 + r.IntN(3) {
		k := []int{1, 3, 3, 5}[r.IntN(4)]
		c.kernel = append(c.kernel, k)
		c.data = append(c.data, k+[]int{1, 4, 7, 13, 14, 20}[r.IntN(6)])
		c.attrs.Strides = append(c.attrs.Strides, 1+r.IntN(3)/2)
		c.attrs.Dilation = append(c.attrs.Dilation, 1)
		c.attrs.Padding = append(c.attrs.Padding, k/2)
	}
	c.attrs.Padding = slices.Concat(c.attrs.Padding, c.attrs.Padding)
	return c
}

func (c groupedConv) graph(t *testing.T, r *rand.Rand) *graph.Graph {
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, c.quantized}
	rank := len(c.kernel)
	conv := func(x *graph.Value, attrs ops.ConvAttrs, kernel []int, out int) *graph.Value {
		w := tensor.New(types.I8, slices.Concat([]int{out, x.Type.Shape[1] / attrs.Groups}, kernel)...)
		for i := range w.Len() {
			w.SetInt(i, int64(r.IntN(201))-100)
		}
		scale := graph.NewConst("", tensor.Scalar(float32(0.01/float64(types.Count(w.Shape[1:])))))
		weight := n.apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst("w", w), scale, graph.NewConst("", tensor.New(types.I8)))
		y := n.apply(ops.Conv[rank], attrs, x, weight)
		return n.apply(ops.Add, op.None{}, y, graph.NewConst("b", random(r, types.Of(types.F32, slices.Concat([]int{out}, ones(rank))...))))
	}
	point := ops.ConvAttrs{Strides: ones(rank), Padding: make([]int, 2*rank), Dilation: ones(rank), Groups: 1}
	x := n.round(n.g.Input("x", types.Of(types.F32, c.data...)))
	x = n.round(n.apply(ops.Relu, op.None{}, conv(x, point, ones(rank), c.data[1])))
	y := conv(x, c.attrs, c.kernel, c.out*c.attrs.Groups)
	if slices.Equal(x.Type.Shape, y.Type.Shape) {
		y = n.apply(ops.Add, op.None{}, y, x)
	}
	y = n.round(n.apply(ops.Relu, op.None{}, y))
	y = conv(y, point, ones(rank), 32)
	y.Name = "y"
	n.g.Outputs = []*graph.Value{y}
	return n.g
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

// TestGroupedConvolutions: convolutions in groups of all widths, on vectors of three widths, compute what they stand for, and
// none is left to a rule for other reductions or to none.
func TestGroupedConvolutions(t *testing.T) {
	t.Parallel()
	cases := uint64(60)
	if testing.Short() {
		cases = 6
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for seed := range cases {
			r := rand.New(rand.NewPCG(seed, 61))
			c := newGroupedConv(r)
			level := 3
			if seed%10 == 0 {
				level = 0
			}
			g := c.graph(t, r)
			in := graphtest.Inputs(r, g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			use := fmt.Sprintf("%s -O%d, seed %d: %s", tgt, level, seed, c)
			res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Runnable(t, tgt), Level: level, Workers: 2})
			if err != nil {
				t.Fatalf("%s: %v", use, err)
			}
			if err := sameOutputs(res, in, want, 1, 2); err != nil {
				t.Errorf("%s: %v", use, err)
			}
			for _, s := range res.Contents.Manifest.Steps {
				if level > 0 && slices.ContainsFunc(s.Ops, func(o string) bool { return strings.Contains(o, "conv") }) && (s.Rule == "rows" || s.Rule == "serial") {
					t.Errorf("%s: %s is left to rule %s: reads %v", use, s.Name, s.Rule, s.Reads)
				}
			}
		}
	}
}
