// Command calibrate writes the ranges by which networks of package zoo are quantised: of each value that the quantiser asks for, the least
// and the greatest number that ONNX Runtime computes for the network's inputs.
//
//	calibrate -library libonnxruntime.so.1 -o DIR NAME ...
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"lathe/bench/model"
	"lathe/bench/zoo"
)

func main() {
	library := flag.String("library", "", "ONNX Runtime's shared library")
	out := flag.String("o", "zoo/ranges", "folder to write to")
	flag.Parse()
	ort.SetSharedLibraryPath(*library)
	err := ort.InitializeEnvironment(ort.WithLogLevelError())
	for _, name := range flag.Args() {
		if err == nil {
			err = calibrate(name, *out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

// calibrate writes DIR/NAME.txt.
func calibrate(name, out string) error {
	n, ok := zoo.Find(name)
	if !ok {
		return fmt.Errorf("there is no network %q", name)
	}
	b := model.New(name)
	b.Observe = true
	n.Build(b)
	dir, err := os.MkdirTemp("", "calibrate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := b.Save(dir, name, true)
	if err != nil {
		return err
	}
	text, err := ranges(file, b)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(out, name+".txt"), []byte(text), 0o666)
}

// ranges runs a model once.
func ranges(file string, b *model.Builder) (string, error) {
	var names, outs []string
	var values []ort.Value
	for i, v := range b.Graph().Inputs {
		t := b.Inputs()[i]
		names = append(names, v.Name)
		shape := make(ort.Shape, len(t.Shape))
		for k, n := range t.Shape {
			shape[k] = int64(n)
		}
		value, err := ort.NewCustomDataTensor(shape, t.Bytes(), elements[t.DType.String()])
		if err != nil {
			return "", err
		}
		defer value.Destroy()
		values = append(values, value)
	}
	for _, v := range b.Graph().Outputs {
		outs = append(outs, v.Name)
	}
	s, err := ort.NewDynamicAdvancedSession(file, names, outs, nil)
	if err != nil {
		return "", err
	}
	defer s.Destroy()
	results := make([]ort.Value, len(outs))
	if err := s.Run(values, results); err != nil {
		return "", err
	}
	return lines(outs, results)
}

// elements are ONNX Runtime's names of the element types of inputs.
var elements = map[string]ort.TensorElementDataType{"float32": ort.TensorElementDataTypeFloat, "int64": ort.TensorElementDataTypeInt64}

// lines are the ranges of all results, which they end.
func lines(names []string, results []ort.Value) (string, error) {
	var text strings.Builder
	for i, r := range results {
		t, ok := r.(*ort.Tensor[float32])
		if !ok {
			return "", fmt.Errorf("%s is no tensor of float32", names[i])
		}
		text.WriteString(model.Line(names[i], t.GetData()))
		if err := r.Destroy(); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}
