package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// inputsOf returns a model's inputs: those beside the model as MODEL.INPUT.npy, others generated. What is there for one
// item serves all items of a batch, floats a little smaller from item to item, so that no two are the same.
func inputsOf(model string, batch int, infos []runtime.TensorInfo) ([]runtime.Tensor, error) {
	var list []runtime.Tensor
	for _, info := range infos {
		file := inputFile(model, info.Name)
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
		t := runtime.Tensor{DType: arrays[0].DType, Shape: arrays[0].Shape, Data: arrays[0].Data}
		if batch > 1 && len(t.Shape) > 0 && t.Shape[0] == 1 && len(info.Shape) > 0 && info.Shape[0] == batch {
			t = repeated(t, batch)
		}
		list = append(list, t)
	}
	return list, nil
}

func inputFile(model, input string) string {
	return strings.TrimSuffix(model, filepath.Ext(model)) + "." + input + ".npy"
}

// globInputs lists the files of inputs beside a model.
func globInputs(model string) []string {
	files, err := filepath.Glob(inputFile(model, "*"))
	if err != nil {
		return nil
	}
	return files
}

// repeated makes a batch of one item.
func repeated(t runtime.Tensor, batch int) runtime.Tensor {
	r := runtime.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape)}
	r.Shape[0] = batch
	for i := range batch {
		item := slices.Clone(t.Data)
		for j := 0; t.DType == "float32" && j+4 <= len(item); j += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(item[j:]))
			binary.LittleEndian.PutUint32(item[j:], math.Float32bits(v*(1-float32(i)/32)))
		}
		r.Data = append(r.Data, item...)
	}
	return r
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

// saveInputs writes inputs under their numbers, as program once and the peers in other processes read them.
func saveInputs(file string, inputs []runtime.Tensor) error {
	var arrays []npz.Array
	for i, t := range inputs {
		arrays = append(arrays, npz.Array{Name: fmt.Sprint(i), DType: t.DType, Shape: t.Shape, Data: t.Data})
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(npz.Write(f, arrays), f.Close())
}
