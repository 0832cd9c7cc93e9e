package verify

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// coordinates makes a graph with the coordinates of a 2x3 input's elements that are not 0, transposed, and their number.
func coordinates(t *testing.T) (g *graph.Graph, at, count *graph.Value) {
	g = &graph.Graph{Name: "main"}
	find := apply(t, g, ops.ArgWhere, op.None{}, g.Input("x", types.Of(types.F32, 2, 3)))
	at = apply(t, g, ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0}}, find.Out[0]).Out[0]
	at.Name, find.Out[1].Name = "at", "count"
	return g, at, find.Out[1]
}

func apply(t *testing.T, g *graph.Graph, d *op.Def, attrs any, in ...*graph.Value) *graph.Node {
	t.Helper()
	n, err := g.Apply(d, attrs, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDynamicOutput checks that an output has its actual shape, dense though the extent is not that of the outermost
// axis, for none, some and all of the elements, and that the extent may be an output too.
func TestDynamicOutput(t *testing.T) {
	t.Parallel()
	for _, x := range [][]float32{{0, 0, 0, 0, 0, 0}, {0, 5, 0, 7, 0, 8}, {1, 2, 3, 4, 5, 6}} {
		g, at, count := coordinates(t)
		g.Outputs = []*graph.Value{at, count}
		got, err := run(t, g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3}, 2, []*tensor.Tensor{tensor.Of([]int{2, 3}, x)})
		if err != nil {
			t.Fatal(err)
		}
		var want [2][]int64
		for i, v := range x {
			if v != 0 {
				want[0], want[1] = append(want[0], int64(i/3)), append(want[1], int64(i%3))
			}
		}
		n := len(want[0])
		expected := tensor.Of([]int{2, n}, append(want[0], want[1]...))
		if d, err := difference(expected, got[0]); err != nil || d != 0 || got[1].Int(0) != int64(n) {
			t.Errorf("%v: coordinates %v, number %d (%v)", x, got[0].Ints(), got[1].Int(0), err)
		}
	}
}

// TestDynamicReader checks that what would mix elements with what lies beyond the actual extent is refused.
func TestDynamicReader(t *testing.T) {
	t.Parallel()
	g, at, _ := coordinates(t)
	sum := apply(t, g, ops.Sum, ops.ReduceAttrs{Axis: []int{1}}, at)
	sum.Origin = []string{"total"}
	g.Outputs = sum.Out
	_, err := run(t, g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3}, 1, []*tensor.Tensor{tensor.New(types.F32, 2, 3)})
	if err == nil || !strings.Contains(err.Error(), `"total"`) || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("a sum over coordinates: %v", err)
	}
}

// TestDynamicDetections: what detectors do with the boxes that suppression keeps: the columns of its result, the boxes that one of them
// names, and these side by side with their classes.
func TestDynamicDetections(t *testing.T) {
	t.Parallel()
	const boxes, classes = 5, 2
	g := &graph.Graph{Name: "main"}
	all, scores := g.Input("boxes", types.Of(types.F32, 1, boxes, 4)), g.Input("scores", types.Of(types.F32, 1, classes, boxes))
	kept := apply(t, g, ops.AllClassNMS, ops.NMSAttrs{MaxOutput: 3, IOUThreshold: 0.5, UseScore: true, ScoreThreshold: 0.4}, all, scores).Out[0]
	column := func(i int64) *graph.Value {
		return apply(t, g, ops.Take, ops.TakeAttrs{Axis: 1}, kept, graph.NewConst("", tensor.Scalar(i))).Out[0]
	}
	class, which := column(1), column(2)
	list := apply(t, g, ops.Reshape, ops.ReshapeAttrs{NewShape: []int{boxes, 4}}, all).Out[0]
	taken := apply(t, g, ops.Take, ops.TakeAttrs{Axis: 0}, list, which).Out[0]
	class = apply(t, g, ops.Reshape, ops.ReshapeAttrs{NewShape: append(slices.Clone(class.Type.Shape), 1)}, apply(t, g, ops.Cast, ops.CastAttrs{DType: types.F32}, class).Out[0]).Out[0]
	rows := apply(t, g, ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, taken, class)
	rows.Out[0].Name = "rows"
	g.Outputs = rows.Out
	corners := []float32{0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3, 5, 5, 6, 6, 5, 5, 6, 6.1} // the first two are one, and so are the last two
	for _, c := range []struct{ scores, want []float32 }{
		{make([]float32, boxes*classes), nil},
		{[]float32{0.9, 0.8, 0, 0, 0, 0, 0, 0.5, 0.6, 0.7}, []float32{0, 0, 1, 1, 0, 5, 5, 6, 6.1, 1, 2, 2, 3, 3, 1}},
	} {
		in := []*tensor.Tensor{tensor.Of([]int{1, boxes, 4}, corners), tensor.Of([]int{1, classes, boxes}, c.scores)}
		got, err := run(t, g.Clone(), compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3}, 2, in)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := difference(tensor.Of([]int{len(c.want) / 5, 5}, c.want), got[0]); err != nil || d != 0 {
			t.Errorf("rows of shape %v, distance %g (%v), not %v", got[0].Shape, d, err, c.want)
		}
	}
}
