package frontend

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// inputs makes the graph's inputs of those a caller supplies, in the shapes that are settled.
func (imp *importer) inputs(e *env) error {
	for _, in := range imp.shapes.real {
		t, err := imp.inputType(in)
		if err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		if v := imp.opts.Values[in.Name]; v != nil {
			fixed, err := imp.fixed(v, t)
			if err != nil {
				return fmt.Errorf("input %q: the value it is fixed to: %w", in.Name, err)
			}
			imp.bind(e, in.Name, fixed)
			continue
		}
		imp.taken[in.Name] = true
		e.values[in.Name] = imp.Graph.Input(in.Name, t)
	}
	return nil
}

// inputType finds an input's type.
func (imp *importer) inputType(in Info) (t types.Tensor, err error) {
	switch {
	case in.Kind != "":
		return t, fmt.Errorf("its type is %s, which is not supported; only tensors are", in.Kind)
	case in.Err != nil:
		return t, in.Err
	case in.DType == 0:
		return t, errors.New("the model gives it no element type, which is not supported")
	}
	shape := imp.shapes.inputs[in.Name]
	if v := imp.opts.Values[in.Name]; shape == nil && v != nil {
		shape = v.Shape
	} else if shape == nil {
		return t, fmt.Errorf("the model does not give its shape; set it with --input-shapes '%s:[..]'", in.Name)
	}
	t = types.Of(in.DType, shape...)
	return t, t.Check()
}

// convertValues gives the values that inputs are fixed to the inputs' element types, where they stay what they are, floats
// being rounded.
func convertValues(given map[string]*tensor.Tensor, shapes *Shapes) (map[string]*tensor.Tensor, error) {
	values := maps.Clone(given)
	for _, in := range shapes.real {
		v := values[in.Name]
		if v == nil || in.Kind != "" || in.DType == 0 && in.Err == nil {
			continue // inputType says what is wrong
		}
		if in.Err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, in.Err)
		}
		out, lost := v.Convert(in.DType)
		if lost >= 0 {
			return nil, fmt.Errorf("input %q: the value it is fixed to: %s cannot hold %v", in.Name, in.DType, v.Float(lost))
		}
		values[in.Name] = out
	}
	return values, nil
}

// fixed is the constant for an input of type t. One number stands for every element.
func (imp *importer) fixed(v *tensor.Tensor, t types.Tensor) (*graph.Value, error) {
	if len(v.Shape) > 0 || t.Rank() == 0 {
		return compose.Const(v), nil
	}
	var out *graph.Value
	err := compose.Try(func() { out = imp.Filled(v, t.Shape...) })
	return out, err
}

// dimsText prints a shape with names for what is open: [N,3,224,224].
func dimsText(dims []Dim) string {
	var parts []string
	for _, d := range dims {
		switch {
		case d.Known():
			parts = append(parts, fmt.Sprint(d.Value))
		case d.Param != "":
			parts = append(parts, d.Param)
		default:
			parts = append(parts, "?")
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
