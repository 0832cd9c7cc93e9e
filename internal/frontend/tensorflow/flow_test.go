package tensorflow

import (
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
)

// loopText is a loop of TensorFlow 1 that adds x so often as limit says, and keeps each sum in a TensorArray.
func loopText(limit string) string {
	frame, constant := `frame_name: s: "loop"`, "is_constant: b: true"
	return text(input("x", 2), ints("zero", nil, 0), ints("one", nil, 1), ints("limit", nil, 6), floats("start", []int{2}),
		def("array", "TensorArrayV3", limit, "dtype: type: DT_FLOAT", "element_shape: shape { unknown_rank: true }"),
		def("i0", "Enter", "zero", frame), def("s0", "Enter", "start", frame), def("f0", "Enter", "array:1", frame),
		def("x0", "Enter", "x", frame, constant), def("n0", "Enter", limit, frame, constant), def("h0", "Enter", "array", frame, constant), def("one0", "Enter", "one", frame, constant),
		def("i", "Merge", "i0 i9"), def("s", "Merge", "s0 s9"), def("f", "Merge", "f0 f9"),
		def("less", "Less", "i n0"), def("goes", "LoopCond", "less"),
		def("iS", "Switch", "i goes"), def("sS", "Switch", "s goes"), def("fS", "Switch", "f goes"),
		def("iB", "Identity", "iS:1"), def("sum", "AddV2", "sS:1 x0"), def("wrote", "TensorArrayWriteV3", "h0 iB sum fS:1"), def("next", "AddV2", "iB one0"),
		def("i9", "NextIteration", "next"), def("s9", "NextIteration", "sum"), def("f9", "NextIteration", "wrote"),
		def("sE", "Exit", "sS"), def("fE", "Exit", "fS"), def("end", "Identity", "sE"),
		def("size", "TensorArraySizeV3", "array fE"), def("places", "Range", "zero size one"), def("all", "TensorArrayGatherV3", "array places fE", "dtype: type: DT_FLOAT"))
}

func TestLoopOfFrames(t *testing.T) {
	g := imported(t, loopText("limit"), frontend.Options{})
	if loops(g) != 1 {
		t.Errorf("%d loops", loops(g))
	}
	got := results(t, g, numbers([]int{2}, 1, 10))
	same(t, got, "end", 6, 60)
	same(t, got, "all", 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60)
}

// TestLoopOfFew: a loop of few iterations is repeated.
func TestLoopOfFew(t *testing.T) {
	g := imported(t, strings.Replace(loopText("limit"), "int_val: 6", "int_val: 3", 1), frontend.Options{})
	if loops(g) != 0 {
		t.Errorf("%d loops", loops(g))
	}
	got := results(t, g, numbers([]int{2}, 1, 10))
	same(t, got, "all", 1, 10, 2, 20, 3, 30)
}

// TestLoopOfData: a loop whose condition depends on data.
func TestLoopOfData(t *testing.T) {
	frame := `frame_name: s: "loop"`
	g := imported(t, text(input("x", 2), ints("axis", []int{1}, 0), floats("most", nil, 100), floats("two", nil, 2),
		def("e", "Enter", "x", frame), def("m", "Merge", "e n"), def("sum", "Sum", "m axis"), def("less", "Less", "sum most"), def("goes", "LoopCond", "less"),
		def("s", "Switch", "m goes"), def("double", "Mul", "s:1 two"), def("n", "NextIteration", "double"), def("out", "Exit", "s"), def("y", "Identity", "out")), frontend.Options{})
	if loops(g) != 1 {
		t.Errorf("%d loops", loops(g))
	}
	same(t, results(t, g, numbers([]int{2}, 1, 2)), "y", 64, 128)
}

// choiceText is a condition of TensorFlow 1 with two results, one branch of which is a constant that hangs on it by a control input only.
func choiceText(predicate string) string {
	return text(input("x", 2), ints("axis", []int{1}, 0), floats("zero", nil, 0), def("sum", "Sum", "x axis"), def("is", "Greater", "sum zero"),
		def("no", "Const", "", "value: tensor { dtype: DT_BOOL tensor_shape { } bool_val: false }", "dtype: type: DT_BOOL"),
		def("p", "Identity", predicate), def("xS", "Switch", "x p"), def("pS", "Switch", predicate+" "+predicate), def("t", "Identity", "pS:1"), def("f", "Identity", "pS"),
		floats("two", nil, 2)+` input: "^t"`, floats("seven", []int{2}, 7)+` input: "^f"`,
		def("double", "Mul", "xS:1 two"), def("m", "Merge", "seven double"), def("negative", "Neg", "xS"), def("m2", "Merge", "negative xS:1"),
		def("a", "Identity", "m"), def("b", "Identity", "m2"))
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		predicate string
		x         []float32
		a, b      []float64
	}{
		{"is", []float32{1, 2}, []float64{2, 4}, []float64{1, 2}},
		{"is", []float32{-1, -2}, []float64{7, 7}, []float64{1, 2}},
		{"no", []float32{1, 2}, []float64{7, 7}, []float64{-1, -2}},
	} {
		got := evaluate(t, choiceText(c.predicate), tensor.Of([]int{2}, c.x))
		same(t, got, "a", c.a...)
		same(t, got, "b", c.b...)
	}
}

