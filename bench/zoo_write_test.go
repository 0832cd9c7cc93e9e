package main

import (
	"os"
	"slices"
	"testing"

	"lathe/bench/zoo"
	"lathe/runtime"
)

// TestBuiltNetwork names a network that the folder does not hold: it is built, with its weights and its input beside it.
func TestBuiltNetwork(t *testing.T) {
	dir := t.TempDir()
	files, err := findModels([]string{"dcgan"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dcgan.onnx", "dcgan.weights", "dcgan.input.npy"} {
		if f, err := os.Stat(dir + "/" + name); err != nil || f.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	inputs, err := inputsOf(files[0], 1, []runtime.TensorInfo{{Name: "input", DType: "float32", Shape: []int{1, 100, 1, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	values, err := inputs[0].Float32s()
	if err != nil || !slices.Equal(inputs[0].Shape, []int{1, 100, 1, 1}) || slices.Min(values) >= 0 || slices.Max(values) <= 0 {
		t.Errorf("input %v %v: %v", inputs[0].Shape, values, err)
	}
	if files, err := findModels([]string{zoo.Twins, zoo.Twins + ".h5"}, dir); err != nil || !slices.Equal(files, []string{dir + "/resnet50_keras.onnx", dir + "/resnet50_keras.h5"}) {
		t.Errorf("%v: %v", files, err)
	}
	if _, err := findModels([]string{"nonet"}, dir); err == nil {
		t.Error("a network that nobody knows is found")
	}
}
