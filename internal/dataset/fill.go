package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/tool/picture"
	"lathe/internal/types"
)

// An Input is the tensor of a network that a sample becomes, of one sample: the first axis is 1 where it is the batch's.
type Input struct {
	Name  string
	DType string
	Shape []int
	// Scale and Zero of an integer input say what its numbers are: Scale (q - Zero); Scale is 0 where that is not known.
	Scale     float64
	Zero      int
	Mean, Std []float64 // how the model's file says pixels become values; nil where it does not
	Raw       Raw
}

// Raw says what whole numbers of a sample are that becomes a float input: Scale (q - Zero), 0 for the numbers themselves.
type Raw struct {
	Scale    float64
	Zero     int
	Unsigned bool // raw files hold uint8 instead of int8
}

// ParseRaw reads "SCALE,ZERO" or "SCALE,ZERO,uint8".
func ParseRaw(text string) (Raw, error) {
	parts := strings.Split(text, ",")
	bad := fmt.Errorf("%q is not of the form SCALE,ZERO or SCALE,ZERO,uint8", text)
	if len(parts) < 2 || len(parts) > 3 {
		return Raw{}, bad
	}
	scale, err := strconv.ParseFloat(parts[0], 64)
	zero, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil || !(scale > 0) || math.IsInf(scale, 0) {
		return Raw{}, bad
	}
	r := Raw{Scale: scale, Zero: zero}
	if len(parts) == 3 {
		if r.Unsigned = parts[2] == "uint8"; !r.Unsigned && parts[2] != "int8" {
			return Raw{}, bad
		}
	}
	return r, nil
}

// Fill makes the bytes of an input of a sample. Pictures take the settings.
func (v Value) Fill(in Input, s picture.Settings) ([]byte, error) {
	if v.Picture != nil {
		return fillPicture(v, in, s)
	}
	for _, a := range v.Arrays {
		if a.Name == in.Name || len(v.Arrays) == 1 {
			return fillArray(a, in)
		}
	}
	return nil, fmt.Errorf("there is nothing for input %q among %s", in.Name, strings.Join(v.names(), ", "))
}

func (v Value) names() []string {
	var names []string
	for _, a := range v.Arrays {
		names = append(names, strconv.Quote(a.Name))
	}
	return names
}

func fillPicture(v Value, in Input, s picture.Settings) ([]byte, error) {
	r, err := s.Prepare(v.Picture, picture.Input{DType: in.DType, Shape: in.Shape, Scale: in.Scale, Zero: in.Zero, Mean: in.Mean, Std: in.Std})
	switch {
	case err != nil && len(v.Arrays) == 1: // bytes that only look like a picture
		return fillArray(v.Arrays[0], in)
	case err != nil:
		return nil, err
	}
	return r.Data, nil
}

func fillArray(a npz.Array, in Input) ([]byte, error) {
	to, err := types.ParseDType(in.DType)
	if err != nil {
		return nil, err
	}
	if a.DType == raw {
		if a, err = elements(a, in, to.Size()); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(a.Shape, in.Shape) && !slices.Equal(append([]int{1}, a.Shape...), in.Shape) {
		return nil, fmt.Errorf("the sample is %v, and input %q takes %v", a.Shape, in.Name, in.Shape)
	}
	from, err := types.ParseDType(a.DType)
	if err != nil {
		return nil, err
	}
	x, err := tensor.Wrap(from, in.Shape, a.Data)
	if err != nil {
		return nil, err
	}
	if from == to && (!to.IsFloat() || in.Raw.Scale == 0) {
		return a.Data, nil
	}
	out := tensor.New(to, in.Shape...)
	switch {
	case from.IsFloat() && !to.IsFloat():
		return quantise(x, out, in)
	case !from.IsFloat() && to.IsFloat() && in.Raw.Scale != 0:
		for i := range x.Len() {
			out.SetFloat(i, (x.Float(i)-float64(in.Raw.Zero))*in.Raw.Scale)
		}
		return out.Bytes(), nil
	}
	converted, lost := x.Convert(to)
	if lost >= 0 {
		return nil, fmt.Errorf("%s %v of the sample does not fit into %s", a.DType, x.Float(lost), in.DType)
	}
	return converted.Bytes(), nil
}

// quantise rounds floats to an integer input: x / Scale + Zero, within its range.
func quantise(x, out *tensor.Tensor, in Input) ([]byte, error) {
	if in.Scale == 0 {
		converted, lost := x.Convert(out.DType)
		if lost >= 0 {
			return nil, fmt.Errorf("%v of the sample is no whole number, and the scale of input %q (%s) is not known", x.Float(lost), in.Name, in.DType)
		}
		return converted.Bytes(), nil
	}
	if !out.DType.IsInt() {
		return nil, errors.New("floats cannot become " + in.DType)
	}
	return x.Quantize(out.DType, in.Scale, in.Zero).Bytes(), nil
}
