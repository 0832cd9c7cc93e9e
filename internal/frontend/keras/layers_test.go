package keras

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/hdf5test"
	"lathe/internal/types"
)

// An array is one of a layer's weights, or data.
type array struct {
	shape []int
	data  []float32
}

// waves are numbers between -1 and 1 without a pattern that sums cancel.
func waves(seed float64, shape ...int) array {
	a := array{shape: shape, data: make([]float32, types.Count(shape))}
	for i := range a.data {
		a.data[i] = float32(math.Sin(seed + 1.7*float64(i) + 0.3*float64(i*i%17)))
	}
	return a
}

func (a array) tensor() *tensor.Tensor { return tensor.Of(a.shape, a.data) }

func numbers(shape []int, data ...float32) array { return array{shape, data} }

// layerText is a layer in JSON; from names the layers that it is applied to.
func layerText(class, name, config, from string) string {
	var refs []string
	for _, f := range strings.Fields(from) {
		refs = append(refs, fmt.Sprintf(`["%s", 0, 0, {}]`, f))
	}
	calls := ""
	if refs != nil {
		calls = "[" + strings.Join(refs, ", ") + "]"
	}
	if config != "" {
		config = ", " + config
	}
	return fmt.Sprintf(`{"class_name": "%s", "name": "%s", "config": {"name": "%s"%s}, "inbound_nodes": [%s]}`, class, name, name, config, calls)
}

func inputText(name string, shape ...int) string {
	dims := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ")
	return layerText("InputLayer", name, `"batch_input_shape": [`+dims+`], "dtype": "float32"`, "")
}

// functional is a model of layers, with the results named by outputs, LAYER or LAYER:PART.
func functional(outputs string, layers ...string) string {
	var in, out []string
	for _, l := range layers {
		if strings.HasPrefix(l, `{"class_name": "InputLayer"`) {
			name, _, _ := strings.Cut(strings.TrimPrefix(l, `{"class_name": "InputLayer", "name": "`), `"`)
			in = append(in, fmt.Sprintf(`["%s", 0, 0]`, name))
		}
	}
	for _, o := range strings.Fields(outputs) {
		name, part, ok := strings.Cut(o, ":")
		if !ok {
			part = "0"
		}
		out = append(out, fmt.Sprintf(`["%s", 0, %s]`, name, part))
	}
	return fmt.Sprintf(`{"class_name": "Functional", "config": {"name": "m", "layers": [%s], "input_layers": [%s], "output_layers": [%s]}}`,
		strings.Join(layers, ", "), strings.Join(in, ", "), strings.Join(out, ", "))
}

// fileOf is a model in HDF5.
func fileOf(config, version string, weights map[string][]array) []byte {
	g := hdf5test.New()
	g.Texts("model_config", config)
	g.Texts("keras_version", version)
	all := g.At("model_weights")
	for layer, list := range weights {
		var names []string
		for i, a := range list {
			name := fmt.Sprintf("%s/w%d", layer, i)
			names = append(names, name)
			all.At(layer).Array(name, a.shape, a.data)
		}
		all.At(layer).Texts("weight_names", names...)
	}
	return hdf5test.File(g)
}

// archiveOf is a model of Keras 3; weights are by path in the tree of layers.
func archiveOf(t *testing.T, config string, weights map[string][]array) []byte {
	t.Helper()
	g := hdf5test.New()
	for _, path := range slices.Sorted(maps.Keys(weights)) {
		for i, a := range weights[path] {
			g.Array(fmt.Sprintf("%s/vars/%d", path, i), a.shape, a.data)
		}
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{{"metadata.json", []byte(`{"keras_version": "3.3.0"}`)}, {"config.json", []byte(config)}, {"model.weights.h5", hdf5test.File(g)}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// evaluate is what a file's model gives for inputs.
func evaluate(t *testing.T, file []byte, in ...array) []*tensor.Tensor {
	t.Helper()
	m, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tensors []*tensor.Tensor
	for _, a := range in {
		tensors = append(tensors, a.tensor())
	}
	out, err := grapheval.Eval(g, tensors)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same compares a result with numbers.
func sameNumbers(t *testing.T, what string, got *tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%s: %v has %d elements instead of %d", what, got.Shape, got.Len(), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(got.Float(i) - w); !(d <= 2e-6*math.Max(1, math.Abs(w))) {
			t.Errorf("%s: element %d is %v instead of %v", what, i, got.Float(i), w)
			return
		}
	}
}
