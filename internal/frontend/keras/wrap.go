package keras

import (
	"fmt"
	"maps"
	"slices"

	"lathe/internal/frontend"
)

// cells are the layers that do at all steps what a cell does at one.
var cells = map[string]string{"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}

// unwrap adds a node for a layer, or several for one that wraps another.
func (n *network) unwrap(node *frontend.Node, a attributes, l *layer, s store) error {
	switch l.class {
	case "Bidirectional":
		return n.bidirectional(node, a, s)
	case "TimeDistributed":
		return n.timeDistributed(node, a, s)
	case "SpectralNormalization": // matters in training
		inner, err := n.inner(node, a, "layer")
		if err != nil {
			return err
		}
		part, err := s.part("layer")
		if err != nil {
			return err
		}
		delete(a.Values, "power_iterations")
		node.Op, node.Attrs = inner.class, a.with(inner.config)
		return n.unwrap(node, node.Attrs.(attributes), inner, part)
	case "RNN":
		cell, err := n.inner(node, a, "cell")
		if err != nil {
			return err
		}
		if cell.class == "StackedRNNCells" {
			return n.stacked(node, a, cell, s)
		}
		if node.Op = cells[cell.class]; node.Op == "" {
			node.Op = "RNN of " + cell.class
		}
		node.Attrs = a.with(cell.config)
	case "MultiHeadAttention", "GroupQueryAttention":
		return n.attention(node, s)
	}
	switch l.class {
	case "LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D":
		var err error
		if s, err = s.part("cell"); err != nil {
			return err
		}
	}
	n.g.Nodes = append(n.g.Nodes, node)
	return n.weigh(node, s)
}

// inner is the layer in an option of a node.
func (n *network) inner(node *frontend.Node, a attributes, option string) (*layer, error) {
	inner, err := parseLayer(a.Values[option])
	if err != nil {
		return nil, fmt.Errorf("layer %q: option %s: %w", node.Name, option, err)
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

// only are the attributes with some of the operands that are data; the mask is that of the first.
func (a attributes) only(node *frontend.Node, from []string, data ...int) attributes {
	out := plain(len(data))
	for _, i := range data {
		node.In = append(node.In, from[i])
	}
	if at, ok := a.masks[0]; ok {
		out.masks[0] = len(node.In)
		node.In = append(node.In, from[at])
	}
	return out
}

// through are the numbers from a up to b.
func through(a, b int) (list []int) {
	for ; a < b; a++ {
		list = append(list, a)
	}
	return list
}

// states is how many states a recurrent layer has.
func states(class string) int {
	if class == "LSTM" || class == "LSTMCell" || class == "CuDNNLSTM" || class == "ConvLSTM1D" || class == "ConvLSTM2D" || class == "ConvLSTM3D" {
		return 2
	}
	return 1
}

// bidirectional adds two recurrent layers, the second of which goes backwards, and what joins them. Results are what is joined, or both,
// and the states of the first and of the second; initial states come likewise.
func (n *network) bidirectional(node *frontend.Node, a attributes, s store) error {
	forward, err := n.inner(node, a, "layer")
	if err != nil {
		return err
	}
	backward := &layer{class: forward.class, config: maps.Clone(forward.config)}
	back, _ := forward.config["go_backwards"].(bool)
	backward.config["go_backwards"] = !back
	if a.Values["backward_layer"] != nil {
		if backward, err = n.inner(node, a, "backward_layer"); err != nil {
			return err
		}
	}
	backward.config["aligned"] = true // its steps stand in the order of the input's
	merge, _ := a.Values["merge_mode"].(string)
	classes := map[string]string{"concat": "Concatenate", "sum": "Add", "mul": "Multiply", "ave": "Average", "": ""}
	class, known := classes[merge]
	if !known || forward.config["cell"] != nil && backward.config["cell"] == nil {
		return fmt.Errorf("layer %q: merge_mode %q is not supported", node.Name, merge)
	}
	own, given := 0, a.data-1 // states that are results, and initial ones
	if with, _ := forward.config["return_state"].(bool); with {
		own = states(forward.class)
	}
	joined := 1 // results in front of states
	if class == "" {
		joined = 2
	}
	join := &frontend.Node{Op: class, Name: node.Name, Version: node.Version, Out: node.Out[:1], Attrs: plain(2)}
	for k, d := range []struct {
		part string
		l    *layer
	}{{"forward_layer", forward}, {"backward_layer", backward}} {
		one := &frontend.Node{Op: d.l.class, Name: node.Name + "/" + d.part, Version: node.Version, Out: []string{node.Name + "/" + d.part}}
		if class == "" && k < len(node.Out) {
			one.Out[0] = node.Out[k]
		}
		if first := joined + k*own; own > 0 && first < len(node.Out) {
			one.Out = append(one.Out, node.Out[first:min(first+own, len(node.Out))]...)
		}
		inner := a.only(one, node.In, append([]int{0}, through(1+k*given/2, 1+(k+1)*given/2)...)...).with(d.l.config)
		part, err := s.part(d.part)
		if err != nil {
			return err
		}
		join.In = append(join.In, one.Out[0])
		one.Attrs = inner
		if err := n.unwrap(one, inner, d.l, part); err != nil {
			return err
		}
	}
	if class != "" {
		n.g.Nodes = append(n.g.Nodes, join)
	}
	return nil
}

// stacked adds a layer for each cell of a stack: each reads all steps of the one before.
func (n *network) stacked(node *frontend.Node, a attributes, stack *layer, s store) error {
	entries, _ := stack.config["cells"].([]any)
	var list []*layer
	var counts []int
	total := 0
	for _, e := range entries {
		cell, err := parseLayer(e)
		if err != nil {
			return fmt.Errorf("layer %q: %w", node.Name, err)
		}
		arrays := 3
		if bias, ok := cell.config["use_bias"].(bool); ok && !bias {
			arrays = 2
		}
		list, counts, total = append(list, cell), append(counts, arrays), total+states(cell.class)
	}
	if len(list) == 0 || len(list) > maxNested {
		return fmt.Errorf("layer %q: a stack of %d cells", node.Name, len(list))
	}
	if a.data > 1 && a.data != 1+total {
		return fmt.Errorf("layer %q: %d initial states instead of %d", node.Name, a.data-1, total)
	}
	part, err := s.part("cell")
	if err != nil {
		return err
	}
	stores, err := part.cells(list, counts)
	if err != nil {
		return err
	}
	back, _ := a.Values["go_backwards"].(bool)
	from, at := node.In, 0
	for i, cell := range list {
		last, own := i == len(list)-1, states(cell.class)
		one := &frontend.Node{Op: cells[cell.class], Name: fmt.Sprintf("%s/cell_%d", node.Name, i), Version: node.Version}
		if one.Op == "" {
			one.Op = "RNN of " + cell.class
		}
		one.Out = []string{one.Name}
		if last {
			one.Out = []string{node.Out[0]}
		}
		if 1+at < len(node.Out) {
			one.Out = append(one.Out, node.Out[1+at:min(1+at+own, len(node.Out))]...)
		}
		inner := a.only(one, from, append([]int{0}, through(min(1+at, a.data), min(1+at+own, a.data))...)...)
		inner.Values = a.with(cell.config).Values
		if !last {
			inner.Values["return_sequences"], inner.Values["aligned"] = true, back
		}
		one.Attrs = inner
		n.g.Nodes = append(n.g.Nodes, one)
		if err := n.weigh(one, stores[i]); err != nil {
			return err
		}
		from, at = append([]string{one.Out[0]}, node.In[1:]...), at+own
	}
	return nil
}

// timeDistributed adds a layer or a model that is applied to each step: steps are part of the batch for it.
func (n *network) timeDistributed(node *frontend.Node, a attributes, s store) error {
	inner, err := n.inner(node, a, "layer")
	if err != nil {
		return err
	}
	if a.data != 1 {
		return fmt.Errorf("layer %q: TimeDistributed of several inputs is not supported", node.Name)
	}
	part, err := s.part("layer")
	if err != nil {
		return err
	}
	folded, applied := node.Name+"/folded", node.Name+"/"+inner.name
	n.g.Nodes = append(n.g.Nodes, &frontend.Node{Op: foldSteps, Name: folded, In: node.In[:1], Out: []string{folded}, Version: node.Version, Attrs: plain(1)})
	if isModel(inner.class) {
		out, err := n.model(inner, applied+"/", []string{folded}, part, n.depth+1)
		if err != nil {
			return err
		}
		applied = out[0]
	} else {
		one := &frontend.Node{Op: inner.class, Name: applied, In: []string{folded}, Out: []string{applied}, Version: node.Version}
		own := plain(1).with(inner.config)
		one.Attrs = own
		if err := n.unwrap(one, own, inner, part); err != nil {
			return err
		}
	}
	n.g.Nodes = append(n.g.Nodes, &frontend.Node{Op: unfoldSteps, Name: node.Name, In: []string{applied, node.In[0]}, Out: node.Out[:1], Version: node.Version, Attrs: plain(2)})
	return nil
}

// attention adds an attention of several heads, whose four projections are layers of their own.
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
