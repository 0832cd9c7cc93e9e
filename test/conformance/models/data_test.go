package models

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe"
	"lathe/internal/frontend/onnx"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// A dataSet is what a model gets and what it has to answer, by the positions of the model's inputs and outputs.
type dataSet struct {
	inputs, outputs []runtime.Tensor
}

// readSets reads the data sets of a network for its model, which has been read from file.
func (n *network) readSets(root, file string, m *lathe.Model) ([]*dataSet, error) {
	var sets []*dataSet
	for _, path := range n.data {
		d, err := readSet(filepath.Join(root, path), file, m)
		if err != nil {
			return nil, err
		}
		sets = append(sets, d)
	}
	return sets, nil
}

// readSet reads one data set. Its forms are:
//
//   - a folder with input_I and output_I, as ONNX's .pb or numpy's .npy;
//   - an .npz with in:NAME and out:NAME, or just NAME;
//   - NAME_output_0.pb of ONNX's light models, whose input is arange(n)/n;
//   - an .npz with output_I of the benchmark networks, whose inputs lie beside the filled model as MODEL.NAME.npy.
func readSet(path, file string, m *lathe.Model) (*dataSet, error) {
	switch {
	case strings.HasSuffix(path, "_output_0.pb"):
		return readLight(path, m)
	case strings.HasSuffix(path, ".npz"):
		return readArchive(path, strings.TrimSuffix(file, ".onnx"), m)
	default:
		return readFolder(path, m)
	}
}

func readFolder(dir string, m *lathe.Model) (*dataSet, error) {
	inputs, err := readNumbered(dir, "input", len(m.Inputs()))
	if err != nil {
		return nil, err
	}
	outputs, err := readNumbered(dir, "output", len(m.Outputs()))
	return &dataSet{inputs, outputs}, err
}

func readNumbered(dir, role string, n int) ([]runtime.Tensor, error) {
	var list []runtime.Tensor
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("%s_%d", role, i))
		t, err := readProto(file + ".pb")
		if os.IsNotExist(err) {
			t, err = readArray(file + ".npy")
		}
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func readProto(file string) (runtime.Tensor, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return runtime.Tensor{}, err
	}
	t, err := onnx.ReadTensor(b)
	if err != nil {
		return runtime.Tensor{}, fmt.Errorf("%s: %w", file, err)
	}
	return runtime.Tensor{DType: t.DType.String(), Shape: t.Dims, Data: slices.Clone(t.Data)}, nil
}

func readArray(file string) (runtime.Tensor, error) {
	arrays, err := npz.ReadFile(file)
	if err != nil {
		return runtime.Tensor{}, err
	}
	return fromArray(arrays[0]), nil
}

func fromArray(a npz.Array) runtime.Tensor {
	return runtime.Tensor{DType: a.DType, Shape: a.Shape, Data: a.Data}
}

func readLight(file string, m *lathe.Model) (*dataSet, error) {
	want, err := readProto(file)
	if err != nil {
		return nil, err
	}
	if len(m.Inputs()) != 1 {
		return nil, fmt.Errorf("%d inputs; light models have one", len(m.Inputs()))
	}
	shape := m.Inputs()[0].Shape
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)/float32(n)))
	}
	input := runtime.Tensor{DType: "float32", Shape: shape, Data: data}
	return &dataSet{[]runtime.Tensor{input}, []runtime.Tensor{want}}, nil
}

// readArchive takes inputs from the archive, or from files that begin with stem.
func readArchive(file, stem string, m *lathe.Model) (*dataSet, error) {
	arrays, err := npz.ReadFile(file)
	if err != nil {
		return nil, err
	}
	find := func(names ...string) (runtime.Tensor, bool) {
		for _, a := range arrays {
			if slices.Contains(names, a.Name) {
				return fromArray(a), true
			}
		}
		return runtime.Tensor{}, false
	}
	d := new(dataSet)
	for _, info := range m.Inputs() {
		t, ok := find("in:"+info.Name, info.Name)
		if !ok {
			if t, err = readArray(stem + "." + info.Name + ".npy"); err != nil {
				return nil, fmt.Errorf("input %q is not in %s: %w", info.Name, file, err)
			}
		}
		d.inputs = append(d.inputs, t)
	}
	for i, info := range m.Outputs() {
		t, ok := find("out:"+info.Name, info.Name, fmt.Sprint("output_", i))
		if !ok {
			return nil, fmt.Errorf("output %q is not in %s", info.Name, file)
		}
		d.outputs = append(d.outputs, t)
	}
	return d, nil
}
