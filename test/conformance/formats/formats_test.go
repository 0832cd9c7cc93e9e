// Package formats compares models of formats other than ONNX with the outputs that their frameworks, or evaluators checked
// against these, gave: cases.json in the folder of each format under $LATHE_MODELS.
package formats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/graph"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/toolchain"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// relative bounds the L2 distance from the expected outputs.
const relative = 1e-4

// named lists the formats whose folder is tested, with the number of models in it.
var named = []struct {
	format string
	models int
}{
	{"keras", 4},
	{"mxnet", 3},
	{"caffe", 7},
	{"darknet", 7},
}

type testCase struct {
	Model    string
	Weights  []string
	Expected []string
}

func cases(t *testing.T, format string) (dir string, list []testCase) {
	root := os.Getenv("LATHE_MODELS")
	if root == "" {
		t.Skip("LATHE_MODELS is unset: no folder of models to compile")
	}
	dir = filepath.Join(root, format)
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return dir, list
}

// TestConformanceFormats compiles, runs and compares every model; those without weights are refused in one line.
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
						in, out := arrays(t, filepath.Join(dir, e))
						compareOutputs(t, found, path, in, out)
					}
				})
			}
		})
	}
}

func compareOutputs(t *testing.T, f *frontend.Format, path string, given, want []array) {
	t.Helper()
	m, err := f.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	shapes := map[string][]int{}
	for i, in := range m.Graph.Inputs {
		shapes[in.Name] = find(t, given, in.Name, i).Shape
	}
	g, err := frontend.Import(m, frontend.Options{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		in = append(in, find(t, given, v.Name, i))
	}
	for _, level := range []int{0, 3} {
		out := run(t, g, level, in)
		for i, v := range g.Outputs {
			got, want := out[i], find(t, want, v.Name, i)
			if f.Name == "darknet" {
				got = likely(got)
			}
			far, err := distance(got, want)
			t.Logf("-O%d %s: %.2g", level, v.Name, far)
			if err != nil || !(far <= relative) {
				t.Errorf("-O%d %s: relative distance %.3g (%v)", level, v.Name, far, err)
			}
		}
	}
}

// withoutWeights: a network alone is refused by the name of what is missing.
func withoutWeights(t *testing.T, f *frontend.Format, path string) {
	t.Helper()
	if _, err := f.Read(path); err == nil || !strings.Contains(err.Error(), "its weights are missing: there is no file") {
		t.Errorf("error %v", err)
	}
}

func host(t *testing.T) *target.Target {
	spec, err := target.Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	this, err := spec.Resolve(toolchain.Host)
	if err != nil {
		t.Fatal(err)
	}
	return this
}

func run(t *testing.T, g *graph.Graph, level int, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	res, err := compile.Compile(t.Context(), g.Clone(), compile.Options{Target: host(t), Level: level, Workers: 2})
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	out, err := verify.Execute(res, in, 1)
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	return out
}

type array struct {
	name string
	*tensor.Tensor
}

// find is the array of a name, or the one in its place: evaluators have names of their own.
func find(t *testing.T, list []array, name string, i int) *tensor.Tensor {
	t.Helper()
	at := slices.IndexFunc(list, func(a array) bool { return a.name == name })
	if at < 0 && i < len(list) {
		at = i
	}
	if at < 0 {
		t.Fatalf("no array for %q", name)
	}
	return list[at].Tensor
}

// arrays reads an archive of arrays named in:NAME and out:NAME.
func arrays(t *testing.T, file string) (in, out []array) {
	t.Helper()
	list, err := npz.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		d, err := types.ParseDType(a.DType)
		if err != nil {
			t.Fatal(err)
		}
		x, err := tensor.Wrap(d, a.Shape, a.Data)
		if err != nil {
			t.Fatal(err)
		}
		role, name, _ := strings.Cut(strings.ReplaceAll(a.Name, "|", "/"), ":")
		if role == "in" {
			in = append(in, array{name, x})
		} else {
			out = append(out, array{name, x})
		}
	}
	return in, out
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

// distance is the relative L2 distance.
func distance(got, want *tensor.Tensor) (float64, error) {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return math.NaN(), fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	var difference, size float64
	for i := range want.Len() {
		d := got.Float(i) - want.Float(i)
		difference, size = difference+d*d, size+want.Float(i)*want.Float(i)
	}
	return math.Sqrt(difference / max(size, 1e-30)), nil
}
