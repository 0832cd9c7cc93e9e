package model

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
)

// Save writes NAME.onnx with its inputs NAME.INPUT.npy to a folder, and the weights to NAME.weights where external is set.
// It returns the model's path.
func (b *Builder) Save(dir, name string, external bool) (string, error) {
	path := filepath.Join(dir, name+".onnx")
	m := onnx.Model{Producer: "lathe-bench", Opsets: map[string]int{"": Opset}, Graph: b.graph}
	for _, n := range b.graph.Nodes {
		if n.Domain != "" {
			m.Opsets[n.Domain] = 1
		}
	}
	var beside *onnx.External
	if external {
		f, err := os.Create(filepath.Join(dir, name+".weights"))
		if err != nil {
			return "", err
		}
		defer f.Close()
		beside = &onnx.External{Name: name + ".weights", W: f}
	}
	err := create(path, func(w io.Writer) error { return m.Write(w, beside) })
	for i, t := range b.inputs {
		file := filepath.Join(dir, fmt.Sprintf("%s.%s.npy", name, b.graph.Inputs[i].Name))
		err = errors.Join(err, create(file, func(w io.Writer) error { return writeNPY(w, t) }))
	}
	return path, err
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// writeNPY writes a tensor in numpy's format, version 1.0: magic, length of the header, the header padded to a multiple of 64,
// the bytes.
func writeNPY(w io.Writer, t *tensor.Tensor) error {
	shape := ""
	for _, n := range t.Shape {
		shape += fmt.Sprintf("%d,", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descriptors[t.DType.String()], shape)
	const prefix = "\x93NUMPY\x01\x00"
	header += strings.Repeat(" ", 63-(len(prefix)+2+len(header))%64) + "\n"
	n := len(header)
	_, err := w.Write(append([]byte(prefix+string([]byte{byte(n), byte(n >> 8)})+header), t.Bytes()...))
	return err
}

// descriptors are numpy's names of the element types of inputs.
var descriptors = map[string]string{
	"float32": "<f4", "float16": "<f2", "float64": "<f8", "int64": "<i8", "int32": "<i4", "int8": "|i1", "uint8": "|u1", "bool": "|b1",
}
