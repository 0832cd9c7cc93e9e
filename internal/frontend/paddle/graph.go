package paddle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Read makes a model of a program and the file of its parameters, which it keeps; nil for parameters that are missing.
func Read(text, params []byte) (*frontend.Model, error) {
	p, err := readProgram(text)
	if err != nil {
		return nil, fmt.Errorf("paddle: %w", err)
	}
	var arrays map[string]*tensor.Tensor
	if params != nil {
		if arrays, err = readParams(params, p.parameters()); err != nil {
			return nil, fmt.Errorf("paddle: %w", err)
		}
	}
	m, err := p.finish(arrays)
	if err != nil {
		return nil, fmt.Errorf("paddle: %w", err)
	}
	return m, nil
}

func readProgram(text []byte) (*program, error) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return readJSON(text)
	}
	return readMessage(text)
}

// model is the program with parameters that are files.
func (p *program) model(file func(name string) ([]byte, bool)) (*frontend.Model, error) {
	arrays := map[string]*tensor.Tensor{}
	for _, name := range p.parameters() {
		data, ok := file(name)
		if !ok {
			return nil, fmt.Errorf("parameter %q has no file", name)
		}
		one, err := readParams(data, []string{name})
		if err != nil {
			return nil, err
		}
		arrays[name] = one[name]
	}
	return p.finish(arrays)
}

// attributes are those of an operator, and where in its operands each slot is.
type attributes struct {
	frontend.Values
	slots map[string][]int
}

// DType is an element type by number or name.
func (a attributes) DType(name string) (types.DType, error) {
	if number, err := a.Int(name); err == nil {
		d, ok := dtypes[number]
		if !ok {
			return d, fmt.Errorf("attribute %q is %d, which is no element type that is supported", name, number)
		}
		return d, nil
	}
	return a.Values.DType(name)
}

// finish makes the neutral graph of a program. A variable may be written several times; names stand for the last value.
func (p *program) finish(arrays map[string]*tensor.Tensor) (*frontend.Model, error) {
	g := &frontend.Graph{Name: "paddle"}
	for _, name := range p.inputs {
		g.Inputs = append(g.Inputs, p.vars[name].info(name))
	}
	for _, name := range p.parameters() {
		v := p.vars[name]
		switch t := arrays[name]; {
		case t != nil:
			g.Params = append(g.Params, frontend.Constant(name, t))
		case v.Check() != nil || !v.typed:
			return nil, fmt.Errorf("the program gives no shape of the parameter %q", name)
		default:
			g.Params = append(g.Params, frontend.MadeUp(name, v.Tensor))
		}
	}
	for _, op := range p.ops {
		n := &frontend.Node{Op: op.kind}
		a := attributes{frontend.Values{}, map[string][]int{}}
		for name, v := range op.attrs {
			if !idle(name, v) || slices.Contains(meant[op.kind], name) {
				a.Values[name] = v
			}
		}
		for _, s := range op.in {
			for _, arg := range s.args {
				a.slots[s.name] = append(a.slots[s.name], len(n.In))
				n.In = append(n.In, arg)
			}
		}
		for _, name := range resultsOf(op.kind) {
			n.Out = append(n.Out, find(op.out, name)...)
		}
		n.Attrs = a
		g.Nodes = append(g.Nodes, n)
	}
	used := map[string]bool{}
	for _, o := range p.outputs {
		if used[o.name] {
			continue
		}
		used[o.name] = true
		info := p.vars[o.value].info(o.name)
		info.DType = types.Invalid // of a hint: programs declare integers that their operators give in other widths
		g.Outputs = append(g.Outputs, info)
		if o.name != o.value {
			g.Nodes = append(g.Nodes, &frontend.Node{Op: "assign", Attrs: attributes{frontend.Values{}, map[string][]int{"X": {0}}}, In: []string{o.value}, Out: []string{o.name}})
		}
	}
	if len(g.Outputs) == 0 {
		return nil, errors.New("the program fetches nothing: it was saved for training")
	}
	return &frontend.Model{Format: "paddle", Graph: g, Table: table, Files: func() []string { return nil }, Close: func() error { return nil }, About: frontend.About{Producer: p.producer}}, nil
}

// info is a value with what the program says of it.
func (v variable) info(name string) frontend.Info {
	info := frontend.Info{Name: name, Spelt: "?"}
	if !v.typed {
		return info
	}
	info.DType, info.Spelt, info.Ranked = v.DType, v.DType.String(), true
	for k, d := range v.Shape {
		dim := frontend.Dim{Value: int64(d)}
		if d < 0 && k == 0 {
			dim.Param = "batch"
		}
		info.Dims = append(info.Dims, dim)
	}
	return info
}

// meant are attributes that are idle with other operators.
var meant = map[string][]string{
	"multiclass_nms": nmsThresholds, "multiclass_nms2": nmsThresholds, "multiclass_nms3": nmsThresholds, "matrix_nms": nmsThresholds,
	"quantize_linear": quantization, "dequantize_linear": quantization, "fake_quantize_dequantize_moving_average_abs_max": quantization,
	"fake_quantize_dequantize_abs_max": quantization, "fake_channel_wise_quantize_dequantize_abs_max": quantization,
}

var nmsThresholds, quantization = []string{"score_threshold", "nms_threshold", "post_threshold"}, []string{"bit_length", "round_type"}

// idle tells about attributes that say where and by which library an operator runs, what training or quantisation left, and fusions that
// did not take place.
func idle(name string, v any) bool {
	for _, prefix := range []string{"op_", "use_", "Scale_", "mkldnn_", "onednn_", "cudnn_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if strings.HasSuffix(name, "_threshold") && name != "fuse_brelu_threshold" || idles[name] {
		return true
	}
	if strings.HasPrefix(name, "fuse") {
		list, isList := v.([]any)
		return v == nil || v == false || v == "" || v == 0.0 || isList && len(list) == 0 || name == "fuse_brelu_threshold"
	}
	return false
}

var idles = map[string]bool{"is_test": true, "workspace_size_MB": true, "exhaustive_search": true, "force_fp32_output": true, "with_quant_attr": true, "quantization_type": true, "bit_length": true,
	"x_data_format": true, "y_data_format": true, "skip_quant": true, "activation_bits": true, "weight_bits": true, "is_sparse": true, "is_distributed": true, "remote_prefetch": true,
	"entry": true, "entry_config": true, "trainer_id": true, "slot": true, "grad_inplace": true, "table_names": true, "height_sections": true, "epmap": true, "place_type": true, "place": true,
	"persistable": true, "stop_gradient": true, "momentum": true, "trainable_statistics": true, "force_cpu": true, "is_target_assign": true, "name": true, "weight_bit_length": true, "quant_weights": true,
	"infer_flags": true, "round_type": true, "quantize_weight_bits": true, "do_model_average": true, "seed": true, "fix_seed": true}