// whileText is a While of TensorFlow 2 that goes backwards through the rows of x, and stacks sums in a TensorList.
const whileLibrary = `library { function { signature { name: "cond" input_arg { name: "i" } input_arg { name: "list" } input_arg { name: "sum" } input_arg { name: "rows" } output_arg { name: "goes" } }
	node_def { ` + `name: "zero" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } } } } ` + ` }
	node_def { name: "more" op: "GreaterEqual" input: "i" input: "zero:output:0" }
	ret { key: "goes" value: "more:z:0" } }
  function { signature { name: "body" input_arg { name: "i" } input_arg { name: "list" } input_arg { name: "sum" } input_arg { name: "rows" }
      output_arg { name: "a" } output_arg { name: "b" } output_arg { name: "c" } output_arg { name: "d" } }
	node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
	node_def { name: "shape" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2 } } } }
	node_def { name: "next" op: "Sub" input: "i" input: "one:output:0" }
	node_def { name: "row" op: "TensorListGetItem" input: "rows" input: "i" input: "shape:output:0" attr { key: "element_dtype" value { type: DT_FLOAT } } }
	node_def { name: "more" op: "AddV2" input: "sum" input: "row:item:0" }
	node_def { name: "set" op: "TensorListSetItem" input: "list" input: "i" input: "more:z:0" attr { key: "element_dtype" value { type: DT_FLOAT } } }
	ret { key: "a" value: "next:z:0" } ret { key: "b" value: "set:output_handle:0" } ret { key: "c" value: "more:z:0" } ret { key: "d" value: "rows" } } }
`

func TestWhile(t *testing.T) {
	g := imported(t, text(input("x", 6, 2), ints("last", nil, 5), ints("n", nil, 6), ints("any", nil, -1), ints("shape", []int{1}, 2), floats("start", []int{2}),
		def("rows", "TensorListFromTensor", "x shape"), def("list", "TensorListReserve", "any n", "element_dtype: type: DT_FLOAT"),
		def("w", "StatelessWhile", "last list start rows", `cond: func { name: "cond" }`, `body: func { name: "body" }`),
		def("all", "TensorListStack", "w:1 shape", "element_dtype: type: DT_FLOAT"), def("sum", "Identity", "w:2"))+whileLibrary, frontend.Options{})
	if loops(g) != 1 {
		t.Errorf("%d loops", loops(g))
	}
	got := results(t, g, upTo(6, 2))
	same(t, got, "sum", 36, 42)
	same(t, got, "all", 36, 42, 35, 40, 32, 36, 27, 30, 20, 22, 11, 12)
}

// TestChoiceInLoop: a branch within a loop, by a predicate of what is carried, one side of which reads only a constant.
func TestChoiceInLoop(t *testing.T) {
	frame := `frame_name: s: "loop"`
	g := imported(t, text(input("x", 1), ints("zero", nil, 0), ints("one", nil, 1), ints("limit", nil, 7), floats("most", nil, 9), ints("axis", []int{1}, 0),
		def("i0", "Enter", "zero", frame), def("s0", "Enter", "x", frame), def("most0", "Enter", "most", frame, "is_constant: b: true"),
		def("axis0", "Enter", "axis", frame, "is_constant: b: true"), def("one0", "Enter", "one", frame, "is_constant: b: true"), def("limit0", "Enter", "limit", frame, "is_constant: b: true"),
		def("i", "Merge", "i0 i9"), def("s", "Merge", "s0 s9"), def("less", "Less", "i limit0"), def("goes", "LoopCond", "less"),
		def("iS", "Switch", "i goes"), def("sS", "Switch", "s goes"), def("next", "AddV2", "iS:1 one0"),
		def("total", "Sum", "sS:1 axis0"), def("small", "Less", "total most0"), def("p", "Identity", "small"), def("pS", "Switch", "small small"), def("f", "Identity", "pS"),
		def("vS", "Switch", "sS:1 p"), def("double", "AddV2", "vS:1 vS:1"), floats("three", []int{1}, 3)+` input: "^f"`, def("m", "Merge", "three double"),
		def("i9", "NextIteration", "next"), def("s9", "NextIteration", "m"), def("out", "Exit", "sS"), def("y", "Identity", "out")), frontend.Options{})
	if loops(g) != 1 {
		t.Errorf("%d loops", loops(g))
	}
	same(t, results(t, g, numbers([]int{1}, 1)), "y", 12) // 1 2 4 8 16 3 6 12
}
