package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
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

// An imageNetwork is made as channels-first or as channels-last frameworks write it: then every convolution and pool
// stands between transposes. With quantized, each result is rounded to bytes.
type imageNetwork struct {
	t               *testing.T
	g               *graph.Graph
	r               *rand.Rand
	last, quantized bool
}

func (n *imageNetwork) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n.t.Helper()
	m, err := n.g.Apply(d, attrs, in...)
	if err != nil {
		n.t.Fatal(err)
	}
	return m.Out[0]
}

// image applies an operator that wants channels first.
func (n *imageNetwork) image(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	if !n.last {
		return n.apply(d, attrs, in...)
	}
	in = slices.Clone(in)
	in[0] = n.apply(ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 3, 1, 2}}, in[0])
	return n.apply(ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 3, 1}}, n.apply(d, attrs, in...))
}

func (n *imageNetwork) round(x *graph.Value) *graph.Value {
	if !n.quantized {
		return x
	}
	s, z := graph.NewConst("", tensor.Scalar(float32(0.0625))), graph.NewConst("", tensor.New(types.U8))
	q := n.apply(ops.Quantize, ops.QuantizeAttrs{OutDType: types.U8, Rounding: ops.HalfEven}, x, s, z)
	return n.apply(ops.Dequantize, ops.DequantizeAttrs{}, q, s, z)
}

// layer is a convolution with a bias and relu.
func (n *imageNetwork) layer(x *graph.Value, in, out, kernel, stride int) *graph.Value {
	w := tensor.New(types.I8, out, in, kernel, kernel)
	for i := range w.Len() {
		w.SetInt(i, int64(n.r.IntN(201))-100)
	}
	weight := n.apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst("w", w), graph.NewConst("", tensor.Scalar(float32(1.0/512))), graph.NewConst("", tensor.New(types.I8)))
	p := kernel / 2
	y := n.image(ops.Conv2d, ops.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}, Groups: 1}, x, weight)
	b := tensor.New(types.F32, out, 1, 1)
	if n.last {
		b = tensor.New(types.F32, out)
	}
	for i := range out {
		b.SetFloat(i, float64(n.r.IntN(64))/64)
	}
	return n.apply(ops.Relu, op.None{}, n.apply(ops.Add, op.None{}, y, graph.NewConst("b", b)))
}

func newImageNetwork(t *testing.T, last, quantized bool) *graph.Graph {
	n := &imageNetwork{t, &graph.Graph{Name: "main"}, rand.New(rand.NewPCG(1, 33)), last, quantized}
	shape, pooled, channels := []int{1, 3, 20, 20}, []int{2, 3}, 1
	if last {
		shape, pooled, channels = []int{1, 20, 20, 3}, []int{1, 2}, 3
	}
	x := n.round(n.g.Input("x", types.Of(types.F32, shape...)))
	x = n.round(n.layer(x, 3, 32, 3, 2))
	a := n.round(n.layer(x, 32, 32, 1, 1))
	x = n.round(n.apply(ops.Add, op.None{}, a, x))
	x = n.image(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{2, 2}, Strides: []int{2, 2}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}}, x)
	x = n.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: channels}, x, n.round(n.layer(x, 32, 64, 3, 1)))
	x = n.apply(ops.Mean, ops.ReduceAttrs{Axis: pooled}, x)
	x.Name = "y"
	n.g.Outputs = []*graph.Value{x}
	return n.g
}

// TestChannelsLastCostsNothing: a network written channels last becomes the kernels of the same network channels first;
// a transpose of the input is part of the kernel that reads it.
func TestChannelsLastCostsNothing(t *testing.T) {
	t.Parallel()
	for name, quantized := range map[string]bool{"float": false, "quantized": true} {
		t.Run(name, func(t *testing.T) {
			var kernels [2][]string
			for i, last := range []bool{false, true} {
				g := newImageNetwork(t, last, quantized)
				in := graphtest.Inputs(rand.New(rand.NewPCG(2, 33)), g)
				res, want := withReference(t, g, in, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2})
				if err := sameOutputs(res, in, want, 1, 2); err != nil {
					t.Errorf("channels last %v: %v", last, err)
				}
				for _, s := range res.Contents.Manifest.Steps {
					ops := slices.DeleteFunc(slices.Clone(s.Ops), func(o string) bool { return o == "transpose" })
					kernels[i] = append(kernels[i], strings.Join(ops, "; "))
				}
			}
			for k := range max(len(kernels[0]), len(kernels[1])) {
				if k >= min(len(kernels[0]), len(kernels[1])) || kernels[0][k] != kernels[1][k] {
					t.Fatalf("channels first:\n  %s\nchannels last:\n  %s", strings.Join(kernels[0], "\n  "), strings.Join(kernels[1], "\n  "))
				}
			}
		})
	}
}
