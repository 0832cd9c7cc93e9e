package tflite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
)

// withoutOutputs are the operators whose authors give no outputs: they are compiled and run.
var withoutOutputs = []string{"tflite_detection_post_processing_fast"}

// TestConformanceOperators: files with one operator each, with the inputs and outputs of their authors as bytes.
func TestConformanceOperators(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realmodels.Folder(t, "tflite"), "ops/glow/*.tflite"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no operators: %v", err)
	}
	for _, file := range files {
		stem := strings.TrimSuffix(file, ".tflite")
		t.Run(filepath.Base(stem), func(t *testing.T) {
			g := imported(t, file, nil)
			if slices.Contains(withoutOutputs, filepath.Base(stem)) {
				runs(t, g)
				return
			}
			check(t, g, func(role string, i int, v *graph.Value) *tensor.Tensor {
				data, err := os.ReadFile(fmt.Sprintf("%s.%s%d", stem, map[string]string{"input": "inp", "output": "out"}[role], i))
				if err != nil {
					t.Fatal(err)
				}
				x, err := tensor.Wrap(v.Type.DType, v.Type.Shape, data[1:]) // behind a mark of the runner they were made for
				if err != nil {
					t.Fatal(err)
				}
				return x
			}, modeltest.Distance{Relative: 1e-5})
		})
	}
}

// TestConformanceInt16: operators on 16 bits are equal to TensorFlow Lite Micro's reference.
func TestConformanceInt16(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realmodels.Folder(t, "tflite"), "ops/int16/*/*.tflite"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no operators: %v", err)
	}
	for _, file := range files {
		stem := strings.TrimSuffix(file, ".tflite")
		t.Run(filepath.Base(stem), func(t *testing.T) {
			check(t, imported(t, file, nil), func(role string, i int, v *graph.Value) *tensor.Tensor {
				name := fmt.Sprintf("%s_input%d_%s.csv", stem, i, v.Type.DType)
				if role == "output" {
					name = stem + "_golden_int16.csv"
				}
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				x := tensor.NewOf(v.Type)
				fields := strings.FieldsFunc(string(text), func(r rune) bool { return r == ',' || r == '\n' || r == '\r' || r == ' ' })
				if len(fields) != x.Len() {
					t.Fatalf("%s: %d numbers for %s", name, len(fields), v.Type)
				}
				for k, f := range fields {
					n, err := strconv.Atoi(f)
					if err != nil {
						t.Fatal(err)
					}
					x.SetInt(k, int64(n))
				}
				return x
			}, modeltest.Distance{})
		})
	}
}

// runs compiles a graph and runs it on zeros.
func runs(t *testing.T, g *graph.Graph) {
	t.Helper()
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, tensor.NewOf(v.Type))
	}
	for _, level := range levels {
		for i, out := range modeltest.Run(t, g, level, in) {
			if got, want := out.Type(), g.Outputs[i].Type; got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
				t.Errorf("-O%d: output %d is %s, not %s", level, i, got, want)
			}
		}
	}
}

// check runs a graph on what read gives for its inputs and compares with what it gives for its outputs.
func check(t *testing.T, g *graph.Graph, read func(role string, i int, v *graph.Value) *tensor.Tensor, most modeltest.Distance) {
	t.Helper()
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		in = append(in, read("input", i, v))
	}
	for _, level := range levels {
		for i, got := range modeltest.Run(t, g, level, in) {
			if _, err := modeltest.Compare(got, read("output", i, g.Outputs[i]), most); err != nil {
				t.Errorf("-O%d: output %d: %v", level, i, err)
			}
		}
	}
}
