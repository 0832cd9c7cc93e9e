package keras

import (
	"fmt"
	"strings"

	"lathe/internal/frontend"
)

// What a model may unfold to: models within models are called as often as they are written.
const (
	maxLayers = 100_000
	maxNested = 32
)

// attributes are a node's: the options of its layer, and what its operands are. Data stand first, then masks, then weights.
type attributes struct {
	frontend.Values
	data, positional int                 // operands that are data, and those of them that the call does not name
	masks            map[int]int         // by the operand that they are for: places of operands
	named            map[string]argument // operands that the call names
}

// plain are attributes without options of a node of so many data.
func plain(data int) attributes {
	return attributes{Values: frontend.Values{}, data: data, positional: data, masks: map[int]int{}, named: map[string]argument{}}
}

// An argument is one that refers to values: the first operand and how many there are.
type argument struct{ first, n int }

// A builder makes the neutral graph of a configuration.
type builder struct {
	g       *frontend.Graph
	version int               // major, of Keras
	params  map[string]bool   // that the graph has
	masks   map[string]string // of values: which of their steps count
	left    int               // layers that may still be added
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
	b := &builder{g: &frontend.Graph{Name: l.name}, version: major(s.version), params: map[string]bool{}, masks: map[string]string{}, left: maxLayers}
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
			for _, r := range append(references(l.calls[call].args), references(l.calls[call].kwargs)...) {
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
