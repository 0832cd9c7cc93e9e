package lathe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
)

// Model is a model file that has been read.
type Model struct {
	file   string
	onnx   *onnx.Model
	opts   LoadOptions
	source bundle.Source
	first  *graph.Graph // the import of Load, until a compilation takes it
	err    error        // why the model cannot be imported
}

// formats lists tvmc's names of model formats, with the extensions they are guessed by.
var formats = []struct {
	name string
	ext  []string
}{
	{"onnx", []string{".onnx"}},
	{"keras", []string{".h5", ".keras"}},
	{"pb", []string{".pb"}},
	{"tflite", []string{".tflite"}},
	{"pytorch", []string{".pth", ".pt", ".zip"}},
	{"paddle", []string{".pdmodel"}},
	{"relay", []string{".relay"}},
}

// Load reads a model file. A model with operators that Lathe does not support is read too, so that it can be inspected;
// compiling it gives the error.
func Load(path string, o LoadOptions) (*Model, error) {
	format := o.Format
	if format == "" {
		ext := strings.ToLower(filepath.Ext(path))
		for _, f := range formats {
			if slices.Contains(f.ext, ext) {
				format = f.name
			}
		}
		if format == "" {
			format = "onnx"
		}
	}
	if format != "onnx" {
		return nil, fmt.Errorf("%s: model format %s is not supported yet; onnx is", path, format)
	}
	sum, err := hashFile(path)
	if err != nil {
		return nil, err
	}
	file, err := onnx.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &Model{file: path, onnx: file, opts: o, source: bundle.Source{File: filepath.Base(path), SHA256: sum}}
	m.first, m.err = m.importGraph(o.Notes)
	return m, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (m *Model) importGraph(notes func(string)) (*graph.Graph, error) {
	g, err := onnx.Import(m.onnx, onnx.Options{Shapes: m.opts.Shapes, Notes: notes})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// graph returns a graph that the caller may change.
func (m *Model) graph() (*graph.Graph, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.first.Clone(), nil
}

// Err tells why the model cannot be compiled, or nil.
func (m *Model) Err() error { return m.err }

// Inputs returns the model's inputs in order: as they will be compiled, or as the file has them when it cannot be
// imported; dimensions it leaves open are -1 then.
func (m *Model) Inputs() []Tensor {
	if m.first != nil {
		return tensors(m.first.Inputs)
	}
	return fileTensors(m.onnx.Graph.RealInputs())
}

// Outputs returns the model's outputs in order, like Inputs.
func (m *Model) Outputs() []Tensor {
	if m.first != nil {
		return tensors(m.first.Outputs)
	}
	return fileTensors(m.onnx.Graph.Outputs)
}

func tensors(vs []*graph.Value) []Tensor {
	var list []Tensor
	for _, v := range vs {
		list = append(list, Tensor{Name: v.Name, DType: v.Type.DType.String(), Shape: v.Type.Shape})
	}
	return list
}

func fileTensors(vs []onnx.ValueInfo) []Tensor {
	var list []Tensor
	for _, v := range vs {
		t := Tensor{Name: v.Name, DType: v.Type.Elem.String()}
		for _, d := range v.Type.Dims {
			t.Shape = append(t.Shape, int(d.Value))
		}
		list = append(list, t)
	}
	return list
}

// Operators counts the operators of the model file by name, sorted by name, and tells which Lathe supports.
func (m *Model) Operators() []OpCount {
	missing := map[string]bool{}
	for _, u := range onnx.Unsupported(m.onnx) {
		missing[u.Op] = true
	}
	counts := map[string]int{}
	for _, n := range m.onnx.Graph.Nodes {
		name := n.OpType
		if n.Domain != "" {
			name = n.Domain + "." + name
		}
		counts[name]++
	}
	var list []OpCount
	for name, n := range counts {
		list = append(list, OpCount{Name: name, Count: n, Supported: !missing[name]})
	}
	slices.SortFunc(list, func(a, b OpCount) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Parameters counts the model's constant tensors and their elements.
func (m *Model) Parameters() (tensors int, elements int64) {
	for _, t := range m.onnx.Graph.Initializers {
		tensors++
		elements += int64(t.Len())
	}
	return tensors, elements
}
