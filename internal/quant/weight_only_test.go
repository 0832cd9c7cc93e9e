package quant

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// products is a network of a dense layer with a bias, two products that read one value, a small product and one of two computed values.
func products(t *testing.T, r *rand.Rand, depth int) *graph.Graph {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	weights := func(name string, shape ...int) *graph.Value {
		w := tensor.New(types.F32, shape...)
		for i := range w.Len() {
			w.SetFloat(i, r.NormFloat64()/math.Sqrt(float64(depth)))
		}
		return graph.NewConst(name, w)
	}
	x := g.Input("x", types.Of(types.F32, 24, depth))
	h := apply(ops.Relu, op.None{}, apply(ops.Add, op.None{}, apply(ops.Dense, op.None{}, x, weights("first", depth, depth)), weights("bias", depth)))
	a := apply(ops.Matmul, ops.MatmulAttrs{}, h, weights("second", depth, depth+8))
	b := apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, h, weights("third", depth+8, depth))
	c := apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, a, b)
	y := apply(ops.Matmul, ops.MatmulAttrs{}, c, weights("small", 24, 5))
	y.Name = "y"
	g.Outputs = []*graph.Value{y}
	return g
}

// quality is how far the results of a network are from those of another, in dB.
func quality(t *testing.T, want, got *graph.Graph, r *rand.Rand) float64 {
	t.Helper()
	x := []*tensor.Tensor{graphtest.Random(r, want.Inputs[0].Type, graphtest.Moderate)}
	for i := range x[0].Len() {
		x[0].SetFloat(i, r.NormFloat64())
	}
	results := func(g *graph.Graph) *tensor.Tensor {
		y, err := grapheval.Eval(g, x)
		if err != nil {
			t.Fatal(err)
		}
		return y[0]
	}
	a, b := results(want), results(got)
	var signal, noise float64
	for i := range a.Len() {
		e := a.Float(i) - b.Float(i)
		signal, noise = signal+a.Float(i)*a.Float(i), noise+e*e
	}
	return decibels(signal, noise)
}

func host(t *testing.T) *target.Target {
	t.Helper()
	return targettest.Registers(t, 256, 16)
}

// TestWeightOnly: weights lose what their bits say. A uniform grid of 16 levels has 19.4 dB of a normal distribution at best (Max, Quantizing for
// minimum distortion, 1960), and 256 levels have 24 dB more; blocks have ranges of their own. The last product multiplies two results with two
// losses each, which is 6 dB less at the outputs.
func TestWeightOnly(t *testing.T) {
	for _, c := range []struct {
		o     WeightOnlyOptions
		least float64
		types []types.DType
	}{
		{WeightOnlyOptions{Bits: 4, Block: 32}, 16.5, []types.DType{types.I4, types.F32}},
		{WeightOnlyOptions{Bits: 4, Block: 16, ZeroPoints: true}, 18, []types.DType{types.U4, types.F32, types.U4}},
		{WeightOnlyOptions{Bits: 4, Block: 64, Workers: 3}, 16, []types.DType{types.I4, types.F32}},
		{WeightOnlyOptions{Bits: 8, Block: 32}, 40, []types.DType{types.I8, types.F32}},
		{WeightOnlyOptions{Bits: 8, Block: 128, ZeroPoints: true}, 38, []types.DType{types.U8, types.F32, types.U8}},
	} {
		for _, depth := range []int{64, 72} {
			c.o.Least, c.o.Target = 1000, host(t)
			r := rand.New(rand.NewPCG(uint64(depth), 1))
			g := products(t, r, depth)
			plain := g.Clone()
			res, err := WeightOnly(context.Background(), g, c.o)
			if err != nil {
				t.Fatal(err)
			}
			nodes := 0
			for _, n := range res.Graph.Nodes {
				if n.Op != ops.MatmulNBits {
					continue
				}
				nodes++
				for i, v := range n.In[1:] {
					if v.Type.DType != c.types[i] {
						t.Errorf("%+v: operand %d is %s", c.o, i+1, v.Type)
					}
				}
			}
			if nodes != 3 {
				t.Errorf("%+v: %d products are quantised, want 3", c.o, nodes)
			}
			if db := quality(t, plain, res.Graph, r); db < c.least-7 {
				t.Errorf("%+v, depth %d: %.1f dB at the outputs", c.o, depth, db)
			}
			for i, l := range res.Layers {
				switch {
				case i < 3 && (l.Bits != c.o.Bits || l.SQNR < c.least || l.Why != ""):
					t.Errorf("%+v, depth %d: %+v, want %.1f dB or more", c.o, depth, l, c.least)
				case i == 3 && !strings.Contains(l.Why, "both of its operands are computed"), i == 4 && !strings.Contains(l.Why, "120 weights"):
					t.Errorf("layer %d: %+v", i, l)
				}
			}
		}
	}
}

// TestBestGrid: ends of ranges that are clipped and numbers that the grid has.
func TestBestGrid(t *testing.T) {
	whole := make([]float32, 16)
	for i := range whole {
		whole[i] = float32(i-8) / 4
	}
	if g := bestGrid(whole, nil, types.U4, true); g.scale != 0.25 || g.zero != 8 {
		t.Errorf("numbers of a grid get %+v", g)
	}
	if g := bestGrid(make([]float32, 16), nil, types.I4, false); g.value(g.number(0)) != 0 {
		t.Errorf("zeros get %+v", g)
	}
	outlier := append([]float32{30}, whole...)
	for i := range 200 {
		outlier = append(outlier, whole[i%16])
	}
	if g := bestGrid(outlier, nil, types.I4, false); g.scale*7 >= 30 {
		t.Errorf("one number of %d keeps the others coarse: %+v", len(outlier), g)
	}
}

// TestWeightOnlyRefuses: options and networks that cannot be.
func TestWeightOnlyRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		o    WeightOnlyOptions
		want string
	}{
		{WeightOnlyOptions{Bits: 3, Block: 32}, "weights of 3 bits"},
		{WeightOnlyOptions{Bits: 4, Block: 24}, "blocks of 24 weights"},
		{WeightOnlyOptions{Bits: 4, Block: 32}, "no dense layer or matrix product"},
	} {
		c.o.Target = host(t)
		if _, err := WeightOnly(context.Background(), products(t, r, 64), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

// TestDynamic: data and weights of 8 bits; layers that read one value share its integers.
func TestDynamic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	g := products(t, r, 64)
	plain := g.Clone()
	res, err := Dynamic(context.Background(), g, DynamicOptions{Target: host(t), Least: 1000})
	if err != nil {
		t.Fatal(err)
	}
	count := map[*op.Def]int{}
	for _, n := range res.Graph.Nodes {
		count[n.Op]++
	}
	if count[ops.QnnMatmul] != 3 || count[ops.Quantize] != 2 || count[ops.Dense]+count[ops.Matmul] != 2 {
		t.Errorf("operators %v\n%s", count, res.Graph)
	}
	if db := quality(t, plain, res.Graph, r); db < 33 {
		t.Errorf("%.1f dB at the outputs", db)
	}
	for i, l := range res.Layers {
		if quantised := i < 3; quantised != (l.Bits == 8 && l.SQNR > 40) || quantised == (l.Why != "") {
			t.Errorf("layer %d: %+v", i, l)
		}
	}
}
