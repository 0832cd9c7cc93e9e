package pass

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// aTransposedConv draws a transposed convolution with any strides, dilation, groups and pads on each axis, whose weights are
// constants or inputs, with elementwise nodes behind it. Elements are small integers, so that every order of sums is exact.
func aTransposedConv(r *rand.Rand) (g *graph.Graph, in []*tensor.Tensor) {
	for {
		rank := 1 + r.IntN(3)
		a := ops.ConvTransposeAttrs{Groups: 1, Padding: make([]int, 2*rank)}
		if r.IntN(2) == 0 {
			a.Groups = 1 + r.IntN(3)
		}
		x, w := []int{1 + r.IntN(2), a.Groups * (1 + r.IntN(3))}, []int{0, 1 + r.IntN(4)}
		w[0] = x[1]
		for k := range rank {
			x, w = append(x, 1+r.IntN(6)), append(w, 1+r.IntN(7-rank))
			a.Strides, a.Dilation = append(a.Strides, 1+r.IntN(4)), append(a.Dilation, 1)
			if r.IntN(3) == 0 {
				a.Dilation[k] = 1 + r.IntN(4)
			}
			a.OutputPadding = append(a.OutputPadding, r.IntN(max(a.Strides[k], a.Dilation[k])))
			a.Padding[k], a.Padding[rank+k] = r.IntN(5), r.IntN(5)
		}
		g, in = &graph.Graph{Name: "main"}, nil
		value := func(constant bool, shape ...int) *graph.Value {
			t := tensor.New(types.F32, shape...)
			for i := range t.Len() {
				t.SetFloat(i, float64(r.IntN(17)-8))
			}
			if constant {
				return graph.NewConst("", t)
			}
			in = append(in, t)
			return g.Input([]string{"x", "w", "b", "z", "z2"}[len(in)-1], types.Of(types.F32, shape...))
		}
		constant := r.IntN(3) > 0
		operands := []*graph.Value{value(false, x...), value(constant, w...)}
		channels := a.Groups * w[1]
		if r.IntN(2) == 0 {
			operands = append(operands, value(constant, channels))
		}
		n, err := g.Apply(ops.ConvTranspose[rank], a, operands...)
		if err != nil || n.Out[0].Type.Elements() == 0 {
			continue
		}
		y := n.Out[0]
		for range r.IntN(3) {
			column := slices.Repeat([]int{1}, rank+r.IntN(2)+1)
			column[len(column)-rank-1] = channels
			switch r.IntN(4) {
			case 0:
				n, err = g.Apply(ops.Relu, op.None{}, y)
			case 1:
				n, err = g.Apply(ops.Multiply, op.None{}, value(true, column...), y)
			case 2:
				n, err = g.Apply(ops.Add, op.None{}, y, value(r.IntN(2) == 0, y.Type.Shape...))
			case 3:
				n, err = g.Apply(ops.Subtract, op.None{}, y, value(true, 1))
			}
			if err != nil {
				panic(err)
			}
			y = n.Out[0]
		}
		g.Outputs = []*graph.Value{y}
		return g, in
	}
}

// TestDecomposeConvTranspose: the ordinary convolutions compute the same, bit for bit where sums are exact, by every way that
// there is.
func TestDecomposeConvTranspose(t *testing.T) {
	joint, split, summed, left := 0, 0, 0, 0
	for seed := range uint64(900) {
		g, in := aTransposedConv(rand.New(rand.NewPCG(seed, 3)))
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3}
		if seed%3 == 0 {
			c.Chooser = func(string) choice.Chooser { return whereAsked{"phases": impl.SumsColumns} }
		}
		runIn(t, "DecomposeConvTranspose", c)
		convs, sums := 0, 0
		for _, n := range g.Nodes {
			if isConv(n.Op) {
				convs++
			}
			if n.Op == ops.Col2Im {
				sums++
			}
			if slices.Contains(ops.ConvTranspose[:], n.Op) {
				left++
			}
		}
		switch {
		case sums == 1:
			summed++
		case convs == 1:
			joint++
		case convs > 1:
			split++
		}
		got, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		if !got[0].Type().Equal(want[0].Type()) || !slices.Equal(got[0].Bytes(), want[0].Bytes()) {
			t.Fatalf("seed %d: other values\n%s\n%s", seed, before, g)
		}
	}
	if joint < 50 || split < 50 || summed < 25 || left > 90 {
		t.Errorf("%d by one convolution, %d by several, %d by sums of columns, %d left", joint, split, summed, left)
	}
}

