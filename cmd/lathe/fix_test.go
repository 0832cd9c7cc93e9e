package main

import (
	"os"
	"strings"
	"testing"

	"lathe/internal/testkit/onnxtest"
	"lathe/internal/tool/cli"
)

// What is wrong with a value of --fix is said of that value, and of nothing that would not help.
func TestFix(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, g := range []*onnxtest.Graph{onnxtest.Decoder(), onnxtest.Detector()} {
		if err := os.WriteFile(g.Name+".onnx", onnxtest.Model(g), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ file, fix, want string }{
		{"decoder", "input_ids=1.5", `input "input_ids": the value it is fixed to: int64 cannot hold 1.5`},
		{"decoder", "input_ids=[[nan]]", "int64 cannot hold NaN"},
		{"decoder", "attention_mask=9223372036854775808", "int64 cannot hold 9.223372036854776e+18"},
		{"decoder", "attention_mask=-9223372036854775808", ""},
		{"decoder", "attention_mask=1e19", "int64 cannot hold 1e+19"},
		{"decoder", "attention_mask=[1,1]", "has 1 dimension, the model's"},
		{"decoder", "input_idz=1", "did you mean input_ids?"},
		{"decoder", "batch=1", "batch is a size: --input-shapes batch=N sets it"},
		{"decoder", "logits=1", `the model has no input "logits"`},
		{"decoder", "past.0.key=[[1,2],[3]]", "the lists within a list differ in length"},
		{"decoder", "past.0.key=one", `"one" is not a number`},
		{"decoder", "past.0.key=absent.npy", "no such file"},
		{"detector", "sr=1.5", "int64 cannot hold 1.5"},
		{"detector", "sr=[[1],[2]]", "has 2 dimensions, the model's [] has 0"},
	} {
		for _, command := range []string{"compile -o x.tar", "inspect"} {
			out, errs, code := latheCommand(t, append(strings.Fields(command), "--fix", c.fix, c.file+".onnx")...)
			text := out + errs
			if c.want == "" {
				if code != cli.ExitOK {
					t.Errorf("%s --fix %s: exit code %d, %s", command, c.fix, code, text)
				}
				continue
			}
			if !strings.Contains(text, c.want) || strings.Contains(text, "looks for sizes") || strings.Contains(text, "taken as 1") || strings.Contains(text, "try:") {
				t.Errorf("%s --fix %s: exit code %d, %s", command, c.fix, code, text)
			}
		}
	}
}
