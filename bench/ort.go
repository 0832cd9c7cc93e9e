package main

import (
	"errors"
	"fmt"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"lathe/runtime"
)

// ortSession is a model in ONNX Runtime with its inputs set and its outputs allocated.
type ortSession struct {
	session *ort.AdvancedSession
	values  []ort.Value
	outputs []*ort.CustomDataTensor
}

// startORT loads the library; the result ends its use.
func startORT(library string) (func() error, error) {
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return nil, fmt.Errorf("ONNX Runtime %s: %w", library, err)
	}
	return ort.DestroyEnvironment, nil
}

// ortTypes are ONNX Runtime's element types by numpy's names.
var ortTypes = map[string]ort.TensorElementDataType{
	"float32": ort.TensorElementDataTypeFloat, "float64": ort.TensorElementDataTypeDouble,
	"float16": ort.TensorElementDataTypeFloat16, "bool": ort.TensorElementDataTypeBool,
	"int8": ort.TensorElementDataTypeInt8, "uint8": ort.TensorElementDataTypeUint8,
	"int16": ort.TensorElementDataTypeInt16, "uint16": ort.TensorElementDataTypeUint16,
	"int32": ort.TensorElementDataTypeInt32, "uint32": ort.TensorElementDataTypeUint32,
	"int64": ort.TensorElementDataTypeInt64, "uint64": ort.TensorElementDataTypeUint64,
}

// openORT opens a session with all graph optimisations, one operator at a time on the given number of threads, which spin
// between operators as they do by default.
func openORT(model string, threads int, m *runtime.Module, inputs []runtime.Tensor) (s *ortSession, err error) {
	s = new(ortSession)
	defer func() {
		if err != nil {
			err = fmt.Errorf("ONNX Runtime: %w", errors.Join(err, s.close()))
		}
	}()
	o, err := ort.NewSessionOptions()
	if err != nil {
		return s, err
	}
	defer o.Destroy()
	err = errors.Join(
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll), o.SetExecutionMode(ort.ExecutionModeSequential),
		o.SetIntraOpNumThreads(threads), o.SetInterOpNumThreads(1))
	if err != nil {
		return s, err
	}
	var names, outNames []string
	for i, info := range m.Inputs() {
		if _, err := s.tensor(inputs[i]); err != nil {
			return s, fmt.Errorf("input %q: %w", info.Name, err)
		}
		names = append(names, info.Name)
	}
	ins := slices.Clone(s.values)
	for i, info := range m.Outputs() {
		t, err := m.Output(i)
		if err != nil {
			return s, err
		}
		v, err := s.tensor(runtime.Tensor{DType: t.DType, Shape: t.Shape, Data: make([]byte, len(t.Data))})
		if err != nil {
			return s, fmt.Errorf("output %q: %w", info.Name, err)
		}
		outNames = append(outNames, info.Name)
		s.outputs = append(s.outputs, v)
	}
	s.session, err = ort.NewAdvancedSession(model, names, outNames, ins, s.values[len(ins):], o)
	return s, err
}

func (s *ortSession) tensor(t runtime.Tensor) (*ort.CustomDataTensor, error) {
	dtype, ok := ortTypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("element type %s", t.DType)
	}
	shape := make(ort.Shape, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = int64(d)
	}
	v, err := ort.NewCustomDataTensor(shape, t.Data, dtype)
	if err == nil {
		s.values = append(s.values, v)
	}
	return v, err
}

func (s *ortSession) close() error {
	var errs []error
	if s.session != nil {
		errs = append(errs, s.session.Destroy())
	}
	for _, v := range s.values {
		errs = append(errs, v.Destroy())
	}
	return errors.Join(errs...)
}
