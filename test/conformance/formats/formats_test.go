// Package formats compares models of formats other than ONNX with the outputs that their frameworks, or evaluators checked
// against these, gave: cases.json in the folder of each format under $LATHE_MODELS.
package formats

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	export "lathe/internal/export/onnx"
	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
)

// tolerance bounds the distance from the expected outputs.
var tolerance = modeltest.Distance{Relative: 1e-4}

// named lists the formats whose folder is tested, with the number of models in it.
var named = []struct {
	format string
	models int
}{
	{"keras", 4},
	{"mxnet", 3},
	{"caffe", 7},
	{"darknet", 7},
	{"paddle", 1},
	{"pb", 16},
	{"coreml", 1},
}

// asExpected makes outputs of a format comparable where what was expected is not what the network gives.
var asExpected = map[string]func(*tensor.Tensor) *tensor.Tensor{"darknet": likely}

type testCase struct {
	Model    string
	Weights  []string
	Expected []string
}

func cases(t *testing.T, format string) (dir string, list []testCase) {
	folder := format
	if format == "pb" { // as tvmc names it
		folder = "tensorflow"
	}
	dir = realmodels.Folder(t, folder)
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return dir, list
}

// TestConformanceFormats compiles, runs and compares every model.
func TestConformanceFormats(t *testing.T) {
	for _, f := range named {
		t.Run(f.format, func(t *testing.T) {
			dir, list := cases(t, f.format)
			if len(list) != f.models {
				t.Errorf("%d models instead of %d", len(list), f.models)
			}
			for _, c := range list {
				t.Run(c.Model, func(t *testing.T) {
					path := filepath.Join(dir, c.Model)
					found, err := formats.Of(path)
					if err != nil || found == nil || found.Name != f.format {
						t.Fatalf("taken for %v (%v)", found, err)
					}
					if len(c.Expected) == 0 && len(c.Weights) == 0 {
						withoutWeights(t, found, path)
					}
					for _, e := range c.Expected {
						in, out := modeltest.Read(t, filepath.Join(dir, e))
						compareOutputs(t, found, path, in, out)
					}
				})
			}
		})
	}
}

func compareOutputs(t *testing.T, f *frontend.Format, path string, given, want modeltest.Arrays) {
	t.Helper()
	m, err := f.Open(path, frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g := modeltest.Import(t, m, given)
	names := modeltest.Names(g.Outputs)
	expected := want.Of(t, names)
	compare := func(g *graph.Graph, as string, level int) {
		for i, got := range modeltest.Run(t, g, level, given.Of(t, modeltest.Names(g.Inputs))) {
			if alike := asExpected[f.Name]; alike != nil {
				got = alike(got)
			}
			far, err := modeltest.Compare(got, expected[i], tolerance)
			t.Logf("%s -O%d %s: %s", as, level, names[i], far)
			if err != nil {
				t.Errorf("%s -O%d %s: %v", as, level, names[i], err)
			}
		}
	}
	compare(g, f.Name, 0)
	compare(g, f.Name, 3)
	if again := throughONNX(t, g); !slices.Equal(modeltest.Names(again.Outputs), names) || !slices.Equal(modeltest.Names(again.Inputs), modeltest.Names(g.Inputs)) {
		t.Errorf("as ONNX it has the inputs %v and outputs %v", modeltest.Names(again.Inputs), modeltest.Names(again.Outputs))
	} else {
		compare(again, "as ONNX", 3)
	}
}

// throughONNX is what becomes of a graph that is written as ONNX for other tools.
func throughONNX(t *testing.T, g *graph.Graph) *graph.Graph {
	t.Helper()
	var b bytes.Buffer
	if err := export.Write(&b, g, export.Options{Standard: true}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := formats.Named("onnx").Open(path, frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	again, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// withoutWeights: a network alone runs where its weights are in it. Else it can be looked at, is refused by the name of what is missing, and runs with values that are made up.
func withoutWeights(t *testing.T, f *frontend.Format, path string) {
	t.Helper()
	m, err := f.Open(path, frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	if f.ReadWith == nil { // they are in the file
		runs(t, m, 0)
		runs(t, m, 3)
		return
	}
	if _, err := frontend.Import(m, frontend.Options{}); err == nil || !strings.Contains(err.Error(), "its weights are missing: there is no file") {
		t.Errorf("error %v", err)
	}
	if m, err = f.Open(path, frontend.Weights{MadeUp: true}); err != nil {
		t.Fatal(err)
	}
	runs(t, m, 3)
}

// runs compiles a model and runs it on zeros.
func runs(t *testing.T, m *frontend.Model, level int) {
	t.Helper()
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, tensor.NewOf(v.Type))
	}
	for i, x := range modeltest.Run(t, g, level, in) {
		for k := range x.Len() {
			if v := x.Float(k); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("output %d: element %d is %v", i, k, v)
			}
		}
	}
}

// likely are boxes whose classes of 0.2 or less are 0, which is how OpenCV gives them.
func likely(boxes *tensor.Tensor) *tensor.Tensor {
	const coordinates = 5
	out := tensor.New(boxes.DType, boxes.Shape...)
	for i := range boxes.Len() {
		if v := boxes.Float(i); i%boxes.Shape[1] < coordinates || v > 0.2 {
			out.SetFloat(i, v)
		}
	}
	return out
}
