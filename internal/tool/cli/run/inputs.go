package run

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
	"lathe/runtime"
)

// inputSet collects a value for each input of a module.
type inputSet struct {
	module *runtime.Module
	values map[string]runtime.Tensor
	note   func(string)
}

// readInputs reads the arrays of all files. A name may be in one of them only.
func readInputs(paths []string) ([]npz.Array, error) {
	var all []npz.Array
	from := map[string]string{}
	for _, path := range paths {
		arrays, err := npz.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("inputs: %w", err)
		}
		for _, a := range arrays {
			if first, twice := from[a.Name]; twice && first != path {
				return nil, fmt.Errorf("inputs: %q is in %s and in %s", a.Name, first, path)
			}
			from[a.Name] = path
		}
		all = append(all, arrays...)
	}
	return all, nil
}

func (s *inputSet) put(name string, t runtime.Tensor) {
	if s.values == nil {
		s.values = make(map[string]runtime.Tensor)
	}
	s.values[name] = t
}

func (s *inputSet) find(name string) (runtime.TensorInfo, bool) {
	inputs := s.module.Inputs()
	i := slices.IndexFunc(inputs, func(t runtime.TensorInfo) bool { return t.Name == name })
	if i < 0 {
		i = slices.IndexFunc(inputs, func(t runtime.TensorInfo) bool { return t.Called(name) })
	}
	if i < 0 {
		return runtime.TensorInfo{}, false
	}
	return inputs[i], true
}

// fromArrays takes the arrays of an .npz file. An array without a name belongs to the only input.
func (s *inputSet) fromArrays(arrays []npz.Array) error {
	for _, a := range arrays {
		if inputs := s.module.Inputs(); a.Name == "" && len(inputs) == 1 {
			a.Name = inputs[0].Name
		}
		want, ok := s.find(a.Name)
		if !ok {
			return fmt.Errorf("the input tensor '%s' is not in the graph. Expected inputs: %s", a.Name, inputNames(s.module))
		}
		t := runtime.Tensor{DType: a.DType, Shape: a.Shape, Data: a.Data}
		if t.DType != want.DType {
			how := "converted"
			converted, err := quantized(t, want)
			if converted == nil && err == nil {
				converted, err = convert(t, want.DType)
			} else {
				how = fmt.Sprintf("rounded to steps of %.6g", want.Scale)
			}
			if err != nil {
				return fmt.Errorf("input %q: %w", a.Name, err)
			}
			s.note(fmt.Sprintf("input %q is %s and the model expects %s: %s", a.Name, t.DType, want.DType, how))
			t = *converted
		}
		s.put(want.Name, t)
	}
	return nil
}

// missing lists the inputs without a value, as the message about unknown inputs does.
func (s *inputSet) missing() []string {
	var names []string
	for _, t := range s.module.Inputs() {
		if _, ok := s.values[t.Name]; !ok {
			names = append(names, "'"+t.Name+"'")
		}
	}
	return names
}

// apply copies the values into the module.
func (s *inputSet) apply() error {
	for _, t := range s.module.Inputs() {
		if err := s.module.SetInput(t.Name, s.values[t.Name]); err != nil {
			return err
		}
	}
	return nil
}

// fill gives the inputs that have no value zeros, ones or random numbers. Random numbers are tvmc's: whole numbers below
// 128 for int8 and uint8, else from -1 to 1 and then converted, which makes zeros of other integers. They are the same in
// every run.
func (s *inputSet) fill(mode string) {
	for i, info := range s.module.Inputs() {
		if _, ok := s.values[info.Name]; ok {
			continue
		}
		s.put(info.Name, filled(info, mode, rand.New(rand.NewPCG(0, uint64(i)))))
	}
}

func filled(info runtime.TensorInfo, mode string, r *rand.Rand) runtime.Tensor {
	size, err := info.ByteSize()
	if err != nil {
		panic(err) // the runtime opened the package
	}
	t := runtime.Tensor{DType: info.DType, Shape: info.Shape, Data: make([]byte, size)}
	d, err := types.ParseDType(info.DType)
	if err != nil || mode == "zeros" {
		return t // float8 has no other fill
	}
	v := tensor.Over(d, t.Shape, t.Data)
	for i := range v.Len() {
		switch {
		case mode == "ones":
			v.SetFloat(i, 1)
		case d == types.I8 || d == types.U8:
			v.SetInt(i, int64(r.IntN(128)))
		case d == types.Bool:
			v.SetInt(i, 1) // numpy's bool of a number that is not 0
		default:
			v.SetFloat(i, 2*r.Float64()-1)
		}
	}
	return t
}

// quantized is floats as the integers of an input whose numbers have a scale; nil where they are something else.
func quantized(t runtime.Tensor, want runtime.TensorInfo) (*runtime.Tensor, error) {
	from, err := types.ParseDType(t.DType)
	if err != nil {
		return nil, err
	}
	to, err := types.ParseDType(want.DType)
	if err != nil || want.Scale == 0 || !from.IsFloat() || !to.IsInt() {
		return nil, err
	}
	q := (tensor.Over(from, t.Shape, t.Data)).Quantize(to, want.Scale, want.Zero)
	return &runtime.Tensor{DType: want.DType, Shape: t.Shape, Data: q.Bytes()}, nil
}

// dequantized is integers whose numbers have a scale as what they stand for; nil where they are something else.
func dequantized(t runtime.Tensor, info runtime.TensorInfo) *runtime.Tensor {
	from, err := types.ParseDType(t.DType)
	if err != nil || info.Scale == 0 || !from.IsInt() {
		return nil
	}
	x := (tensor.Over(from, t.Shape, t.Data)).Dequantize(info.Scale, info.Zero)
	return &runtime.Tensor{DType: x.DType.String(), Shape: t.Shape, Data: x.Bytes()}
}

// convert returns t with another element type. Floats are rounded; everything else must keep its value.
func convert(t runtime.Tensor, dtype string) (*runtime.Tensor, error) {
	from, err := types.ParseDType(t.DType)
	if err != nil {
		return nil, err
	}
	to, err := types.ParseDType(dtype)
	if err != nil {
		return nil, err
	}
	in := tensor.Over(from, t.Shape, t.Data)
	out, lost := in.Convert(to)
	if lost >= 0 {
		return nil, fmt.Errorf("the array is %s and the model expects %s, which cannot hold the value %v at position %d", t.DType, dtype, in.Float(lost), lost)
	}
	return &runtime.Tensor{DType: dtype, Shape: t.Shape, Data: out.Bytes()}, nil
}
