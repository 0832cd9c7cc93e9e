package keras

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// What a model may unfold to: models within models are called as often as they are written.
const (
	maxLayers = 100_000
	maxNested = 32
)

// attributes are a node's: the options of its layer, and which operands are data, in front of weights.
type attributes struct {
	frontend.Values
	data  int
	named map[string]int // operands that the call names
}

// A builder makes the neutral graph of a configuration.
type builder struct {
	g       *frontend.Graph
	version int             // major, of Keras
	params  map[string]bool // that the graph has
	left    int             // layers that may still be added
}

func (s source) graph() (*frontend.Graph, error) {
	top, err := parseModel(s.config)
	if err != nil {
		return nil, err
	}
	l, err := parseLayer(top)
	if err != nil {
		return nil, err
	}
	if !isModel(l.class) {
		return nil, fmt.Errorf("the model is of the class %q, whose layers are known to its Python code only (Sequential and functional models are supported)", l.class)
	}
	b := &builder{g: &frontend.Graph{Name: l.name}, version: major(s.version), params: map[string]bool{}, left: maxLayers}
	outputs, err := b.model(l, "", nil, s.weights, 0)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		b.g.Outputs = append(b.g.Outputs, frontend.Info{Name: o, Spelt: "?"})
	}
	return b.g, nil
}

// model adds the layers of a model that is applied to inputs, nil for the outermost, whose inputs are the graph's. It returns
// the names of its results.
func (b *builder) model(m *layer, prefix string, inputs []string, weights store, depth int) ([]string, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("models are nested more than %d deep", maxNested)
	}
	entries, _ := m.config["layers"].([]any)
	if len(entries) == 0 {
		return nil, fmt.Errorf("model %q has no layers", m.name)
	}
	n := &network{builder: b, prefix: prefix, inputs: inputs, outer: inputs == nil, depth: depth, byName: map[string]int{}, results: map[[2]int][]string{}, parts: map[[2]int]int{}}
	for _, e := range entries {
		l, err := parseLayer(e)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", m.name, err)
		}
		if _, twice := n.byName[l.name]; twice {
			return nil, fmt.Errorf("model %q has two layers %q", m.name, l.name)
		}
		n.byName[l.name] = len(n.layers)
		n.layers = append(n.layers, l)
	}
	if m.class == "Sequential" {
		n.sequence()
	}
	var err error
	if n.stores, err = weights.layers(n.layers); err != nil {
		return nil, err
	}
	first, last := n.ends(m)
	if err := n.bindInputs(first); err != nil {
		return nil, fmt.Errorf("model %q: %w", m.name, err)
	}
	for _, l := range n.layers {
		for call := range l.calls {
			for _, r := range n.operands(&l.calls[call]) {
				if at, ok := n.byName[r.layer]; ok {
					n.parts[[2]int{at, r.call}] = max(n.parts[[2]int{at, r.call}], r.part+1)
				}
			}
		}
	}
	for _, r := range last {
		if at, ok := n.byName[r.layer]; ok {
			n.parts[[2]int{at, r.call}] = max(n.parts[[2]int{at, r.call}], r.part+1)
		}
	}
	var out []string
	for _, r := range last {
		name, err := n.value(r)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", m.name, err)
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("model %q has no outputs", m.name)
	}
	return out, nil
}

// A network is a model whose layers are being added.
type network struct {
	*builder
	prefix  string
	inputs  []string // what it is applied to
	outer   bool     // its inputs are the graph's
	depth   int
	layers  []*layer
	stores  []store
	byName  map[string]int
	results map[[2]int][]string // of layer and call; nil while its operands are looked for
	parts   map[[2]int]int      // how many results of layer and call are wanted
	pending int
}

// sequence makes a functional model of a list of layers.
func (n *network) sequence() {
	if n.layers[0].class != "InputLayer" {
		first := n.layers[0]
		in := &layer{class: "InputLayer", name: first.name + "_input", config: map[string]any{}}
		for _, key := range []string{"batch_input_shape", "batch_shape", "dtype"} {
			in.config[key] = first.config[key]
		}
		if _, ok := first.config["mask_zero"]; ok && in.config["dtype"] == nil { // an Embedding
			in.config["dtype"] = "float32"
		}
		n.layers = append([]*layer{in}, n.layers...)
	}
	for i, l := range n.layers {
		n.byName[l.name] = i
		if i > 0 {
			l.calls = []application{{args: []any{[]any{n.layers[i-1].name, 0., 0.}}}}
		}
	}
}

// ends are the references to a model's inputs and results.
func (n *network) ends(m *layer) (first, last []reference) {
	if m.class == "Sequential" {
		return []reference{{layer: n.layers[0].name}}, []reference{{layer: n.layers[len(n.layers)-1].name}}
	}
	return references(m.config["input_layers"]), references(m.config["output_layers"])
}

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

