package keras

import (
	"fmt"
	"maps"
	"slices"

	"lathe/internal/frontend"
)

// unwrap adds a node for a layer, or several for one that wraps another.
func (n *network) unwrap(node *frontend.Node, a attributes, l *layer, s store) error {
	switch l.class {
	case "Bidirectional":
		return n.bidirectional(node, a, s)
	case "TimeDistributed":
		return n.timeDistributed(node, a, s)
	case "RNN":
		cell, err := wrapped(a, "cell")
		if err != nil {
			return fmt.Errorf("layer %q: %w", node.Name, err)
		}
		layers := map[string]string{"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
		if node.Op = layers[cell.class]; node.Op == "" {
			node.Op = "RNN of " + cell.class
		}
		node.Attrs = a.with(cell.config)
	case "MultiHeadAttention":
		return n.attention(node, s)
	}
	if l.class == "LSTM" || l.class == "GRU" || l.class == "SimpleRNN" || l.class == "RNN" {
		var err error
		if s, err = s.part("cell"); err != nil {
			return err
		}
	}
	n.g.Nodes = append(n.g.Nodes, node)
	return n.weigh(node, s)
}

// wrapped is the layer in an option.
func wrapped(a attributes, option string) (*layer, error) {
	inner, err := parseLayer(a.Values[option])
	if err != nil {
		return nil, fmt.Errorf("option %s: %w", option, err)
	}
	delete(a.Values, option)
	return inner, nil
}

// with are the attributes with those of another layer, which count.
func (a attributes) with(config map[string]any) attributes {
	a.Values = maps.Clone(a.Values)
	for option, v := range config {
		if !idle(option) {
			a.Values[option] = v
		}
	}
	return a
}

// bidirectional adds two recurrent layers, the second of which goes backwards, and what joins them.
func (n *network) bidirectional(node *frontend.Node, a attributes, s store) error {
	forward, err := wrapped(a, "layer")
	if err != nil {
		return fmt.Errorf("layer %q: %w", node.Name, err)
	}
	backward := &layer{class: forward.class, config: maps.Clone(forward.config)}
	if a.Values["backward_layer"] != nil {
		if backward, err = wrapped(a, "backward_layer"); err != nil {
			return fmt.Errorf("layer %q: %w", node.Name, err)
		}
	}
	back, _ := forward.config["go_backwards"].(bool)
	backward.config["go_backwards"] = !back
	backward.config["aligned"] = true // its steps stand in the order of the input's
	merge, _ := a.Values["merge_mode"].(string)
	classes := map[string]string{"concat": "Concatenate", "sum": "Add", "mul": "Multiply", "ave": "Average"}
	if classes[merge] == "" || len(node.Out) > 1 || a.data > 1 {
		return fmt.Errorf("layer %q: Bidirectional with merge_mode %q, states or several inputs is not supported", node.Name, merge)
	}
	join := &frontend.Node{Op: classes[merge], Name: node.Name, Version: node.Version, Out: node.Out, Attrs: attributes{Values: frontend.Values{}, data: 2}}
	for _, d := range []struct {
		part string
		l    *layer
	}{{"forward_layer", forward}, {"backward_layer", backward}} {
		one := &frontend.Node{Op: d.l.class, Name: node.Name + "/" + d.part, Version: node.Version, In: slices.Clone(node.In), Out: []string{node.Name + "/" + d.part}}
		part, err := s.part(d.part)
		if err != nil {
			return err
		}
		join.In = append(join.In, one.Out[0])
		inner := attributes{Values: frontend.Values{}, data: a.data}.with(d.l.config)
		one.Attrs = inner
		if err := n.unwrap(one, inner, d.l, part); err != nil {
			return err
		}
	}
	n.g.Nodes = append(n.g.Nodes, join)
	return nil
}

// timeDistributed adds a layer that is applied to each step: steps are part of the batch for it.
func (n *network) timeDistributed(node *frontend.Node, a attributes, s store) error {
	inner, err := wrapped(a, "layer")
	if err != nil {
		return fmt.Errorf("layer %q: %w", node.Name, err)
	}
	if isModel(inner.class) || len(node.In) != 1 {
		return fmt.Errorf("layer %q: TimeDistributed of a model, or of several inputs, is not supported", node.Name)
	}
	part, err := s.part("layer")
	if err != nil {
		return err
	}
	folded, applied := node.Name+"/folded", node.Name+"/"+inner.name
	n.g.Nodes = append(n.g.Nodes, &frontend.Node{Op: foldSteps, Name: folded, In: node.In, Out: []string{folded}, Version: node.Version, Attrs: attributes{Values: frontend.Values{}, data: 1}})
	one := &frontend.Node{Op: inner.class, Name: applied, In: []string{folded}, Out: []string{applied}, Version: node.Version}
	own := attributes{Values: frontend.Values{}, data: 1}.with(inner.config)
	one.Attrs = own
	if err := n.unwrap(one, own, inner, part); err != nil {
		return err
	}
	n.g.Nodes = append(n.g.Nodes, &frontend.Node{Op: unfoldSteps, Name: node.Name, In: []string{applied, node.In[0]}, Out: node.Out, Version: node.Version, Attrs: attributes{Values: frontend.Values{}, data: 2}})
	return nil
}

// attention adds a MultiHeadAttention, whose four projections are layers of their own.
func (n *network) attention(node *frontend.Node, s store) error {
	n.g.Nodes = append(n.g.Nodes, node)
	if _, flat := s.(*listed); flat {
		return n.weigh(node, s)
	}
	for _, projection := range []string{"query_dense", "key_dense", "value_dense", "output_dense"} {
		part, err := s.part(projection)
		if err != nil {
			return err
		}
		if err := n.weigh(node, part); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
