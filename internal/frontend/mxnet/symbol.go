package mxnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A symbol is the graph as the file has it.
type symbol struct {
	Nodes []node
	Heads [][]int
	Attrs map[string]any
}

// A node has its attributes under one of three names, by age.
type node struct {
	Op, Name    string
	Inputs      [][]int
	Attrs       map[string]any
	Attr, Param map[string]any
}

const maxSymbol = 64 << 20

// Read makes a model of a symbol and its weights, of which it keeps params; nil for weights that are missing.
func Read(text, params []byte) (*frontend.Model, error) {
	if len(text) > maxSymbol {
		return nil, fmt.Errorf("mxnet: a symbol of %d bytes; up to %d are read", len(text), maxSymbol)
	}
	var s symbol
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("mxnet: the symbol: %w", err)
	}
	var arrays map[string]*tensor.Tensor
	var err error
	if params != nil {
		if arrays, err = readParams(params); err != nil {
			return nil, fmt.Errorf("mxnet: the weights: %w", err)
		}
	}
	m := &frontend.Model{Format: "mxnet", Table: table, Files: func() []string { return nil }, Close: func() error { return nil }, About: frontend.About{Producer: s.producer()}}
	if m.Graph, err = s.graph(arrays); err != nil {
		return nil, fmt.Errorf("mxnet: %w", err)
	}
	return m, nil
}

// producer is MXNet with its version, 10400 being 1.4.0.
func (s *symbol) producer() string {
	if v, ok := s.Attrs["mxnet_version"].([]any); ok && len(v) == 2 {
		if n, ok := v[1].(float64); ok {
			return fmt.Sprintf("mxnet %d.%d.%d", int(n)/10000, int(n)/100%100, int(n)%100)
		}
	}
	return "mxnet"
}

// graph makes the neutral graph. Variables are weights, or inputs where there are no weights of their name; labels, which only
// losses read, are neither. Variables that are only read where layers have weights have no value where there are none at all: see call.weight.
func (s *symbol) graph(arrays map[string]*tensor.Tensor) (*frontend.Graph, error) {
	g := &frontend.Graph{Name: "mxnet"}
	results, data, read := make([]int, len(s.Nodes)), map[int]bool{}, map[int]bool{} // data: read by something else than a layer as its weight
	refer := func(ref []int, before int) error {
		if len(ref) < 2 || ref[0] < 0 || ref[0] >= before || ref[1] < 0 || ref[1] > 1<<10 {
			return fmt.Errorf("a reference %v, which is to none of the nodes before", ref)
		}
		results[ref[0]] = max(results[ref[0]], ref[1]+1)
		return nil
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Name == "" {
			return nil, fmt.Errorf("node %d has no name", i)
		}
		if losses[n.Op] && len(n.Inputs) > 1 {
			n.Inputs = n.Inputs[:1]
		}
		for k, ref := range n.Inputs {
			if err := refer(ref, i); err != nil {
				return nil, fmt.Errorf("node %q: %w", n.Name, err)
			}
			read[ref[0]] = true
			data[ref[0]] = data[ref[0]] || k == 0 || !weighted[n.Op]
		}
	}
	if len(s.Heads) == 0 {
		return nil, errors.New("the symbol has no heads: it has no outputs")
	}
	for _, ref := range s.Heads {
		if err := refer(ref, len(s.Nodes)); err != nil {
			return nil, fmt.Errorf("heads: %w", err)
		}
		data[ref[0]] = true
		g.Outputs = append(g.Outputs, frontend.Info{Name: s.value(ref), Spelt: "?"})
	}
	defined := map[string]bool{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if defined[n.Name] {
			return nil, fmt.Errorf("two nodes have the name %q", n.Name)
		}
		defined[n.Name] = true
		attrs, err := n.values()
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
		switch t := arrays[n.Name]; {
		case n.Op == "null" && t != nil:
			g.Params = append(g.Params, frontend.Constant(n.Name, t))
		case n.Op == "null" && data[i]:
			g.Inputs = append(g.Inputs, inputOf(n))
		case n.Op == "null" && arrays != nil && read[i]:
			return nil, fmt.Errorf("the weights have no array %q, which a layer needs", n.Name)
		case n.Op != "null":
			x := &frontend.Node{Op: n.Op, Name: n.Name, Attrs: attrs}
			for _, ref := range n.Inputs {
				x.In = append(x.In, s.value(ref))
			}
			if n.Op == "BatchNorm" && len(x.In) == 3 { // before MXNet 0.9, auxiliary arrays are not among the inputs
				for _, aux := range []string{n.Name + "_moving_mean", n.Name + "_moving_var"} {
					if arrays[aux] != nil && !defined[aux] {
						g.Params = append(g.Params, frontend.Constant(aux, arrays[aux]))
					}
					if arrays[aux] != nil || arrays == nil {
						x.In = append(x.In, aux)
					}
				}
			}
			for k := range max(1, results[i]) {
				x.Out = append(x.Out, s.value([]int{i, k}))
			}
			g.Nodes = append(g.Nodes, x)
		}
	}
	return g, nil
}

