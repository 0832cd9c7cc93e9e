package tflite

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Format is TensorFlow Lite.
var Format = frontend.Format{
	Name: "tflite", Doc: "TensorFlow Lite", Extensions: []string{".tflite"},
	Identify: func(head []byte, path string) bool { return len(head) >= 8 && string(head[4:8]) == magic },
	Read:     func(path string) (*frontend.Model, error) { return frontend.ReadMapped(path, Read) },
	Options:  formatOptions,
}

// Read decodes a model held in memory, which must stay unchanged while the model is in use.
func Read(data []byte) (*frontend.Model, error) {
	m, err := read(data)
	if err != nil {
		return nil, err
	}
	var o options
	model := &frontend.Model{
		Format: "tflite", Graph: m.neutral(&o), Notes: m.notes, Table: Table, About: frontend.About{Form: fmt.Sprintf("TensorFlow Lite %d", m.version), Producer: strings.TrimSuffix(m.description, " Converted.")},
		Files: func() []string { return nil }, Close: func() error { return nil },
	}
	model.Set = func(option, value string) {
		o.set(option, value)
		model.Graph = m.neutral(&o)
	}
	return model, nil
}

// neutral is the model in the form of all formats.
func (m *model) neutral(o *options) *frontend.Graph {
	n := &neutralizer{model: m, options: o, graphs: map[int]*frontend.Graph{}}
	g := n.main()
	m.say(g)
	return g
}

// A neutralizer makes the form of all formats of a model.
type neutralizer struct {
	*model
	options *options
	graphs  map[int]*frontend.Graph // by the index of the sub-graph
}

func (n *neutralizer) graph(i int) *frontend.Graph {
	if n.graphs[i] != nil {
		return n.graphs[i]
	}
	g := n.model.graphs[i]
	nodes := make([]*frontend.Node, len(g.operators))
	for k, o := range g.operators {
		nodes[k] = n.node(o)
	}
	var params []frontend.Param
	inputs := map[*tensorInfo]bool{}
	for _, x := range g.inputs {
		inputs[x] = true
	}
	computed := map[*tensorInfo]bool{}
	for _, o := range g.operators {
		for _, x := range o.out {
			computed[x] = true
		}
	}
	for _, x := range g.tensors {
		if !inputs[x] && !computed[x] && (x.data != nil || x.empty() || x.variable) {
			params = append(params, frontend.Param{Name: x.name, Elements: int64(types.Count(x.shape)), Bytes: int64(len(x.data)), Value: x.constant})
		}
	}
	n.graphs[i] = &frontend.Graph{Name: g.name, Inputs: infos(g.inputs), Outputs: infos(g.outputs), Params: params, Nodes: nodes}
	return n.graphs[i]
}

// node is an operator in the form of all formats.
func (n *neutralizer) node(o *operator) *frontend.Node {
	var bodies []*frontend.Graph
	for _, b := range o.bodies() {
		bodies = append(bodies, n.graph(b))
	}
	node := &frontend.Node{Op: o.name, Version: 1, In: namesOf(o.in), Out: namesOf(o.out), Attrs: attributes{o, n.graphs, n.options}, Sub: bodies}
	if o.custom {
		node.Domain = customDomain
	}
	return node
}

// customDomain is the domain of operators that a file only names.
const customDomain = "custom"

func namesOf(list []*tensorInfo) []string {
	names := make([]string, len(list))
	for i, x := range list {
		if x != nil {
			names[i] = x.name
		}
	}
	return names
}

func infos(list []*tensorInfo) []frontend.Info {
	out := make([]frontend.Info, len(list))
	for i, x := range list {
		out[i] = x.info(x.name)
	}
	return out
}

// info is what the file says about a value of the tensor's type.
func (x *tensorInfo) info(name string) frontend.Info {
	v := frontend.Info{Name: name, Spelt: x.elem.String(), Ranked: true}
	v.DType, v.Err = x.elem.dtype()
	shape := x.shape
	if len(x.signature) == len(x.shape) {
		shape = x.signature
	}
	for _, n := range shape {
		v.Dims = append(v.Dims, frontend.Dim{Value: int64(max(n, -1))})
	}
	return v
}

// constant is a tensor of the file as a value.
func (x *tensorInfo) constant(b *compose.Builder) (v *graph.Value, err error) {
	if err := compose.Try(func() { v = x.value(b) }); err != nil {
		return nil, fmt.Errorf("constant %q: %w", x.name, err)
	}
	return v, nil
}

func (x *tensorInfo) value(b *compose.Builder) *graph.Value {
	d, err := x.elem.dtype()
	if err != nil {
		compose.Fail("%w", err)
	}
	t := types.Of(d, append([]int{}, x.shape...)...)
	if err := t.Check(); err != nil {
		compose.Fail("%w", err)
	}
	switch {
	case x.data == nil: // a variable, which starts as real 0, or no elements
		return b.Full(d, float64(x.zero()), t.Shape...)
	case x.sparsity.buffer != nil:
		return compose.Const(x.dense(b, t))
	case x.elem == elemInt4:
		return compose.Const(x.nibbles(b, t))
	}
	w, err := tensor.Wrap(d, t.Shape, x.data)
	if err != nil {
		compose.Fail("%w", err)
	}
	return compose.Const(w)
}

// nibbles unpacks int4.
func (x *tensorInfo) nibbles(b *compose.Builder, t types.Tensor) *tensor.Tensor {
	if n := t.Elements(); (n+1)/2 != len(x.data) {
		compose.Fail("%d int4 in %d bytes", n, len(x.data))
	}
	out := b.Zeros(t.DType, t.Shape...)
	for i := range out.Bytes() {
		out.Bytes()[i] = byte(int8(x.data[i/2]<<(4-4*(i%2))) >> 4)
	}
	return out
}

// zero is the zero point of the first index.
func (x *tensorInfo) zero() int {
	if len(x.quant.zero) == 0 {
		return 0
	}
	return int(x.quant.zero[0])
}

// quantized reports whether the elements stand for real numbers: small integers with a scale.
func (x *tensorInfo) quantized() bool {
	if x == nil || len(x.quant.scale) == 0 {
		return false
	}
	d, _ := x.elem.dtype()
	return slices.Contains([]types.DType{types.I8, types.U8, types.I16}, d)
}

// sameScale reports whether equal integers of both stand for equal numbers.
func (x *tensorInfo) sameScale(y *tensorInfo) bool {
	return x.elem == y.elem && slices.Equal(x.quant.scale, y.quant.scale) && x.zero() == y.zero()
}
