package tensorflow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// def is a node in text form: inputs are separated by spaces, attributes are written `name: value`.
func def(name, op, inputs string, attrs ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %q op: %q", name, op)
	for _, in := range strings.Fields(inputs) {
		fmt.Fprintf(&b, " input: %q", in)
	}
	for _, a := range attrs {
		key, value, _ := strings.Cut(a, ": ")
		fmt.Fprintf(&b, " attr { key: %q value { %s } }", key, value)
	}
	return b.String()
}

// text is a GraphDef of nodes.
func text(nodes ...string) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "node { %s }\n", n)
	}
	return b.String() + "versions { producer: 27 }\n"
}

// input is a placeholder of float32.
func input(name string, dims ...int) string {
	return def(name, "Placeholder", "", "dtype: type: DT_FLOAT", "shape: "+dimsOf(dims))
}

func dimsOf(dims []int) string {
	var b strings.Builder
	b.WriteString("shape {")
	for _, d := range dims {
		fmt.Fprintf(&b, " dim { size: %d }", d)
	}
	return b.String() + " }"
}

// floats and ints are constants.
func floats(name string, dims []int, v ...float64) string {
	return constantText(name, "DT_FLOAT", "float_val", dims, v)
}

func ints(name string, dims []int, v ...float64) string {
	return constantText(name, "DT_INT32", "int_val", dims, v)
}

func constantText(name, typ, field string, dims []int, v []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "value: tensor { dtype: %s tensor_%s", typ, dimsOf(dims))
	for _, x := range v {
		fmt.Fprintf(&b, " %s: %v", field, x)
	}
	return def(name, "Const", "", b.String()+" }", "dtype: type: "+typ)
}

// imported is the graph of a text.
func imported(t *testing.T, graph string, o frontend.Options) *graph.Graph {
	t.Helper()
	m, err := Read([]byte(graph))
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// evaluate runs a text and returns the elements of each output by name.
func evaluate(t *testing.T, graph string, in ...*tensor.Tensor) map[string][]float64 {
	t.Helper()
	return results(t, imported(t, graph, frontend.Options{}), in...)
}

func results(t *testing.T, g *graph.Graph, in ...*tensor.Tensor) map[string][]float64 {
	t.Helper()
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]float64{}
	for i, x := range out {
		list := make([]float64, x.Len())
		for k := range list {
			list[k] = x.Float(k)
		}
		by[g.Outputs[i].Name] = list
	}
	return by
}

// numbers is a tensor of float32.
func numbers(shape []int, v ...float32) *tensor.Tensor { return tensor.Of(shape, v) }

// upTo is a tensor of 1, 2, 3 and so on.
func upTo(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i + 1)
	}
	return tensor.Of(shape, v)
}

// same compares the elements of an output.
func same(t *testing.T, got map[string][]float64, name string, want ...float64) {
	t.Helper()
	if !slices.EqualFunc(got[name], want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(b)) }) {
		t.Errorf("%s is %v, want %v", name, got[name], want)
	}
}

// loops counts the loops of a graph.
func loops(g *graph.Graph) (n int) {
	for _, x := range g.Nodes {
		if x.Op == graph.Loop {
			n++
		}
	}
	return n
}

