package pass

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestReach: no integer that a random graph of the operators behind which reach looks computes lies outside of what reach tells, whatever the
// bytes are that go in; and a byte less its zero point, which is padded and pooled, is known to be small.
func TestReach(t *testing.T) {
	small := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 99))
		g := &graph.Graph{Name: "main"}
		apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
			n, err := g.Apply(d, attrs, in...)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return n.Out[0]
		}
		number := func(d types.DType, most int) *graph.Value {
			c := tensor.New(d)
			c.SetInt(0, int64(r.IntN(2*most)-most))
			return graph.NewConst("", c)
		}
		byteType := []types.DType{types.U8, types.I8}[r.IntN(2)]
		x := g.Input("x", types.Of(byteType, 1, 2, 3, 4))
		wide := []types.DType{types.I16, types.I32}[r.IntN(2)]
		y := apply(ops.Cast, ops.CastAttrs{DType: wide}, x)
		for range r.IntN(6) {
			switch r.IntN(8) {
			case 0:
				y = apply(ops.Subtract, op.None{}, y, number(y.Type.DType, 300))
			case 1:
				y = apply(ops.Add, op.None{}, y, number(y.Type.DType, 30000))
			case 2:
				y = apply(ops.Add, op.None{}, y, y)
			case 3:
				y = apply(ops.Subtract, op.None{}, number(y.Type.DType, 300), y)
			case 4:
				y = apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, 0, 1, 0}, PadAfter: []int{0, 0, 0, 1}, Mode: "constant", Value: float64(r.IntN(200) - 100)}, y)
			case 5:
				y = apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, y, apply(ops.Subtract, op.None{}, y, number(y.Type.DType, 300)))
			case 6:
				size, pad := 1+r.IntN(2), r.IntN(2)
				y = apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{size, size}, Strides: []int{1, 1}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1}}, y)
			case 7:
				y = apply(ops.Cast, ops.CastAttrs{DType: []types.DType{types.I8, types.U8, types.I16, types.I32}[r.IntN(4)]}, y)
			}
		}
		y.Name = "y"
		g.Outputs = []*graph.Value{y}
		in := tensor.NewOf(x.Type)
		least, most := byteType.IntRange()
		for i := range in.Len() {
			in.SetInt(i, least+int64(r.IntN(256)))
		}
		in.SetInt(0, least)
		in.SetInt(1, most)
		got, err := grapheval.Eval(g, []*tensor.Tensor{in})
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := reach(y)
		values := got[0].Ints()
		if a, b := slices.Min(values), slices.Max(values); int64(a) < lo || int64(b) > hi {
			t.Errorf("seed %d: %d to %d is outside of %d to %d\n%s", seed, a, b, lo, hi, g)
		}
		if least, most := y.Type.DType.IntRange(); lo > least && hi < most {
			small++
		}
	}
	if small < 100 {
		t.Errorf("%d values are known to be small", small)
	}
}
