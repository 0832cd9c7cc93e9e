package keras

import (
	"fmt"

	"lathe/internal/frontend"
	"lathe/internal/types"
)

// bindInputs gives input layers their values: those the model is applied to, or inputs of the graph.
func (n *network) bindInputs(first []reference) error {
	if !n.outer && len(first) != len(n.inputs) {
		return fmt.Errorf("it has %d inputs and is applied to %d", len(first), len(n.inputs))
	}
	for i, r := range first {
		at, ok := n.byName[r.layer]
		if !ok {
			return fmt.Errorf("its input %q is no layer", r.layer)
		}
		if !n.outer {
			n.results[[2]int{at, 0}] = []string{n.inputs[i]}
			continue
		}
		l := n.layers[at]
		info, err := inputInfo(l)
		if err != nil {
			return err
		}
		n.g.Inputs = append(n.g.Inputs, info)
		n.results[[2]int{at, 0}] = []string{l.name}
	}
	return nil
}

// inputInfo reads an input layer: its shape with the batch, open extents being null.
func inputInfo(l *layer) (frontend.Info, error) {
	info := frontend.Info{Name: l.name, DType: types.F32, Spelt: "float32"}
	if text, ok := l.config["dtype"].(string); ok && l.class == "InputLayer" {
		info.Spelt = text
		info.DType, info.Err = types.ParseDType(text)
	}
	shape, ok := l.config["batch_input_shape"].([]any)
	if !ok {
		shape, ok = l.config["batch_shape"].([]any)
	}
	if !ok {
		return info, nil
	}
	info.Ranked = true
	for i, d := range shape {
		switch d := d.(type) {
		case nil:
			dim := frontend.Dim{Value: -1}
			if i == 0 {
				dim.Param = "batch"
			}
			info.Dims = append(info.Dims, dim)
		case float64:
			if d != float64(int64(d)) || d < 0 || d > types.MaxElements {
				return info, fmt.Errorf("input %q has an extent of %v", l.name, d)
			}
			info.Dims = append(info.Dims, frontend.Dim{Value: int64(d)})
		default:
			return info, fmt.Errorf("input %q has an extent of %.40v", l.name, d)
		}
	}
	return info, nil
}
