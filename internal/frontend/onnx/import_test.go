package onnx

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// testModel is a model of opset 13 whose nodes are written "Op a b -> c"; _ is an absent operand.
func testModel(inputs, outputs []ValueInfo, nodes ...*Node) *Model {
	return &Model{IRVersion: 8, Opsets: map[string]int{"": 13}, Graph: &Graph{Name: "test", Inputs: inputs, Outputs: outputs, Nodes: nodes}}
}

func testNode(spec string, attrs ...Attr) *Node {
	left, right, _ := strings.Cut(spec, " ->")
	fields := strings.Fields(left)
	n := &Node{OpType: fields[0], Version: 13, Inputs: fields[1:], Outputs: strings.Fields(right), Attrs: attrs}
	for i, name := range n.Inputs {
		if name == "_" {
			n.Inputs[i] = ""
		}
	}
	return n
}

// floats declares float32 values of one shape, in which -1 is unknown and -2 is named N.
func floats(shape []int, names ...string) []ValueInfo {
	var list []ValueInfo
	for _, name := range names {
		v := ValueInfo{Name: name, Type: Type{Kind: KindTensor, Elem: Float, Ranked: true}}
		for _, d := range shape {
			dim := Dim{Value: int64(d)}
			if d == -2 {
				dim = Dim{Value: -1, Param: "N"}
			}
			v.Dims = append(v.Dims, dim)
		}
		list = append(list, v)
	}
	return list
}

func results(names ...string) []ValueInfo {
	var list []ValueInfo
	for _, n := range names {
		list = append(list, ValueInfo{Name: n})
	}
	return list
}

func intConst(name string, v ...int64) *Tensor { return modelTensor(name, tensor.Of([]int{len(v)}, v)) }

func scalarConst[T tensor.Element](name string, v T) *Tensor {
	return modelTensor(name, tensor.Scalar(v))
}

func graphAttr(name string, inputs, outputs []ValueInfo, nodes ...*Node) Attr {
	return Attr{Name: name, Type: AttrGraph, value: &Graph{Name: name, Inputs: inputs, Outputs: outputs, Nodes: nodes}}
}

func mustImport(t *testing.T, m *Model, o Options) *graph.Graph {
	t.Helper()
	g, err := Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// run imports m and evaluates it on ramps.
func run(t *testing.T, m *Model) []*tensor.Tensor {
	t.Helper()
	g := mustImport(t, m, Options{})
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, ramp(v.Type.DType, v.Type.Shape...))
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantFloats(t *testing.T, got *tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Fatalf("%s instead of %d values", got.Type(), len(want))
	}
	for i, w := range want {
		if !closeTo(got.Float(i), w, 1e-5, 1e-7) {
			t.Errorf("element %d is %v instead of %v", i, got.Float(i), w)
		}
	}
}

func TestNames(t *testing.T) {
	m := testModel(floats([]int{2}, "x", "w"), results("y", "copy", "z"),
		testNode("Add x w -> sum"), testNode("Identity sum -> y"), testNode("Identity x -> copy"), testNode("Identity y -> z"))
	m.Graph.Initializers = []*Tensor{modelTensor("w", tensor.Of([]int{2}, []float32{1, 2}))}
	m.Graph.Nodes[0].Name = "first"
	g := mustImport(t, m, Options{})
	var names []string
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "x y copy z" {
		t.Errorf("inputs and outputs are %q; a weight that is listed as an input is none", got)
	}
	if got := g.Nodes[0].Origin; !slices.Equal(got, []string{"first"}) {
		t.Errorf("origin is %v", got)
	}
}

// A model of the future may mean something else by its operators: the user is told.
func TestNewerOpset(t *testing.T) {
	for version, want := range map[int]int{newestOpset: 0, newestOpset + 1: 1} {
		m := testModel(floats([]int{2}, "x"), results("y"), testNode("Relu x -> y"))
		m.Opsets = map[string]int{"": version}
		var notes []string
		mustImport(t, m, Options{Notes: func(s string) { notes = append(notes, s) }})
		if len(notes) != want {
			t.Errorf("opset %d: notes %q, want %d", version, notes, want)
		}
	}
}

