package verify

import (
	"context"
	"math"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	o := compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2}
	g := digits(t)
	rows, err := Network(context.Background(), g, o)
	if err != nil || len(rows) != 1 || !rows[0].OK || rows[0].Name != "logits" || rows[0].Note != "" {
		t.Errorf("outputs: %+v, %v", rows, err)
	}
	rows, err = Operators(context.Background(), g, o)
	if err != nil || len(rows) != len(g.Nodes) {
		t.Fatalf("%d rows for %d operators, %v", len(rows), len(g.Nodes), err)
	}
	for _, r := range rows {
		if !r.OK || r.Tolerance != 1e-5 || len(r.Nodes) == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestVerifyOperatorsOfCompiledGraph: what is laid out or fused has no operators to compare one by one.
func TestVerifyOperatorsOfCompiledGraph(t *testing.T) {
	t.Parallel()
	o := compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 1}
	g := &graph.Graph{Name: "main"}
	n, err := g.Apply(ops.Add, op.None{}, g.Input("x", types.Of(types.F32, 1, 8)), g.Input("y", types.Of(types.F32, 1, 8)))
	if err != nil {
		t.Fatal(err)
	}
	n.Out[0].Name = "z"
	n.Out[0].Type.Layout = "AB8b"
	g.Outputs = n.Out
	if _, err := Operators(context.Background(), g, o); err == nil || !strings.Contains(err.Error(), "earlier pass") {
		t.Error(err)
	}
}

// TestVerifyFindsFaults compares with the reference evaluation of another operator than the compiled one.
func TestVerifyFindsFaults(t *testing.T) {
	t.Parallel()
	wrong := *ops.Add
	wrong.Compute = ops.Subtract.Compute
	missing := *ops.Add
	missing.Compute = nil
	g := &graph.Graph{Name: "main"}
	x, y := g.Input("x", types.Of(types.F32, 5)), g.Input("y", types.Of(types.F32, 5))
	var last *graph.Node
	for _, d := range []*op.Def{ops.Add, &wrong, &missing} {
		n, err := g.Apply(d, op.None{}, x, y)
		if err != nil {
			t.Fatal(err)
		}
		x, last = n.Out[0], n
	}
	g.Outputs = last.Out
	g.Outputs[0].Name = "z"
	o := compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 1}
	rows, err := Operators(context.Background(), g, o)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if !rows[0].OK || rows[1].OK || rows[1].RelL2 < 0.1 || rows[2].OK || rows[2].Note == "" {
		t.Errorf("%+v", rows)
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	of := func(v ...float32) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }
	for _, c := range []struct {
		want, got *tensor.Tensor
		ok        bool
	}{
		{of(3, 4, inf, nan), of(3, 4, inf, nan), true},
		{of(3, 4), of(3, 4.1), false},
		{of(1, inf), of(1, -inf), false},
		{of(1, inf), of(1, 2), false},
		{of(1, nan), of(1, 2), false},
		{of(1, 2), of(1, nan), false},
		{tensor.Of([]int{1}, []int64{1 << 60}), tensor.Of([]int{1}, []int64{1<<60 + 1}), false},
	} {
		d, err := difference(c.want, c.got)
		if err != nil || (d == 0) != c.ok {
			t.Errorf("%v and %v differ by %g, %v", c.want, c.got, d, err)
		}
	}
	if _, err := difference(of(1), of(1, 2)); err == nil {
		t.Error("tensors of different shapes have a difference")
	}
}

// TestEmptyOutput: an output without elements has no kernel, and a place in the package all the same.
func TestEmptyOutput(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{Name: "main"}
	n, err := g.Apply(ops.Add, op.None{}, g.Input("x", types.Of(types.F32, 0, 3)), g.Input("y", types.Of(types.F32, 0, 3)))
	if err != nil {
		t.Fatal(err)
	}
	n.Out[0].Name = "z"
	g.Outputs = n.Out
	rows, err := Network(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 1})
	if err != nil || len(rows) != 1 || !rows[0].OK {
		t.Errorf("%+v, %v", rows, err)
	}
}

// digits is the demo's network.
func digits(t *testing.T) *graph.Graph {
	t.Helper()
	m, err := onnx.ReadFile("../../examples/demo/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnx.Import(m, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
