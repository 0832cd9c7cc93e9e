package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestMatrixNetworks runs random quantised networks by registers of matrices: layers that use them beside layers that do not, so that what
// stands between them reads and writes channels as both have them. Scales are powers of two, and outputs must agree to the byte.
func TestMatrixNetworks(t *testing.T) {
	t.Parallel()
	targets := matrixTargets(t)
	tgt := targets[len(targets)-1]
	run := onMatrices(t, tgt)
	samples := uint64(20)
	if testing.Short() {
		samples = 6
	}
	for seed := range samples {
		n := &quantizedNetwork{t: t, Rand: rand.New(rand.NewPCG(seed, 64)), g: &graph.Graph{Name: "main"}}
		n.grow()
		in := tensor.NewOf(n.g.Inputs[0].Type)
		for i := range in.Len() {
			in.SetFloat(i, float64(n.IntN(400)-200)*0.25)
		}
		text := n.g.String()
		res, want := withReference(t, n.g, []*tensor.Tensor{in}, compile.Options{Target: tgt, Level: 3, Workers: 2})
		for _, workers := range []int{1, 2} {
			got, err := run(res, []*tensor.Tensor{in}, workers)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if diff, err := difference(want[0], got[0]); err != nil || diff != 0 {
				t.Errorf("seed %d, %d workers: it differs by %v: %v\n%s", seed, workers, diff, err, text)
			}
		}
	}
}

// A quantizedNetwork is a random network of layers between quantize and dequantize nodes.
type quantizedNetwork struct {
	t *testing.T
	*rand.Rand
	g    *graph.Graph
	zero int64 // of all data
}

func (n *quantizedNetwork) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	node, err := n.g.Apply(d, attrs, in...)
	if err != nil {
		n.t.Fatal(err)
	}
	return node.Out[0]
}

// quantized is v between a quantize and a dequantize node.
func (n *quantizedNetwork) quantized(v *graph.Value) *graph.Value {
	z := tensor.New(types.U8)
	z.SetInt(0, n.zero)
	scale, zero := graph.NewConst("", tensor.Scalar(float32(0.25))), graph.NewConst("", z)
	q := n.apply(ops.Quantize, ops.QuantizeAttrs{OutDType: types.U8, Rounding: ops.HalfEven}, v, scale, zero)
	return n.apply(ops.Dequantize, ops.DequantizeAttrs{}, q, scale, zero)
}

// conv is a convolution with small weights, quantised.
func (n *quantizedNetwork) conv(v *graph.Value, out, kernel, stride, groups int) *graph.Value {
	w := tensor.New(types.I8, out, v.Type.Shape[1]/groups, kernel, kernel)
	for i := range w.Len() {
		w.SetInt(i, int64(n.IntN(7)-3))
	}
	scales := tensor.Of([]int{out}, slices.Repeat([]float32{0.0625}, out))
	weight := n.apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst("w", w), graph.NewConst("", scales), graph.NewConst("", tensor.New(types.I8, out)))
	a := ops.ConvAttrs{Strides: []int{stride, stride}, Padding: slices.Repeat([]int{kernel / 2}, 4), Dilation: []int{1, 1}, Groups: groups}
	return n.quantized(n.apply(ops.Conv2d, a, v, weight, graph.NewConst("b", tensor.New(types.F32, out))))
}

func (n *quantizedNetwork) grow() {
	one := func(list ...int) int { return list[n.IntN(len(list))] }
	n.zero = int64(one(0, 0, 7))
	h := 6 + n.IntN(12)
	v := n.quantized(n.g.Input("x", types.Of(types.F32, 1+n.IntN(2), one(3, 16, 20, 32, 64, 70), h, h+n.IntN(4))))
	before := v
	for range 2 + n.IntN(5) {
		last := v
		switch n.IntN(5) {
		case 0, 1:
			v = n.conv(v, one(16, 24, 64, 40, 100), one(1, 3, 5), one(1, 2), 1)
		case 2:
			v = n.conv(v, v.Type.Shape[1], 3, 1, v.Type.Shape[1])
		case 3:
			if slices.Equal(before.Type.Shape, v.Type.Shape) {
				v = n.quantized(n.apply(ops.Add, op.None{}, v, before))
			}
		case 4:
			v = n.quantized(n.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, n.conv(v, 32, 1, 1, 1), n.conv(v, one(16, 32), 3, 1, 1)))
		}
		before = last
	}
	if n.IntN(2) == 0 {
		v = n.quantized(n.apply(ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}, KeepDims: true}, v))
	}
	v.Name = "y"
	n.g.Outputs = []*graph.Value{v}
}
