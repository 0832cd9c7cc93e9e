package onnx

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/spelling"
	"lathe/internal/types"
)

// inputs makes the graph's inputs of those a caller supplies, with one note for all dimensions that nobody gives.
func (imp *importer) inputs(g *Graph, e *env) error {
	real := g.RealInputs()
	if err := imp.checkNames(real); err != nil {
		return err
	}
	var open []string
	for _, in := range real {
		if t := imp.opts.Values[in.Name]; t != nil {
			imp.bind(e, in.Name, compose.Const(t))
			continue
		}
		t, unknown, err := imp.inputType(in)
		if err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		if unknown != "" {
			open = append(open, unknown)
		}
		imp.taken[in.Name] = true
		e.values[in.Name] = imp.Graph.Input(in.Name, t)
	}
	if len(open) > 0 {
		imp.opts.Notes(strings.Join(open, "; "))
	}
	return nil
}

// checkNames reports options for inputs that the model does not have.
func (imp *importer) checkNames(real []ValueInfo) error {
	var names, given []string
	for _, in := range real {
		names = append(names, in.Name)
	}
	for name := range imp.opts.Shapes {
		given = append(given, name)
	}
	for name := range imp.opts.Values {
		given = append(given, name)
	}
	slices.Sort(given)
	for _, name := range given {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the model has no input %q%s; its inputs are %s", name, spelling.Hint(name, names), quoteAll(names))
		}
	}
	return nil
}

// inputType finds an input's type. The text says which dimensions are open and became 1.
func (imp *importer) inputType(in ValueInfo) (t types.Tensor, open string, err error) {
	if in.Kind != KindTensor {
		return t, "", fmt.Errorf("its type is %s, which is not supported; only tensors are", in.Kind)
	}
	if in.Elem == 0 {
		return t, "", fmt.Errorf("the model gives it no element type, which is not supported")
	}
	d, err := dtypeFor(in.Elem)
	if err != nil {
		return t, "", err
	}
	shape, given := imp.opts.Shapes[in.Name]
	switch {
	case given && in.Ranked && len(shape) != len(in.Dims):
		return t, "", fmt.Errorf("shape %v has %d dimensions, the model's %s has %d", shape, len(shape), dimsText(in.Dims), len(in.Dims))
	case given:
		shape = slices.Clone(shape)
	case !in.Ranked:
		return t, "", fmt.Errorf("the model does not give its shape; set it with --input-shapes '%s:[..]'", in.Name)
	default:
		shape, open = openDims(in)
	}
	t = types.Of(d, shape...)
	if err := t.Check(); err != nil {
		return t, "", err
	}
	return t, open, nil
}

// openDims replaces unknown dimensions by 1 and says which those were.
func openDims(in ValueInfo) (shape []int, text string) {
	shape = make([]int, len(in.Dims))
	var open []string
	for i, d := range in.Dims {
		switch {
		case d.Known():
			shape[i] = int(d.Value)
		case d.Param != "":
			shape[i] = 1
			open = append(open, d.Param)
		default:
			shape[i] = 1
			open = append(open, fmt.Sprint(i))
		}
	}
	if len(open) == 0 {
		return shape, ""
	}
	what, is := "dimension", "is"
	if len(open) > 1 {
		what, is = "dimensions", "are"
	}
	return shape, fmt.Sprintf("input %s: %s %s %s not given; compiled for 1 (set with --input-shapes '%s:%s')",
		in.Name, what, strings.Join(open, ", "), is, in.Name, dimsText(in.Dims))
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