// TestQuantizedConvTranspose: a transposed convolution between dequantize and quantize nodes is computed on integers, with the
// scales, zero points and biases of its channels.
func TestQuantizedConvTranspose(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		groups, perIn, perOut := 1+r.IntN(2), 1+r.IntN(3), 1+r.IntN(4)
		a := ops.ConvTransposeAttrs{Strides: []int{1 + r.IntN(3), 1 + r.IntN(3)}, Padding: []int{r.IntN(2), r.IntN(2), 0, r.IntN(2)}, OutputPadding: []int{0, 0}, Dilation: []int{1, 1}, Groups: groups}
		g := &graph.Graph{Name: "main"}
		apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
			n, err := g.Apply(d, attrs, in...)
			if err != nil {
				t.Fatal(err)
			}
			return n.Out[0]
		}
		integers := func(dt types.DType, most int, shape ...int) *graph.Value {
			v := tensor.New(dt, shape...)
			for i := range v.Len() {
				v.SetInt(i, int64(r.IntN(most)))
			}
			return graph.NewConst("", v)
		}
		scales := tensor.New(types.F32, perOut)
		for i := range perOut {
			scales.SetFloat(i, float64(1+i)/8)
		}
		half := graph.NewConst("", tensor.Scalar[float32](0.5))
		x := apply(ops.Dequantize, ops.DequantizeAttrs{}, g.Input("x", types.Of(types.U8, 1, groups*perIn, 4, 3)), half, graph.NewConst("", tensor.Scalar[uint8](7)))
		weight := integers(types.I8, 100, groups*perIn, perOut, 1+r.IntN(4), 1+r.IntN(4))
		w := apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 1}, weight, graph.NewConst("", scales), integers(types.I8, 1, perOut))
		in := []*graph.Value{x, w}
		if r.IntN(2) == 0 {
			biases := tensor.New(types.F32, groups*perOut)
			for i := range biases.Len() {
				biases.SetFloat(i, scales.Float(i%perOut)/2)
			}
			in = append(in, apply(ops.Dequantize, ops.DequantizeAttrs{}, integers(types.I32, 500, groups*perOut), graph.NewConst("", biases)))
		}
		y := apply(ops.Relu, op.None{}, apply(ops.Conv2dTranspose, a, in...))
		quantize := ops.QuantizeAttrs{OutDType: types.U8, Rounding: "half_even"}
		y = apply(ops.Quantize, quantize, y, graph.NewConst("", tensor.Scalar[float32](64)), graph.NewConst("", tensor.Scalar[uint8](3)))
		y.Name = "y"
		g.Outputs = []*graph.Value{y}
		data := []*tensor.Tensor{integers(types.U8, 256, x.Type.Shape...).Const}
		want, err := grapheval.Eval(g, data)
		if err != nil {
			t.Fatal(err)
		}
		run(t, "DecomposeConvTranspose", g)
		run(t, "FakeQuantizationToInteger", g)
		if !slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op == ops.QnnConv[2] }) ||
			slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op == ops.Conv2d || n.Op == ops.Quantize }) {
			t.Fatalf("seed %d: not on integers\n%s", seed, g)
		}
		got, err := grapheval.Eval(g, data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want[0].Len() {
			if d := want[0].Int(i) - got[0].Int(i); d < -1 || d > 1 {
				t.Fatalf("seed %d: element %d is %d instead of %d\n%s", seed, i, got[0].Int(i), want[0].Int(i), g)
			}
		}
	}
}
