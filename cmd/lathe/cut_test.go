package main

import (
	"os"
	"strings"
	"testing"

	"lathe/internal/testkit/onnxtest"
	"lathe/internal/tool/cli"
)

// Values in the middle of a model become its inputs and outputs; a name that is none is refused with what is near, or where it is.
func TestCut(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, g := range []*onnxtest.Graph{onnxtest.Decoder(), onnxtest.Detector()} {
		if err := os.WriteFile(g.Name+".onnx", onnxtest.Model(g), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--inputs x --outputs q3 decoder.onnx", "input       x   float32[1,1,16]"},
		{"--inputs x --outputs q3 --input-shapes x:[2,3,16] decoder.onnx", "output      q3  float32[2,2,3,8]"},
		{"--inputs scores2,mask4 --outputs weights decoder.onnx", "operators:\n  Add      1\n  Softmax  1"},
		{"--inputs features --input-shapes features:[1,4,10] detector.onnx", "input       features  float32[1,4,10]"},
		{"--inputs scores4 decoder.onnx", `inputs: what the outputs need has no value and no node "scores4"; did you mean scores1`},
		{"--outputs wide detector.onnx", `"wide": it is within a function, a branch or a loop`},
		{"--inputs input_ids --outputs mask4 decoder.onnx", `what the outputs need has no value and no node "input_ids"`},
		{"--inputs input_ids,x --outputs q3 decoder.onnx", `no output needs "input_ids"`},
	} {
		out, errs, code := latheCommand(t, append([]string{"inspect"}, strings.Fields(c.args)...)...)
		if text := out + errs; !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, text)
		}
	}
	if _, errs, code := latheCommand(t, strings.Fields("import --inputs x --outputs q3 decoder.onnx -o part.onnx")...); code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if out, errs, _ := latheCommand(t, "inspect", "part.onnx"); !strings.Contains(out, "output      q3") {
		t.Errorf("%s%s", out, errs)
	}
	if _, errs, code := latheCommand(t, "inspect", "--inputs", "x", "some.graph"); code == cli.ExitOK {
		t.Errorf("a graph is cut: %s", errs)
	}
}
