package main

import (
	"path/filepath"
	"testing"
)

// TestEvaluateModelFlags: flags about models hold for all of them, and what a variant says itself counts before.
func TestEvaluateModelFlags(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	demo := filepath.Join(repository, "examples", "demo")
	out, errs, code := latheCommand(t, "evaluate", "--data", filepath.Join(demo, "glyphs"), "--preprocess", "signed", "--fraction", "0.1", "--results", results,
		"--input-shapes", "data:[1,3,64,64]", "--model-format", "onnx", "--grid", "opt-level=1; model-format=,onnx", filepath.Join(demo, "digits.onnx"))
	if code != 0 {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	r := resultsOf(t, results)
	if len(r.Variants) != 2 {
		t.Fatalf("%d variants", len(r.Variants))
	}
	for i, want := range []string{"--opt-level 1 --input-shapes 'data:[1,3,64,64]' --model-format onnx", "--opt-level 1 --model-format onnx --input-shapes 'data:[1,3,64,64]'"} {
		v := r.Variants[i]
		if v.Error != "" || v.Options.String() != want {
			t.Errorf("%s: %s, options %s, want %s", v.Name, v.Error, v.Options, want)
		}
		if v.Sizes == nil || v.Sizes.Source < 200<<10 {
			t.Errorf("%s: sizes %+v", v.Name, v.Sizes)
		}
	}
	if _, errs, code := latheCommand(t, "evaluate", "--data", filepath.Join(demo, "glyphs"), "--results", results, "--input-shapes", "data", filepath.Join(demo, "digits.onnx")); code != 2 {
		t.Errorf("%d %s", code, errs)
	}
}
