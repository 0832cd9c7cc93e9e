package onnx

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dtypeFor is the element type for one of ONNX.
func dtypeFor(d DType) (types.DType, error) {
	t, ok := map[DType]types.DType{
		Float: types.F32, Double: types.F64, Float16: types.F16, BFloat16: types.BF16, Bool: types.Bool,
		Int8: types.I8, Int16: types.I16, Int32: types.I32, Int64: types.I64,
		Uint8: types.U8, Uint16: types.U16, Uint32: types.U32, Uint64: types.U64,
		Int4: types.I4, Uint4: types.U4,
	}[d]
	if !ok {
		return 0, fmt.Errorf("element type %s is not supported", d)
	}
	return t, nil
}

// constantOf makes a tensor of the model a constant that shares its bytes.
func constantOf(t *Tensor) (*graph.Value, error) {
	d, err := dtypeFor(t.DType)
	if err != nil {
		return nil, err
	}
	w, err := tensor.Wrap(d, slices.Clone(t.Dims), t.Data)
	if err != nil {
		return nil, err
	}
	if w.Shape == nil {
		w.Shape = []int{}
	}
	if err := w.Type().Check(); err != nil {
		return nil, err
	}
	return compose.Const(w), nil
}