func TestOpenDimensions(t *testing.T) {
	inputs := append(floats([]int{-2, 3, -1}, "x"), floats([]int{-2}, "mask")...)
	m := testModel(inputs, results("y"), testNode("Shape x -> y"))
	var notes []string
	note := func(s string) { notes = append(notes, s) }
	g := mustImport(t, m, Options{Notes: note})
	if got := g.Inputs[0].Type.String(); got != "float32[1,3,1]" {
		t.Errorf("x is %s", got)
	}
	want := "N, x[2] are not given and taken as 1 (set with --input-shapes 'N=1 x:[1,3,1]')"
	if len(notes) != 1 || notes[0] != want {
		t.Errorf("notes are %q", notes)
	}
	notes = nil
	g = mustImport(t, m, Options{Notes: note, Shapes: map[string][]int{"x": {4, 3, 5}, "mask": {4}}})
	if got := g.Inputs[0].Type.String(); got != "float32[4,3,5]" || len(notes) != 0 {
		t.Errorf("x is %s, notes are %q", got, notes)
	}
}

// TestImportErrors pins the messages a user sees.
func TestImportErrors(t *testing.T) {
	x := floats([]int{2}, "x")
	unranked := []ValueInfo{{Name: "x", Type: Type{Kind: KindTensor, Elem: Float}}}
	text := []ValueInfo{{Name: "x", Type: Type{Kind: KindTensor, Elem: String, Ranked: true}}}
	for _, c := range []struct {
		name string
		m    *Model
		o    Options
		want string
	}{
		{"unsupported operators", testModel(x, results("y"), testNode("Foo x -> a"), testNode("Foo a -> b"), testNode("Bar b -> y")), Options{},
			`onnx: 2 unsupported operators: Foo (2 nodes, first "Foo:a"), Bar (1 node, first "Bar:y")`},
		{"unread attribute", testModel(x, results("y"), testNode("Relu x -> y", Attr{Name: "slope", Type: AttrFloat, value: float32(1)})), Options{},
			`onnx: Relu (output "y"): attribute "slope" of this version of the operator is not supported`},
		{"unused nodes do not matter", testModel(x, results("y"), testNode("Foo x -> a"), testNode("Relu x -> y")), Options{}, ""},
		{"unknown rank", testModel(unranked, results("y"), testNode("Relu x -> y")), Options{},
			`onnx: input "x": the model does not give its shape; set it with --input-shapes 'x:[..]'`},
		{"element type", testModel(text, results("y"), testNode("Relu x -> y")), Options{}, `onnx: input "x": element type string is not supported`},
		{"misspelt input", testModel(x, results("y"), testNode("Relu x -> y")), Options{Shapes: map[string][]int{"z": {1}}},
			`onnx: the model has no input "z"; did you mean x?; its inputs are "x"`},
		{"wrong rank", testModel(x, results("y"), testNode("Relu x -> y")), Options{Shapes: map[string][]int{"x": {1, 2}}},
			`onnx: input "x": shape [1,2] has 2 dimensions, the model's [2] has 1`},
		{"shape by data", testModel(append(x, inputOf("s", tensor.Of([]int{1}, []int64{2}))), results("y"), testNode("Reshape x s -> y")), Options{},
			`onnx: Reshape (output "y"): shape ("s") depends on input data, which is not supported`},
		{"operands", testModel(append(x, floats([]int{3}, "w")...), results("y"), testNode("Add x w -> y")), Options{}, `onnx: Add (output "y"): add: `},
		{"slope with more axes", testModel(append(x, floats([]int{3, 1}, "w")...), results("y"), testNode("PRelu x w -> y")), Options{},
			`onnx: PRelu (output "y"): a slope of shape [3 1] does not broadcast to data of shape [2]`},
		{"missing operand", testModel(x, results("y"), testNode("Add x _ -> y")), Options{}, `onnx: Add (output "y"): operand 1 is missing`},
		{"output too many", testModel(x, results("z"), testNode("Relu x -> y z")), Options{}, `onnx: Relu (output "y"): output "z" (number 1) is not supported`},
	} {
		_, err := Import(c.m, c.o)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v\ninstead of %s", c.name, err, c.want)
		}
	}
}

