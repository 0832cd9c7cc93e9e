package onnx

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// filesUnder lists the files with that ending below a folder.
func filesUnder(t *testing.T, dir, ext string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ext {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// withWeights copies a model of the zoo beside a file of zeros in the place of its external data, which takes no
// space on disk.
func withWeights(t *testing.T, path string) string {
	text, err := os.ReadFile(strings.TrimSuffix(path, ".onnx") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Model string
		Bytes int64
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	weights := strings.TrimSuffix(copied, ".onnx") + ".weights"
	for name, data := range map[string][]byte{copied: model, weights: nil} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(weights, spec.Bytes); err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestConformanceModels reads every model, without exception.
func TestConformanceModels(t *testing.T) {
	dir := realmodels.Folder(t)
	files := filesUnder(t, dir, ".onnx")
	if len(files) < 1700 {
		t.Errorf("%d models, want at least 1700", len(files))
	}
	for _, path := range files {
		name := path
		if filepath.Base(filepath.Dir(path)) == "zoo" {
			path = withWeights(t, path)
		}
		m, err := ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := Expand(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.Graph.Outputs) == 0 || len(m.Graph.Nodes) == 0 && len(m.Graph.Inputs) == 0 {
			t.Errorf("%s: reads as an empty graph", name)
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConformanceTensors reads every tensor file. Those whose value the model declares to be a sequence or an optional
// must say so, and no others; the dims of the rest must agree with what the model declares.
func TestConformanceTensors(t *testing.T) {
	dir := realmodels.Folder(t)
	var files []string // other formats have files of that name too
	for _, folder := range []string{"onnx", "onnx_backend"} {
		files = append(files, filesUnder(t, filepath.Join(dir, folder), ".pb")...)
	}
	if len(files) < 5500 {
		t.Errorf("%d tensor files, want at least 5500", len(files))
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tensor, err := ReadTensor(data)
		declared, found := declaredValue(t, path)
		container := found && (declared.Kind == KindSequence || declared.Kind == KindOptional)
		switch {
		case container != errors.Is(err, ErrNotTensor):
			t.Errorf("%s: declared as %s, reading gives %v", path, declared.Kind, err)
		case err != nil && !container:
			t.Errorf("%s: %v", path, err)
		case err == nil && found && !agrees(tensor, declared):
			t.Errorf("%s: %s%v, declared as %s%v", path, tensor.DType, tensor.Dims, declared.Elem, declared.Dims)
		}
	}
}

// declaredValue finds the input or output that a file input_N.pb or output_N.pb belongs to.
func declaredValue(t *testing.T, path string) (ValueInfo, bool) {
	model := filepath.Join(filepath.Dir(filepath.Dir(path)), "model.onnx")
	kind, index, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".pb"), "_")
	i, err := strconv.Atoi(index)
	if _, statErr := os.Stat(model); err != nil || statErr != nil {
		return ValueInfo{}, false
	}
	m, err := ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	values := m.Graph.Outputs
	if kind == "input" {
		values = m.Graph.RealInputs()
	}
	if i >= len(values) {
		return ValueInfo{}, false
	}
	return values[i], true
}

func agrees(t *Tensor, v ValueInfo) bool {
	if v.Kind != KindTensor || v.Elem != 0 && v.Elem != t.DType {
		return false
	}
	if !v.Ranked {
		return true
	}
	if len(v.Dims) != len(t.Dims) {
		return false
	}
	for i, d := range v.Dims {
		if d.Known() && d.Value != int64(t.Dims[i]) {
			return false
		}
	}
	return true
}
