package grapheval

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func vector(v ...float32) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }

func apply(t *testing.T, g *graph.Graph, d *op.Def, attrs any, in ...*graph.Value) []*graph.Value {
	t.Helper()
	n, err := g.Apply(d, attrs, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n.Out
}

func TestEval(t *testing.T) {
	g := &graph.Graph{Name: "test"}
	x := g.Input("x", types.Of(types.F32, 4))
	parts := apply(t, g, ops.Split, ops.SplitAttrs{Sizes: []int{1, 3}}, x)
	y := apply(t, g, ops.Add, op.None{}, parts[1], graph.NewConst("w", vector(10, 20, 30)))[0]
	g.Outputs = []*graph.Value{y, parts[0], y}
	out, err := Eval(g, []*tensor.Tensor{vector(1, 2, 3, 4)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{12, 23, 34}, {1}, {12, 23, 34}} {
		for j, w := range want {
			if got := out[i].Float(j); got != w {
				t.Errorf("output %d, element %d is %v instead of %v", i, j, got, w)
			}
		}
	}
}

func TestEvalGroup(t *testing.T) {
	sub := &graph.Graph{Name: "sub"}
	a := sub.Input("a", types.Of(types.F32, 2))
	sub.Outputs = apply(t, sub, ops.Multiply, op.None{}, a, a)
	g := &graph.Graph{Name: "test"}
	x := g.Input("x", types.Of(types.F32, 2))
	n := graph.NewGroup(sub, []*graph.Value{x})
	g.Nodes, g.Outputs = []*graph.Node{n}, n.Out
	out, err := Eval(g, []*tensor.Tensor{vector(3, 4)})
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Float(0) != 9 || out[0].Float(1) != 16 {
		t.Errorf("%v %v", out[0].Float(0), out[0].Float(1))
	}
}

// TestEvalLoop: forwards and backwards, sums of slices are carried, and what they were stacked.
func TestEvalLoop(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		body := &graph.Graph{Name: "body"}
		sum, slice, factor := body.Input("sum", types.Of(types.F32)), body.Input("slice", types.Of(types.F32)), body.Input("factor", types.Of(types.F32))
		next := apply(t, body, ops.Add, op.None{}, sum, apply(t, body, ops.Multiply, op.None{}, slice, factor)[0])[0]
		body.Outputs = []*graph.Value{next, sum}
		g := &graph.Graph{Name: "test"}
		start, x, f := g.Input("start", types.Of(types.F32)), g.Input("x", types.Of(types.F32, 3)), g.Input("f", types.Of(types.F32))
		n, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 3, Carried: 1, Sequences: 1, Reverse: reverse}, []*graph.Value{start, x, f})
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes, g.Outputs = []*graph.Node{n}, n.Out
		if err := graph.Verify(g); err != nil {
			t.Fatal(err)
		}
		out, err := Eval(g, []*tensor.Tensor{tensor.Scalar(float32(1)), vector(1, 2, 3), tensor.Scalar(float32(10))})
		if err != nil {
			t.Fatal(err)
		}
		want := []float32{1, 11, 31}
		if reverse {
			want = []float32{51, 31, 1}
		}
		if out[0].Float(0) != 61 || !slices.Equal(tensor.As[float32](out[1]), want) {
			t.Errorf("%v, %v instead of 61, %v", out[0].Float(0), tensor.As[float32](out[1]), want)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	g := &graph.Graph{Name: "test"}
	x := g.Input("x", types.Of(types.F32, 2))
	g.Outputs = apply(t, g, ops.Negative, op.None{}, x)
	for _, c := range []struct {
		in   []*tensor.Tensor
		want string
	}{
		{nil, "0 inputs instead of 1"},
		{[]*tensor.Tensor{vector(1)}, `input "x" is float32[1] instead of float32[2]`},
	} {
		if _, err := Eval(g, c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v instead of %s", err, c.want)
		}
	}
}
