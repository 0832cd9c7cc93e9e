package onnx

import (
	"fmt"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// attributes are a node's, as converters ask for them.
type attributes struct {
	node   *Node
	bodies map[*Graph]*frontend.Graph
}

func (a attributes) Names() []string {
	names := make([]string, len(a.node.Attrs))
	for i := range a.node.Attrs {
		names[i] = a.node.Attrs[i].Name
	}
	return names
}

func (a attributes) Int(name string) (int64, error)    { return a.node.Attr(name).Int() }
func (a attributes) Ints(name string) ([]int64, error) { return a.node.Attr(name).Ints() }
func (a attributes) Str(name string) (string, error)   { return a.node.Attr(name).Str() }
func (a attributes) Strs(name string) ([]string, error) {
	return a.node.Attr(name).Strs()
}

func (a attributes) Float(name string) (float64, error) {
	f, err := a.node.Attr(name).Float()
	return float64(f), err
}

func (a attributes) Floats(name string) ([]float64, error) {
	list, err := a.node.Attr(name).Floats()
	out := make([]float64, len(list))
	for i, f := range list {
		out[i] = float64(f)
	}
	return out, err
}

// Bool is an int in ONNX.
func (a attributes) Bool(name string) (bool, error) {
	n, err := a.Int(name)
	return n != 0, err
}

// DType is given by its number.
func (a attributes) DType(name string) (types.DType, error) {
	n, err := a.Int(name)
	if err != nil {
		return 0, err
	}
	d, err := dtypeFor(dtypeOf(n))
	if err != nil {
		err = fmt.Errorf("attribute %q: %w", name, err)
	}
	return d, err
}

func (a attributes) Tensor(name string) (*tensor.Tensor, error) {
	t, err := a.node.Attr(name).Tensor()
	if err != nil {
		return nil, err
	}
	v, err := constantOf(t)
	if err != nil {
		return nil, err
	}
	return v.Const, nil
}

func (a attributes) Graph(name string) (*frontend.Graph, error) {
	g, err := a.node.Attr(name).Graph()
	return a.bodies[g], err
}
