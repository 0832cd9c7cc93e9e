package keras

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/frontend"
)

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
	name := n.prefix + l.name
	if call > 0 {
		name = fmt.Sprintf("%s:%d", name, call)
	}
	node := &frontend.Node{Op: l.class, Name: name, Version: n.version}
	a, explicit, err := n.arguments(node, l, &l.calls[call])
	if err != nil {
		return nil, fmt.Errorf("layer %q: %w", name, err)
	}
	if isModel(l.class) {
		return n.model(l, name+"/", node.In, n.stores[at], n.depth+1)
	}
	for option, v := range l.config {
		if !l.idle(option) {
			a.Values[option] = literal(v)
		}
	}
	for i := range max(1, n.parts[[2]int{at, call}]) {
		out := name
		if i > 0 {
			out = fmt.Sprintf("%s#%d", name, i)
		}
		node.Out = append(node.Out, out)
	}
	n.mask(node, &a, l, explicit)
	node.Attrs = a
	return node.Out, n.unwrap(node, a, l, n.stores[at])
}

// arguments gives a node its operands. explicit are the masks that the call names, "" for none.
func (n *network) arguments(node *frontend.Node, l *layer, c *application) (a attributes, explicit []string, err error) {
	a = plain(0)
	names := functions[l.class]
	args := c.args
	if len(names) > 0 && strings.HasSuffix(names[0], "*") && !c.structured { // the function's first argument is a list
		args = []any{args}
	}
	for i, arg := range args {
		name := strconv.Itoa(i)
		if l.isFunction() {
			if i >= len(names) {
				break // a function that is not known, which the table refuses by name
			}
			name = strings.TrimSuffix(names[i], "*")
		}
		if err := n.argument(node, &a, name, arg); err != nil {
			return a, nil, err
		}
	}
	a.positional = len(node.In)
	for _, kw := range sortedKeys(c.kwargs) {
		v := c.kwargs[kw]
		switch {
		case kw == "training" || l.isFunction() && kw == "name":
		case kw == "mask" && !l.isFunction():
			if explicit, err = n.explicitMasks(v); err != nil {
				return a, nil, err
			}
		default:
			if err := n.argument(node, &a, kw, v); err != nil {
				return a, nil, err
			}
		}
	}
	a.data = len(node.In)
	return a, explicit, nil
}

// argument adds what an argument refers to, or sets the literal that it is.
func (n *network) argument(node *frontend.Node, a *attributes, name string, v any) error {
	refs, first := references(v), len(node.In)
	for _, r := range refs {
		in, err := n.value(r)
		if err != nil {
			return err
		}
		node.In = append(node.In, in)
	}
	list, many := v.([]any)
	_, one := asReference(v)
	switch {
	case len(refs) > 0 && many && !one && len(flat(list)) != len(refs):
		return fmt.Errorf("argument %s mixes values and numbers, which is not supported", name)
	case len(refs) > 0:
		a.named[name] = argument{first, len(refs)}
	default:
		a.Values[name] = literal(v)
	}
	return nil
}

// flat are the elements of lists within a list that are no lists, references being elements.
func flat(list []any) (out []any) {
	for _, x := range list {
		if inner, ok := x.([]any); ok {
			if _, ref := asReference(x); !ref {
				out = append(out, flat(inner)...)
				continue
			}
		}
		out = append(out, x)
	}
	return out
}
