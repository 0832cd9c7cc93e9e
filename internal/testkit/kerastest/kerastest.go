// Package kerastest writes functional models of Keras 2 in HDF5, as Model.save does, for tests.
package kerastest

import (
	"fmt"
	"strings"

	"lathe/internal/testkit/hdf5test"
)

// A Model is a network to be written.
type Model struct {
	layers []string
	input  string
	root   *hdf5test.Group
}

// An Array is one of a layer's weights.
type Array struct {
	Shape []int
	Data  []float32
}

// New is a network with one input of float32.
func New(input string, shape ...int) *Model {
	m := &Model{input: input, root: hdf5test.New()}
	dims := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ")
	m.layers = append(m.layers, fmt.Sprintf(`{"class_name": "InputLayer", "name": "%s", "config": {"name": "%s", "batch_input_shape": [%s], "dtype": "float32"}, "inbound_nodes": []}`, input, input, dims))
	return m
}

// Layer adds a layer that is applied to others. Its config is JSON without the name and the braces.
func (m *Model) Layer(class, name, config string, from []string, weights ...Array) {
	refs := make([]string, len(from))
	for i, f := range from {
		refs[i] = fmt.Sprintf(`["%s", 0, 0, {}]`, f)
	}
	if config != "" {
		config = ", " + config
	}
	m.layers = append(m.layers, fmt.Sprintf(`{"class_name": "%s", "name": "%s", "config": {"name": "%s"%s}, "inbound_nodes": [[%s]]}`, class, name, name, config, strings.Join(refs, ", ")))
	g := m.root.At("model_weights/" + name)
	var names []string
	for i, a := range weights {
		path := fmt.Sprintf("%s/w%d", name, i)
		g.Array(path, a.Shape, a.Data)
		names = append(names, path)
	}
	g.Texts("weight_names", names...)
}

// File is the model with the result of a layer as its output.
func (m *Model) File(output string) []byte {
	m.root.Texts("model_config", fmt.Sprintf(`{"class_name": "Functional", "config": {"name": "m", "layers": [%s], "input_layers": [["%s", 0, 0]], "output_layers": [["%s", 0, 0]]}}`, strings.Join(m.layers, ", "), m.input, output))
	m.root.Texts("keras_version", "2.11.0")
	return hdf5test.File(m.root)
}
