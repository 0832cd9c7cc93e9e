package onnx

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/types"
)

// regions counts the regions of a graph by operator, those in bodies included.
func regions(g *graph.Graph) map[string]int {
	n := map[string]int{}
	for _, m := range g.Nodes {
		if m.IsRegion() {
			n[m.Op.Name]++
		}
		for _, b := range m.Bodies() {
			for k, v := range regions(b) {
				n[k] += v
			}
		}
	}
	return n
}

func evalWith(t *testing.T, g *graph.Graph, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := evaltest.Actual(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func scalarInfo(name string, elem DType) ValueInfo {
	return ValueInfo{Name: name, Type: Type{Kind: KindTensor, Elem: elem, Ranked: true}}
}

func truth(v bool) *tensor.Tensor { return tensor.Of([]int{}, []bool{v}) }

// TestBranches: a branch that data take, which may be what it captures, or another if.
func TestBranches(t *testing.T) {
	inner := testNode("If c2 -> p", graphAttr("then_branch", nil, results("p1"), testNode("Neg x -> p1")), graphAttr("else_branch", nil, results("p2"), testNode("Identity x -> p2")))
	m := testModel(append(floats([]int{2}, "x"), scalarInfo("c", Bool), scalarInfo("c2", Bool)), results("y", "z"),
		testNode("If c -> y z", graphAttr("then_branch", nil, results("a", "x2"), testNode("Add x x -> a"), testNode("Identity x -> x2")),
			graphAttr("else_branch", nil, results("p", "one"), inner, testNode("Neg x -> one"))))
	g := mustImport(t, m, Options{})
	if n := regions(g); n["if"] != 2 || len(g.Nodes) != 1 {
		t.Errorf("regions %v\n%s", n, g)
	}
	x := tensor.Of([]int{2}, []float32{1, 3})
	wantFloats(t, evalWith(t, g, x, truth(true), truth(true))[0], 2, 6)
	out := evalWith(t, g, x, truth(false), truth(true))
	wantFloats(t, out[0], -1, -3)
	wantFloats(t, out[1], -1, -3)
	wantFloats(t, evalWith(t, g, x, truth(false), truth(false))[0], 1, 3)
}

// TestBranchTypes: branches of different types cannot both be had.
func TestBranchTypes(t *testing.T) {
	m := testModel(append(floats([]int{2}, "x"), scalarInfo("c", Bool)), results("y"),
		testNode("If c -> y", graphAttr("then_branch", nil, results("a"), testNode("Add x x -> a")), graphAttr("else_branch", nil, results("b"), testNode("Concat x x -> b", Attr{Name: "axis", Type: AttrInt, value: int64(0)}))))
	if _, err := Import(m, Options{}); err == nil || !strings.Contains(err.Error(), "output 0 is float32[2] in one branch and float32[4] in the other") {
		t.Errorf("error %v", err)
	}
}

// TestWhile: loops whose end depends on data, by their condition, by their trip count, or both; none, some or all iterations.
func TestWhile(t *testing.T) {
	body := graphAttr("body", results("i", "go", "v"), results("more", "w", "row"), testNode("Add v v -> w"), testNode("Neg v -> row"), testNode("ReduceMax w -> top", Attr{Name: "keepdims", Type: AttrInt, value: int64(0)}), testNode("Less top limit -> more"))
	inputs := append(floats([]int{1}, "x"), scalarInfo("limit", Float), scalarInfo("trips", Int64))
	for _, c := range []struct {
		loop         string
		limit, trips float64
		last         float64
		rows         []float64
		first        bool
		options      Options
	}{
		{loop: "Loop _ first x -> y all", limit: 5, last: 8, rows: []float64{-1, -2, -4}, first: true},
		{loop: "Loop _ first x -> y all", limit: 5, last: 1, first: false},
		{loop: "Loop trips first x -> y all", limit: 100, trips: 2, last: 4, rows: []float64{-1, -2}, first: true},
		{loop: "Loop trips _ x -> y all", limit: 5, trips: 20, last: 8, rows: []float64{-1, -2, -4}},
		{loop: "Loop trips _ x -> y all", limit: 5, trips: 0, last: 1},
		{loop: "Loop trips _ x -> y all", limit: 5, trips: -3, last: 1, options: Options{LoopBound: 4}},
		{loop: "Loop _ first x -> y all", limit: 3, last: 4, rows: []float64{-1, -2}, first: true, options: Options{LoopBound: 2}},
		{loop: "Loop three first x -> y all", limit: 100, last: 8, rows: []float64{-1, -2, -4}, first: true},
	} {
		m := testModel(append(slices.Clone(inputs), scalarInfo("first", Bool)), results("y", "all"), testNode(c.loop, body))
		m.Graph.Initializers = []*Tensor{scalarConst("three", int64(3))}
		var notes []string
		c.options.Notes = func(s string) { notes = append(notes, s) }
		g := mustImport(t, m, c.options)
		if n := regions(g); n["loop"] != 1 {
			t.Errorf("%s: regions %v", c.loop, n)
		}
		if noted := strings.Contains(strings.Join(notes, "\n"), "--loop-bound"); noted != (c.options.LoopBound == 0 && !strings.Contains(c.loop, "three")) {
			t.Errorf("%s: notes %q", c.loop, notes)
		}
		in := map[string]*tensor.Tensor{"x": tensor.Of([]int{1}, []float32{1}), "limit": tensor.Of([]int{}, []float32{float32(c.limit)}), "trips": tensor.Of([]int{}, []int64{int64(c.trips)}), "first": truth(c.first)}
		var given []*tensor.Tensor
		for _, v := range g.Inputs {
			given = append(given, in[v.Name])
		}
		out := evalWith(t, g, given...)
		wantFloats(t, out[0], c.last)
		wantFloats(t, out[1], c.rows...)
	}
	m := testModel(append(slices.Clone(inputs), scalarInfo("first", Bool)), results("y", "all"), testNode("Loop _ first x -> y all", body))
	g := mustImport(t, m, Options{LoopBound: 3})
	if _, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1}, []float32{1}), tensor.Of([]int{}, []float32{100}), tensor.New(types.I64), truth(true)}); err == nil || !strings.Contains(err.Error(), "bound") {
		t.Errorf("more iterations than the bound: error %v", err)
	}
}

