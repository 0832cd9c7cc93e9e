package onnx

import (
	"fmt"
	"maps"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// inputs makes the graph's inputs of those a caller supplies, in the shapes that are settled.
func (imp *importer) inputs(g *Graph, e *env) error {
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
func (imp *importer) inputType(in ValueInfo) (t types.Tensor, err error) {
	if in.Kind != KindTensor {
		return t, fmt.Errorf("its type is %s, which is not supported; only tensors are", in.Kind)
	}
	if in.Elem == 0 {
		return t, fmt.Errorf("the model gives it no element type, which is not supported")
	}
	d, err := dtypeFor(in.Elem)
	if err != nil {
		return t, err
	}
	shape := imp.shapes.inputs[in.Name]
	if v := imp.opts.Values[in.Name]; shape == nil && v != nil {
		shape = v.Shape
	} else if shape == nil {
		return t, fmt.Errorf("the model does not give its shape; set it with --input-shapes '%s:[..]'", in.Name)
	}
	t = types.Of(d, shape...)
	return t, t.Check()
}

// convertValues gives the values that inputs are fixed to the inputs' element types, where they stay what they are, floats
// being rounded.
func convertValues(given map[string]*tensor.Tensor, shapes *Shapes) (map[string]*tensor.Tensor, error) {
	values := maps.Clone(given)
	for _, in := range shapes.real {
		v := values[in.Name]
		if v == nil || in.Kind != KindTensor || in.Elem == 0 {
			continue // inputType says what is wrong
		}
		d, err := dtypeFor(in.Elem)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		out, lost := v.Convert(d)
		if lost >= 0 {
			return nil, fmt.Errorf("input %q: the value it is fixed to: %s cannot hold %v", in.Name, d, v.Float(lost))
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
