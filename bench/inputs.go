package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lathe/internal/npz"
	"lathe/runtime"
)

// inputsOf returns a model's inputs: those beside the model as MODEL.INPUT.npy, others generated.
func inputsOf(model string, infos []runtime.TensorInfo) ([]runtime.Tensor, error) {
	var list []runtime.Tensor
	for _, info := range infos {
		file := strings.TrimSuffix(model, ".onnx") + "." + info.Name + ".npy"
		if _, err := os.Stat(file); err != nil || strings.ContainsRune(info.Name, filepath.Separator) {
			t, err := generated(info)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
			continue
		}
		arrays, err := npz.ReadFile(file)
		if err != nil {
			return nil, err
		}
		list = append(list, runtime.Tensor{DType: arrays[0].DType, Shape: arrays[0].Shape, Data: arrays[0].Data})
	}
	return list, nil
}

// generated fills an input with values in [0, 1) that do not repeat soon; integers are 0 or 1, which every index and
// mask takes.
func generated(info runtime.TensorInfo) (runtime.Tensor, error) {
	n := 1
	for _, d := range info.Shape {
		n *= d
	}
	switch info.DType {
	case "float32":
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i*7919%10007) / 10007
		}
		return runtime.NewTensor(v, info.Shape...)
	case "int64":
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(i % 2)
		}
		return runtime.NewTensor(v, info.Shape...)
	case "int32":
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(i % 2)
		}
		return runtime.NewTensor(v, info.Shape...)
	case "int8", "uint8", "bool":
		t := runtime.Tensor{DType: info.DType, Shape: info.Shape, Data: make([]byte, n)}
		for i := range t.Data {
			t.Data[i] = byte(i % 2)
		}
		return t, nil
	}
	return runtime.Tensor{}, fmt.Errorf("input %q: no values for element type %s; put them into MODEL.INPUT.npy", info.Name, info.DType)
}

// saveInput writes one input as inputsOf and program once read it.
func saveInput(file string, t runtime.Tensor) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = npz.Write(f, []npz.Array{{Name: "input", DType: t.DType, Shape: t.Shape, Data: t.Data}})
	return errors.Join(err, f.Close())
}