// value is the name of a node's result.
func (s *symbol) value(ref []int) string {
	if ref[1] == 0 {
		return s.Nodes[ref[0]].Name
	}
	return fmt.Sprintf("%s#%d", s.Nodes[ref[0]].Name, ref[1])
}

// inputOf is a variable as an input: float32 and of any shape unless the variable says otherwise.
func inputOf(n *node) frontend.Info {
	info := frontend.Info{Name: n.Name, DType: types.F32, Spelt: "float32"}
	all, err := n.all()
	if err != nil {
		return info
	}
	if text, ok := all["__dtype__"]; ok {
		if k, err := strconv.Atoi(text); err == nil && k >= 0 && k < len(dtypes) {
			info.DType = dtypes[k]
			info.Spelt = info.DType.String()
		}
	}
	if shape, ok := parse(all["__shape__"]).([]any); ok {
		info.Ranked = true
		for i, d := range shape {
			v, ok := d.(float64)
			switch {
			case !ok || v != float64(int64(v)) || v > types.MaxElements:
				info.Ranked, info.Dims = false, nil
				return info
			case v < 1 && i == 0:
				info.Dims = append(info.Dims, frontend.Dim{Value: -1, Param: "batch"})
			case v < 1:
				info.Dims = append(info.Dims, frontend.Dim{Value: -1})
			default:
				info.Dims = append(info.Dims, frontend.Dim{Value: int64(v)})
			}
		}
	}
	return info
}

// all are the attributes as texts.
func (n *node) all() (map[string]string, error) {
	out := map[string]string{}
	for _, m := range []map[string]any{n.Param, n.Attr, n.Attrs} {
		for name, v := range m {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("attribute %q is no text", name)
			}
			out[name] = text
		}
	}
	return out, nil
}

// values are the attributes, without those of training and of MXNet's memory and libraries.
func (n *node) values() (frontend.Values, error) {
	all, err := n.all()
	if err != nil {
		return nil, err
	}
	v := frontend.Values{}
	for name, text := range all {
		if strings.HasPrefix(name, "__") || idle[name] {
			continue
		}
		v[name] = parse(text)
	}
	return v, nil
}

var idle = map[string]bool{"workspace": true, "cudnn_tune": true, "cudnn_off": true, "ctx_group": true, "lr_mult": true, "wd_mult": true, "weight_lr_mult": true,
	"bias_lr_mult": true, "force_mirroring": true, "momentum": true, "p": true, "num_args": true, "grad_scale": true,
	"cudnn_algo_verbose": true, "min_calib_range": true, "max_calib_range": true, "mirror_stage": true, "tag": true}

// parse reads the text of an attribute as Python prints values: numbers, True and False, None, tuples; else it is a word.
func parse(text string) any {
	text = strings.TrimSpace(text)
	switch text {
	case "True", "true":
		return true
	case "False", "false":
		return false
	case "None", "":
		return nil
	}
	if n := len(text); n >= 2 && (text[0] == '(' && text[n-1] == ')' || text[0] == '[' && text[n-1] == ']') {
		list := []any{}
		for part := range strings.SplitSeq(text[1:n-1], ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, scalar(part))
			}
		}
		return list
	}
	return scalar(text)
}

func scalar(text string) any {
	if f, err := strconv.ParseFloat(strings.TrimSuffix(text, "L"), 64); err == nil {
		return f
	}
	return text
}