// operands are the references of a call, positional ones first.
func (n *network) operands(c *application) []reference {
	list := references(c.args)
	for _, name := range sortedKeys(c.kwargs) {
		list = append(list, references(c.kwargs[name])...)
	}
	return list
}

// value is the name of a result, whose layer is added with all that it needs.
func (n *network) value(r reference) (string, error) {
	at, ok := n.byName[r.layer]
	if !ok {
		return "", fmt.Errorf("a reference to layer %q, which there is not", r.layer)
	}
	key := [2]int{at, r.call}
	if got, seen := n.results[key]; seen {
		switch {
		case got == nil:
			return "", fmt.Errorf("layer %q needs its own result: the model has a cycle", r.layer)
		case r.part >= len(got):
			return "", fmt.Errorf("layer %q has %d results, number %d is wanted", r.layer, len(got), r.part)
		}
		return got[r.part], nil
	}
	l := n.layers[at]
	if r.call >= len(l.calls) {
		return "", fmt.Errorf("layer %q is called %d times, the result of call %d is wanted", r.layer, len(l.calls), r.call)
	}
	if n.left--; n.left < 0 {
		return "", fmt.Errorf("the model has more than %d layers, those of models within models counted at each call", maxLayers)
	}
	n.results[key] = nil
	if n.pending++; n.pending > maxLayers {
		return "", errors.New("layers wait for each other without end")
	}
	got, err := n.add(l, at, r.call)
	if err != nil {
		return "", err
	}
	n.pending--
	n.results[key] = got
	return n.value(r)
}

// add adds a call of a layer and returns the names of its results.
func (n *network) add(l *layer, at, call int) ([]string, error) {
	c := &l.calls[call]
	name := n.prefix + l.name
	if call > 0 {
		name = fmt.Sprintf("%s:%d", name, call)
	}
	node := &frontend.Node{Op: l.class, Name: name, Version: n.version}
	a := attributes{Values: frontend.Values{}, named: map[string]int{}}
	for i, arg := range c.args {
		if err := n.operand(node, name, fmt.Sprint(i), arg); err != nil {
			return nil, err
		}
	}
	for _, kw := range sortedKeys(c.kwargs) {
		switch v := c.kwargs[kw]; {
		case kw == "training" || kw == "mask" && v == nil:
		case len(references(v)) > 0 || l.class == "TFOpLambda" && v != nil && kw != "name":
			a.named[kw] = len(node.In)
			if err := n.operand(node, name, kw, v); err != nil {
				return nil, err
			}
		default:
			a.Values[kw] = v
		}
	}
	if isModel(l.class) {
		return n.model(l, name+"/", node.In, n.stores[at], n.depth+1)
	}
	for option, v := range l.config {
		if !idle(option) {
			a.Values[option] = v
		}
	}
	a.data = len(node.In)
	node.Attrs = a
	for i := range max(1, n.parts[[2]int{at, call}]) {
		out := name
		if i > 0 {
			out = fmt.Sprintf("%s#%d", name, i)
		}
		node.Out = append(node.Out, out)
	}
	return node.Out, n.unwrap(node, a, l, n.stores[at])
}

// operand adds what an argument refers to, or the number that it is.
func (n *network) operand(node *frontend.Node, name, arg string, v any) error {
	refs := references(v)
	for _, r := range refs {
		in, err := n.value(r)
		if err != nil {
			return err
		}
		node.In = append(node.In, in)
	}
	f, ok := v.(float64)
	switch {
	case ok:
		constant := name + "/" + arg
		n.g.Params = append(n.g.Params, frontend.Constant(constant, tensor.Scalar(float32(f))))
		node.In = append(node.In, constant)
	case len(refs) == 0 && v != nil && !isEmpty(v):
		return fmt.Errorf("layer %q: argument %s is %.80v, which is not supported", name, arg, v)
	}
	return nil
}

func isEmpty(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

// weigh adds the arrays of a store as operands of a node.
func (b *builder) weigh(node *frontend.Node, s store) error {
	arrays, err := s.arrays()
	if err != nil {
		return fmt.Errorf("layer %q: %w", node.Name, err)
	}
	for _, o := range arrays {
		name := strings.TrimPrefix(o.Path, "/")
		node.In = append(node.In, name)
		if b.params[name] {
			continue
		}
		b.params[name] = true
		p, err := param(o)
		if err != nil {
			return fmt.Errorf("layer %q: %w", node.Name, err)
		}
		p.Name = name
		b.g.Params = append(b.g.Params, p)
	}
	return nil
}