func TestConstants(t *testing.T) {
	got := evaluate(t, text(input("x", 2, 2),
		floats("last", []int{2, 2}, 1, 5), floats("zeros", []int{2, 2}),
		def("bytes", "Const", "", `value: tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "\000\000\200?\000\000\000@" }`, "dtype: type: DT_FLOAT"),
		def("half", "Const", "", "value: tensor { dtype: DT_HALF tensor_shape { } half_val: 15360 }", "dtype: type: DT_HALF"),
		def("wide", "Cast", "half", "DstT: type: DT_FLOAT", "SrcT: type: DT_HALF"),
		def("a", "AddV2", "x last"), def("b", "AddV2", "a zeros"), def("c", "Mul", "b bytes"), def("d", "Sub", "c wide")),
		upTo(2, 2))
	same(t, got, "d", 1, 13, 7, 17)
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ graph, want string }{
		"cycle":       {text(input("x", 1), def("a", "AddV2", "x b"), def("b", "Relu", "a"), def("c", "Relu", "b")), "depends on itself"},
		"missing":     {text(def("a", "Relu", "nothing")), `there is no node "nothing"`},
		"unsupported": {text(input("x", 1), def("a", "Foo", "x"), def("b", "Foo", "a"), def("c", "Bar", "b")), `2 unsupported operators: Foo (2 nodes, first "a"), Bar (1 node, first "c")`},
		"twice":       {text(input("x", 1), def("x", "Relu", "x")), `two nodes have the name "x"`},
		"variable":    {text(input("x", 1), def("v", "VariableV2", ""), def("a", "AddV2", "x v")), `variable "v" has no value`},
		"recursion": {text(input("x", 1), def("a", "PartitionedCall", "x", `f: func { name: "f" }`)) +
			`library { function { signature { name: "f" input_arg { name: "x" } output_arg { name: "y" } } node_def { ` + def("c", "PartitionedCall", "x", `f: func { name: "f" }`) + ` } ret { key: "y" value: "c:output:0" } } }`, "calls itself"},
		"attribute": {text(input("x", 1), def("a", "Relu", "x", "slope: f: 0.5")), `attribute "slope"`},
		"nothing":   {text(input("x", 1)), "no node is an output"},
		"enter": {text(input("x", 1), def("e", "Enter", "x", `frame_name: s: "f"`), def("m", "Merge", "e n"), def("n", "NextIteration", "m"), def("s", "Switch", "m m"), def("o", "Exit", "s"), def("r", "Relu", "o")),
			"has no condition"},
		"merge": {text(input("x", 1), def("m", "Merge", "x x"), def("r", "Relu", "m")), "no Switch parted"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Read([]byte(c.graph))
			if err == nil {
				_, err = frontend.Import(m, frontend.Options{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestInputs: placeholders that say whether a network learns are false, of decoders the results are inputs, and shapes of old graphs may be unknown.
func TestInputs(t *testing.T) {
	g := text(def("wav", "Placeholder", "", "dtype: type: DT_STRING"),
		def("decoded", "DecodeWav", "wav", "desired_samples: i: 16000", "desired_channels: i: 1"),
		def("spectrum", "AudioSpectrogram", "decoded", "window_size: i: 640", "stride: i: 640"),
		def("mfcc", "Mfcc", "spectrum decoded:1", "dct_coefficient_count: i: 10"),
		def("is_training", "Placeholder", "", "dtype: type: DT_BOOL"), def("off", "LogicalNot", "is_training"), def("as", "Cast", "off", "DstT: type: DT_FLOAT"),
		def("y", "Mul", "mfcc as"))
	m, err := Read([]byte(g))
	if err != nil {
		t.Fatal(err)
	}
	if in := m.Graph.Inputs; len(in) != 1 || in[0].Name != "mfcc" || fmt.Sprint(in[0].Dims) != "[{1 } {25 } {10 }]" {
		t.Errorf("inputs %+v", in)
	}
	old := strings.ReplaceAll(text(input("x"), def("y", "Relu", "x")), "producer: 27", "producer: 17")
	if m, err = Read([]byte(old)); err != nil || m.Graph.Inputs[0].Ranked {
		t.Errorf("a shape of version 17 is known: %+v, %v", m, err)
	}
}

// TestOutputs: what nobody reads is an output, but not what only trains.
func TestOutputs(t *testing.T) {
	m, err := Read([]byte(text(input("x", 4), ints("k", nil, 2), def("top", "TopKV2", "x k"), def("init", "NoOp", "", "_x: i: 1"),
		def("gradients/a", "Relu", "x"), def("up", "AssignAddVariableOp", "x x"), ints("axis", nil, 0), def("parts", "Split", "axis x", "num_split: i: 2"))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range m.Graph.Outputs {
		names = append(names, o.Name)
	}
	if fmt.Sprint(names) != "[top top:1 parts parts:1]" {
		t.Errorf("outputs %v", names)
	}
}