// TestNestedRegions: a loop in a branch of a loop.
func TestNestedRegions(t *testing.T) {
	double := testNode("Loop n _ v -> d", graphAttr("body", results("j", "on", "p"), results("on", "q"), testNode("Add p p -> q")))
	choice := testNode("If even -> w", graphAttr("then_branch", nil, results("d"), double), graphAttr("else_branch", nil, results("s"), testNode("Add v x -> s")))
	outer := testNode("Loop n _ x -> y", graphAttr("body", results("i", "go", "v"), results("go", "w"), testNode("Mod i two -> r"), testNode("Equal r zero -> even"), choice))
	m := testModel(append(floats([]int{1}, "x"), scalarInfo("n", Int64)), results("y"), outer)
	m.Graph.Initializers = []*Tensor{scalarConst("two", int64(2)), scalarConst("zero", int64(0))}
	g := mustImport(t, m, Options{})
	if n := regions(g); n["loop"] != 2 || n["if"] != 1 {
		t.Errorf("regions %v\n%s", n, g)
	}
	for n, want := range []float64{3, 6, 15, 216} { // 3 * 8 + 3, times 8
		wantFloats(t, evalWith(t, g, tensor.Of([]int{1}, []float32{3}), tensor.Of([]int{}, []int64{int64(n)}))[0], want)
	}
}

// TestLoopsWithoutIterations: scan outputs of loops and scans that run not at all have the types that their bodies give, though
// the model declares none.
func TestLoopsWithoutIterations(t *testing.T) {
	body := graphAttr("body", results("i", "go", "v"), results("go", "w", "row"), testNode("Concat v v -> pair", Attr{Name: "axis", Type: AttrInt, value: int64(0)}),
		testNode("Neg v -> w"), testNode("Greater pair pair -> row"))
	for _, loop := range []string{"Loop none _ x -> y all", "Loop three never x -> y all", "Loop less _ x -> y all"} {
		m := testModel(floats([]int{2}, "x"), results("y", "all"), testNode(loop, body))
		m.Graph.Initializers = []*Tensor{scalarConst("none", int64(0)), scalarConst("three", int64(3)), scalarConst("less", int64(-7)), {Name: "never", DType: Bool, Data: []byte{0}}}
		g := mustImport(t, m, Options{})
		if n := regions(g); len(n) != 0 || g.Outputs[1].Type.String() != "bool[0,4]" {
			t.Errorf("%s: regions %v, %s", loop, n, g.Outputs[1].Type)
		}
	}
	scan := graphAttr("body", results("row"), results("pair"), testNode("Concat row row -> pair", Attr{Name: "axis", Type: AttrInt, value: int64(0)}))
	m := testModel(floats([]int{0, 2}, "x"), results("y"), testNode("Scan x -> y", scan,
		Attr{Name: "num_scan_inputs", Type: AttrInt, value: int64(1)}, Attr{Name: "scan_output_axes", Type: AttrInts, value: []int64{1}}))
	if g := mustImport(t, m, Options{}); g.Outputs[0].Type.String() != "float32[4,0]" {
		t.Errorf("scan: %s", g.Outputs[0].Type)
	}
}