func TestUnsupportedListsBranches(t *testing.T) {
	m := testModel(floats([]int{2}, "x"), results("y"), testNode("If c -> y",
		graphAttr("then_branch", nil, results("a"), testNode("Foo x -> a")), graphAttr("else_branch", nil, results("b"), testNode("Relu x -> b"))))
	m.Graph.Initializers = []*Tensor{scalarConst("c", false)}
	if got := Unsupported(m); len(got) != 1 || got[0] != (frontend.Missing{Op: "Foo", Nodes: 1, First: "Foo:a"}) {
		t.Errorf("unsupported: %v", got)
	}
	mustImport(t, m, Options{}) // the branch is not taken
	m.Graph.Initializers = []*Tensor{scalarConst("c", true)}
	_, err := Import(m, Options{})
	if u, ok := errors.AsType[*frontend.UnsupportedError](err); !ok || u.Operators[0].Op != "Foo" {
		t.Errorf("error %v", err)
	}
}

func TestIfSelects(t *testing.T) {
	condition := ValueInfo{Name: "c", Type: Type{Kind: KindTensor, Elem: Bool, Ranked: true}}
	branches := []Attr{
		graphAttr("then_branch", nil, results("a"), testNode("Add x x -> a")), graphAttr("else_branch", nil, results("b"), testNode("Neg x -> b"))}
	m := testModel(append(floats([]int{2}, "x"), condition), results("y"), testNode("If c -> y", branches...))
	wantFloats(t, run(t, m)[0], -0.25, -0.5) // the ramp of bool starts with false
	m.Graph.Nodes[0].Attrs[1] = graphAttr("else_branch", nil, results("b"), testNode("Unsqueeze x zero -> b"))
	m.Graph.Initializers = []*Tensor{intConst("zero", 0)}
	if _, err := Import(m, Options{}); err == nil || !strings.Contains(err.Error(), "its condition depends on input data, and output 0 is") {
		t.Errorf("error %v", err)
	}
}

// TestLoop adds x to a running sum three times and stacks the sums; then it stops by its own condition.
func TestLoop(t *testing.T) {
	body := func(last string) Attr {
		return graphAttr("body", append(results("i", "go"), results("sum")...), results("more", "next", "row"),
			testNode("Add sum x -> next"), testNode("Identity next -> row"), testNode("Less i "+last+" -> more"))
	}
	m := testModel(floats([]int{1}, "x"), results("total", "rows"), testNode("Loop trips _ x -> total rows", body("big")))
	m.Graph.Initializers = []*Tensor{scalarConst("trips", int64(3)), scalarConst("big", int64(99)), scalarConst("one", int64(1))}
	out := run(t, m)
	wantFloats(t, out[0], 1)
	wantFloats(t, out[1], 0.5, 0.75, 1)
	if !slices.Equal(out[1].Shape, []int{3, 1}) {
		t.Errorf("rows have shape %v", out[1].Shape)
	}
	m.Graph.Nodes[0] = testNode("Loop trips _ x -> total rows", body("one"))
	wantFloats(t, run(t, m)[1], 0.5, 0.75) // iteration 1 is the last
	m.Graph.Initializers[0] = scalarConst("trips", int64(5000))
	m.Graph.Nodes[0] = testNode("Loop trips _ x -> total rows", body("big"))
	m.Graph.Initializers[1] = scalarConst("big", int64(9999))
	out = run(t, m) // too many to unroll: it runs until its condition ends it
	if !slices.Equal(out[1].Shape, []int{5000, 1}) {
		t.Errorf("rows have shape %v", out[1].Shape)
	}
}

func TestScan(t *testing.T) {
	body := graphAttr("body", results("s", "e"), results("next", "out"), testNode("Add s e -> next"), testNode("Mul next next -> out"))
	inputs := Attr{Name: "num_scan_inputs", Type: AttrInt, value: int64(1)}
	m := testModel(floats([]int{3}, "x"), results("last", "all"), testNode("Scan zero x -> last all", body, inputs,
		Attr{Name: "scan_input_directions", Type: AttrInts, value: []int64{1}}))
	m.Graph.Initializers = []*Tensor{scalarConst("zero", float32(0))}
	out := run(t, m)
	wantFloats(t, out[0], 1.5)
	wantFloats(t, out[1], 0.5625, 1.5625, 2.25)

	batched := testNode("Scan _ start x -> last all", body, inputs)
	batched.Version = 8
	m = testModel(append(floats([]int{2, 2}, "x"), floats([]int{2}, "start")...), results("last", "all"), batched)
	wantFloats(t, run(t, m)[0], 1, 2.25)
}

