package keras

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// testdata holds one model in the forms of Keras 2 and Keras 3, and what it computes: make.py.
func sample(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSmall(t *testing.T) {
	var want struct{ X, Y []float32 }
	if err := json.Unmarshal(sample(t, "expected.json"), &want); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"small.h5", "small.keras"} {
		path := filepath.Join("testdata", name)
		if head := sample(t, name); !Format.Identify(head[:min(len(head), frontend.HeadSize)], path) {
			t.Errorf("%s is not recognised", name)
		}
		m, err := Format.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		g, err := frontend.Import(m, frontend.Options{Shapes: map[string][]int{"x": {2, 3, 2}}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{2, 3, 2}, want.X)})
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != 1 || out[0].Len() != len(want.Y) || g.Outputs[0].Name != "y" {
			t.Fatalf("%s: %d outputs", name, len(out))
		}
		for i, y := range want.Y {
			if d := math.Abs(out[0].Float(i) - float64(y)); !(d < 1e-6) {
				t.Errorf("%s: element %d is %v instead of %v", name, i, out[0].Float(i), y)
			}
		}
		if consts := m.Graph.Params; len(consts) != 19 {
			t.Errorf("%s: %d weights; the layer that is called twice has one set of them", name, len(consts))
		}
	}
}

// config is the configuration in the archive.
func config(t testing.TB) []byte {
	data := sample(t, "small.keras")
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open("config.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestErrors changes the configuration: what is wrong is one line that says where.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"keras_history": ["x", 0, 0]`, `"keras_history": ["dense", 1, 0]`, "cycle"},
		{`["gru", 0, 0]`, `["none", 0, 0]`, `layer "none"`},
		{`["gru", 0, 0]`, `["gru", 7, 0]`, "call 7"},
		{`"class_name": "Functional"`, `"class_name": "MyModel"`, "MyModel"},
		{`"class_name": "Softmax"`, `"class_name": "Lambda"`, "1 unsupported operator: Lambda (1 node"},
		{`"axis": -1, "name": "y"`, `"axis": -1, "shape": 3, "name": "y"`, `attribute "shape"`},
		{`"units": 2, "activation": "linear"`, `"units": 2, "activation": "wave"`, `activation "wave"`},
		{`"merge_mode": "concat"`, `"merge_mode": "xor"`, "xor"},
		{`"output_layers": ["y", 0, 0]`, `"output_layers": []`, "no outputs"},
		{`"name": "gru"`, `"name": "add"`, `two layers "add"`},
		{`{"class_name": "Functional"`, `["class_name": "Functional"`, "the configuration"},
	} {
		text := strings.Replace(string(config(t)), c.old, c.new, -1)
		if text == string(config(t)) {
			t.Errorf("%s does not occur", c.old)
			continue
		}
		s, err := readArchive(sample(t, "small.keras"))
		if err != nil {
			t.Fatal(err)
		}
		s.config = []byte(text)
		g, err := s.graph()
		if err == nil {
			_, err = frontend.Import(&frontend.Model{Format: "keras", Graph: g, Table: table}, frontend.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// FuzzConfig imports configurations without weights.
func FuzzConfig(f *testing.F) {
	f.Add(config(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := source{config: data, version: "3.0", weights: &counted{}}.graph()
		if err == nil {
			frontend.Import(&frontend.Model{Format: "keras", Graph: g, Table: table}, frontend.Options{})
		}
	})
}

// FuzzRead reads and imports whole files.
func FuzzRead(f *testing.F) {
	f.Add(sample(f, "small.h5"))
	f.Add(sample(f, "small.keras"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(data); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}

// TestNoGroup: the layers of a model within the model, for which the file has no group, have no arrays.
func TestNoGroup(t *testing.T) {
	stores, err := (&listed{}).layers([]*layer{{name: "dense"}})
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}
	if arrays, err := stores[0].arrays(); err != nil || len(arrays) != 0 {
		t.Errorf("%v %v", arrays, err)
	}
}
