package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"lathe/internal/cpu"
	"lathe/runtime"
)

// onnxRuntime is ONNX Runtime in this process.
type onnxRuntime struct{}

// startORT loads the library.
func startORT(library string) (peer, error) {
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return nil, fmt.Errorf("%s: %w", library, err)
	}
	return onnxRuntime{}, nil
}

func (onnxRuntime) name() string    { return "onnxruntime" }
func (onnxRuntime) version() string { return ort.GetVersion() }
func (onnxRuntime) close() error    { return ort.DestroyEnvironment() }

// ortSession is a model with its inputs set and its outputs allocated.
type ortSession struct {
	session *ort.AdvancedSession
	values  []ort.Value
	results []*ort.CustomDataTensor
	types   []runtime.Tensor            // of the results
	exact   func() (*ortSession, error) // opens the model for results that do not saturate; nil where none does
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

// open opens a session with all graph optimisations, one operator at a time on the given number of threads, which spin
// between operators as they do by default.
func (onnxRuntime) open(model string, threads int, inputs []runtime.Tensor, m *runtime.Module) (session, error) {
	s, err := openORT(model, threads, inputs, m, nil)
	if err != nil {
		return nil, err
	}
	if saturates(model) {
		s.exact = func() (*ortSession, error) {
			return openORT(model, threads, inputs, m, map[string]string{"session.x64quantprecision": "1"})
		}
	}
	return s, nil
}

func openORT(model string, threads int, inputs []runtime.Tensor, m *runtime.Module, config map[string]string) (*ortSession, error) {
	s := new(ortSession)
	if err := s.open(model, threads, inputs, m, config); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// saturating reports whether ONNX Runtime's products of bytes may saturate on this machine: on x86-64 without VNNI it adds two of them to an
// int16, unless it is told otherwise, which takes it longer. Times are those of what it does by default.
func saturating() bool {
	this, err := cpu.This()
	return err == nil && goruntime.GOARCH == "amd64" && !this.Has("avx512vnni") && !this.Has("avxvnni")
}

// saturates reports whether a model's outputs may.
func saturates(model string) bool {
	if !saturating() {
		return false
	}
	file, err := os.ReadFile(model)
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"QuantizeLinear", "DynamicQuantize", "MatMulInteger", "ConvInteger", "QLinear"}, func(op string) bool {
		return bytes.Contains(file, []byte(op))
	})
}

func (s *ortSession) open(model string, threads int, inputs []runtime.Tensor, m *runtime.Module, config map[string]string) error {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return err
	}
	defer o.Destroy()
	err = errors.Join(
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll), o.SetExecutionMode(ort.ExecutionModeSequential),
		o.SetIntraOpNumThreads(threads), o.SetInterOpNumThreads(1))
	for key, value := range config {
		err = errors.Join(err, o.AddSessionConfigEntry(key, value))
	}
	if err != nil {
		return err
	}
	var names, outNames []string
	for i, info := range m.Inputs() {
		if _, err := s.tensor(inputs[i]); err != nil {
			return fmt.Errorf("input %q: %w", info.Name, err)
		}
		names = append(names, info.Name)
	}
	ins := slices.Clone(s.values)
	for i, info := range m.Outputs() {
		t, err := m.Output(i)
		if err != nil {
			return err
		}
		v, err := s.tensor(runtime.Tensor{DType: t.DType, Shape: t.Shape, Data: make([]byte, len(t.Data))})
		if err != nil {
			return fmt.Errorf("output %q: %w", info.Name, err)
		}
		outNames = append(outNames, info.Name)
		s.results, s.types = append(s.results, v), append(s.types, t)
	}
	s.session, err = ort.NewAdvancedSession(model, names, outNames, ins, s.values[len(ins):], o)
	return err
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

// Run makes one run.
func (s *ortSession) Run() error { return s.session.Run() }

func (s *ortSession) block(n int, gap time.Duration) (block, error) { return runBlock(n, gap, s.Run) }

// outputs are what the last run computed, or, where that may have saturated, what the model gives without.
func (s *ortSession) outputs() ([][]float64, error) {
	if s.exact != nil {
		e, err := s.exact()
		if err != nil {
			return nil, err
		}
		defer e.close()
		if err := e.Run(); err != nil {
			return nil, err
		}
		return e.outputs()
	}
	var list [][]float64
	for i, r := range s.results {
		t := s.types[i]
		t.Data = r.GetData()
		v, err := t.Numbers()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
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
