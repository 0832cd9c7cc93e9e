package lathe_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/testkit/onnxtest"
	"lathe/runtime"
)

func writeModel(t *testing.T, g *onnxtest.Graph) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), g.Name+".onnx")
	if err := os.WriteFile(path, onnxtest.Model(g), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSizesOfDecoder gives a decoder's sizes in random ways, 0 included: shapes follow, inspect says that it compiles, and
// what is compiled computes right.
func TestSizesOfDecoder(t *testing.T) {
	path := writeModel(t, onnxtest.Decoder())
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 12 {
		b, s, p := r.IntN(3), r.IntN(5), i%4
		o := lathe.LoadOptions{Shapes: map[string][]int{}, Sizes: map[string]int{}}
		if r.IntN(2) == 0 {
			o.Shapes["input_ids"] = []int{b, s}
		} else {
			o.Sizes["batch"], o.Sizes["sequence_length"] = b, s
		}
		switch r.IntN(3) {
		case 0:
			o.Shapes["attention_mask"] = []int{b, p + s}
		case 1:
			o.Shapes["past.0.value"] = []int{b, 2, p, 8}
		default:
			o.Sizes["past_sequence_length"] = p
		}
		m, err := lathe.Load(path, o)
		if err != nil {
			t.Fatal(err)
		}
		info, err := lathe.Inspect(t.Context(), m)
		if err != nil || !info.Compiles {
			t.Fatalf("%+v: %v, %+v", o, err, info)
		}
		got := ""
		for _, x := range append(info.Inputs, info.Outputs...) {
			got += fmt.Sprint(x.Shape)
		}
		want := fmt.Sprint([]int{b, s}, []int{b, p + s}, []int{b, 2, p, 8}, []int{b, 2, p, 8}, []int{b, s, 32}, []int{b, 2, p + s, 8}, []int{b, 2, p + s, 8})
		if got != strings.ReplaceAll(want, "] [", "][") {
			t.Errorf("%+v: shapes %s, want %s", o, got, want)
		}
		report, err := lathe.Verify(t.Context(), m, lathe.VerifyOptions{})
		if err != nil || !report.OK {
			t.Errorf("%+v: %v, %+v", o, err, report)
		}
	}
}

// TestInspectForesees compares what Inspect says with what Compile does, and tries what it proposes.
func TestInspectForesees(t *testing.T) {
	unsupported := &onnxtest.Graph{Name: "unsupported", Inputs: []onnxtest.Value{onnxtest.V("x", onnxtest.Float, 2)}, Outputs: []onnxtest.Value{onnxtest.V("y", onnxtest.Float, 2)},
		Nodes: []onnxtest.Node{onnxtest.N("Nonesuch x -> y")}}
	byValue := &onnxtest.Graph{Name: "value", Inputs: []onnxtest.Value{onnxtest.V("x", onnxtest.Float, "n"), onnxtest.V("k", onnxtest.Int64, 1)},
		Outputs: []onnxtest.Value{onnxtest.V("y", onnxtest.Float, nil)}, Nodes: []onnxtest.Node{onnxtest.N("Expand x k -> y")}}
	rate := func(v int64) runtime.Tensor {
		return runtime.Tensor{DType: "int32", Data: []byte{byte(v), byte(v >> 8), 0, 0}}
	}
	for _, c := range []struct {
		g        *onnxtest.Graph
		o        lathe.LoadOptions
		refusal  string // "": it compiles
		proposal string
		next     string
	}{
		{onnxtest.Decoder(), lathe.LoadOptions{}, "", "", ""},
		{onnxtest.Detector(), lathe.LoadOptions{}, "kernel spans 64", "input:[1,64]", ""}, // both branches have one window then
		{onnxtest.Detector(), lathe.LoadOptions{Fix: map[string]runtime.Tensor{"sr": rate(16000)}}, "kernel spans 64", "input:[1,512]", ""},
		{onnxtest.Detector(), lathe.LoadOptions{Shapes: map[string][]int{"input": {1, 512}}}, "--fix sr=VALUE makes the input a constant", "", ""},
		{onnxtest.Detector(), lathe.LoadOptions{Shapes: map[string][]int{"input": {1, 8}}}, "kernel spans 64", "", ""},
		{unsupported, lathe.LoadOptions{}, "Nonesuch", "", ""},
		{byValue, lathe.LoadOptions{}, `shape ("k") depends on input data, which is not supported (--fix k=VALUE makes the input a constant)`, "", ""},
	} {
		path := writeModel(t, c.g)
		m, err := lathe.Load(path, c.o)
		if err != nil {
			t.Fatal(err)
		}
		info, err := lathe.Inspect(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = lathe.Compile(t.Context(), m, lathe.CompileOptions{})
		if info.Compiles != (err == nil) || err != nil && info.Refusal != err.Error() {
			t.Errorf("%s %+v: inspect says %q, compile %v", c.g.Name, c.o, info.Refusal, err)
		}
		if info.Compiles != (c.refusal == "") || !strings.Contains(info.Refusal, c.refusal) || info.Proposal != c.proposal || !strings.Contains(info.Next, c.next) {
			t.Errorf("%s %+v: %q, %q, %q; want %q, %q", c.g.Name, c.o, info.Refusal, info.Proposal, info.Next, c.refusal, c.proposal)
		}
		marked := false
		for _, o := range info.Operators {
			marked = marked || !o.Supported && o.Reason != ""
		}
		if marked != (c.refusal != "") {
			t.Errorf("%s %+v: operators %+v", c.g.Name, c.o, info.Operators)
		}
	}
}