func TestSequences(t *testing.T) {
	m := testModel(floats([]int{2}, "x"), results("joined", "n", "has", "first"),
		testNode("SequenceConstruct x x -> a"), testNode("Neg x -> minus"), testNode("SequenceInsert a minus zero -> b"),
		testNode("SequenceErase b last -> c"), testNode("ConcatFromSequence c -> joined", Attr{Name: "axis", Type: AttrInt, value: int64(0)}),
		testNode("SequenceLength b -> n"), testNode("SequenceMap a -> d", graphAttr("body", results("e"), results("f"), testNode("Add e x -> f"))),
		testNode("SequenceAt d zero -> g"), testNode("Optional g -> o"), testNode("OptionalHasElement o -> has"), testNode("OptionalGetElement o -> h"),
		testNode("SplitToSequence h -> parts", Attr{Name: "keepdims", Type: AttrInt, value: int64(0)}), testNode("SequenceAt parts zero -> first"))
	for _, n := range m.Graph.Nodes {
		n.Version = 18
	}
	m.Graph.Initializers = []*Tensor{scalarConst("zero", int64(0)), scalarConst("last", int64(-1))}
	out := run(t, m)
	wantFloats(t, out[0], -0.25, -0.5, 0.25, 0.5)
	wantFloats(t, out[1], 3)
	wantFloats(t, out[2], 1)
	wantFloats(t, out[3], 0.5)

	m.Graph.Outputs = results("b")
	if _, err := Import(m, Options{}); err == nil || !strings.Contains(err.Error(), `output "b" is a sequence`) {
		t.Errorf("error %v", err)
	}
	m = testModel(floats([]int{2}, "x"), results("n"), testNode("SequenceEmpty -> s"), testNode("SequenceLength s -> n"))
	wantFloats(t, run(t, m)[0], 0)
}

// TestBounds checks that small models cannot ask for large ones.
func TestBounds(t *testing.T) {
	nested := testNode("Loop trips _ x -> y", graphAttr("body", results("i", "go", "v"), results("again", "w"), testNode("Less i trips -> again"),
		testNode("Loop trips _ v -> w", graphAttr("body", results("j", "on", "p"), results("more", "q"), testNode("Less j trips -> more"), testNode("Neg p -> q")))))
	m := testModel(floats([]int{1}, "x"), results("y"), nested)
	m.Graph.Initializers = []*Tensor{scalarConst("trips", int64(1000))}
	if g, err := Import(m, Options{}); err != nil || len(g.Nodes) > 10 { // what unrolls to more than there may be runs as a loop
		t.Errorf("error %v", err)
	}
	for trips, n := range map[int64]int{1 << 40: 1, 1 << 20: 1 << 40} {
		m = testModel(floats([]int{n}, "x"), results("y", "all"),
			testNode("Loop trips _ x -> y all", graphAttr("body", results("i", "go", "v"), results("go", "w", "w"), testNode("Neg v -> w"))))
		m.Graph.Initializers = []*Tensor{scalarConst("trips", trips)}
		if _, err := Import(m, Options{}); err == nil || !strings.Contains(err.Error(), "more than 1024 iterations is not supported") {
			t.Errorf("%d iterations: error %v", trips, err)
		}
	}
	m = testModel(nil, results("y"), testNode("ConstantOfShape s -> y"))
	m.Graph.Initializers = []*Tensor{intConst("s", 1<<20, 1<<20)}
	if _, err := Import(m, Options{}); err == nil || !strings.Contains(err.Error(), "more than 1 GiB") {
		t.Errorf("error %v", err)
	}
}

func TestRowsAreListed(t *testing.T) {
	list := Rows()
	i := slices.IndexFunc(list, func(r frontend.Supported) bool { return r.Op == "Softmax" && r.Domain == "" })
	if i < 0 || !slices.Equal(list[i].Since, []int{1, 13}) {
		t.Errorf("Softmax: %v", list[max(i, 0)])
	}
	if !slices.IsSortedFunc(list, func(a, b frontend.Supported) int {
		if a.Domain != b.Domain {
			return strings.Compare(a.Domain, b.Domain)
		}
		return strings.Compare(a.Op, b.Op)
	}) {
		t.Error("rows are not in order")
	}
}
