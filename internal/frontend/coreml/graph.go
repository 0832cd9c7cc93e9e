package coreml

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// A netOf is what is read of a NeuralNetwork message.
type netOf struct {
	layers        [][]byte
	scalers       []preprocessing
	exact         bool   // arrays have the rank that they are described with
	probabilities string // the layer of a classifier that gives them
}

type preprocessing struct {
	feature string
	attrs   frontend.Values
	mean    *weight
}

var scaler = parseSchema("channelScale:10f blueBias:20f greenBias:21f redBias:22f grayBias:30f")

func netIn(msg []byte) (n netOf, err error) {
	arrays := 0
	err = wire.Read(msg, wire.Fields{
		1: wire.Messages(&n.layers, func(msg []byte) ([]byte, error) { return msg, nil }),
		2: wire.Messages(&n.scalers, preprocessingOf), 5: wire.Int(&arrays), 200: wire.Text(&n.probabilities),
	})
	n.exact = arrays == 1
	return n, err
}

func preprocessingOf(msg []byte) (p preprocessing, err error) {
	p.attrs = frontend.Values{}
	err = wire.Read(msg, wire.Fields{
		1:  wire.Text(&p.feature),
		10: wire.With(func(msg []byte) error { return scaler.decode(msg, "", p.attrs, nil) }),
		11: wire.With(func(msg []byte) error { // the image is a field like that of weights
			w, err := weightOf(msg)
			p.mean = &w
			return err
		}),
	})
	return p, err
}

// attributes are those of a layer, and where in its operands each of its weights is.
type attributes struct {
	frontend.Values
	data    int // operands that are no weights
	at      map[string]int
	weights map[string]*weight
	old     bool // values have axes sequence, batch, channel, height, width, or the last four
}

// graphOf makes the neutral graph: for each input a node that gives it the axes of the network and one that scales pictures, the layers, and for
// each output a node that gives it its own axes.
func graphOf(msg []byte, about *description) (*frontend.Graph, error) {
	n, err := netIn(msg)
	if err != nil {
		return nil, err
	}
	g := &frontend.Graph{Name: "coreml"}
	var nodes []*frontend.Node
	made, names, sequences := map[string]bool{}, map[string]bool{}, false
	last := ""
	for i, data := range n.layers {
		x, err := layerOf(g, i, data, !n.exact, names)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, x)
		sequences = sequences || needsSequence(x)
		for _, o := range x.Out {
			made[o] = true
			last = o
		}
	}
	pictures := 0
	for _, in := range about.inputs {
		if in.kind == image {
			pictures++
		}
	}
	for _, in := range about.inputs {
		g.Inputs = append(g.Inputs, in.info(n.exact))
		if slices.ContainsFunc(nodes, func(x *frontend.Node) bool { return slices.Contains(x.In, in.name) }) {
			g.Nodes = append(g.Nodes, n.entrance(g, in, sequences, pictures))
		}
	}
	renamed := map[string]string{} // inputs with their axes
	for _, in := range about.inputs {
		renamed[in.name] = in.name + ":axes"
	}
	for _, x := range nodes {
		for k, name := range x.In {
			if to := renamed[name]; to != "" && !made[name] {
				x.In[k] = to
			}
		}
	}
	g.Nodes = append(g.Nodes, nodes...)
	for _, out := range about.outputs {
		from := out.name
		switch {
		case made[from]:
		case out.kind == dictionary || out.name == about.probabilities:
			if from = n.probabilities; from == "" {
				from = last
			}
		default:
			continue // the name of a class, which strings give
		}
		if !made[from] {
			return nil, fmt.Errorf("output %q: no layer gives %q", out.name, from)
		}
		name := out.name
		attrs := attributes{frontend.Values{"shape": numbers(out.shape), "flat": out.kind == dictionary}, 1, nil, nil, !n.exact}
		if from == name {
			from = name + ":axes"
			rename(nodes, name, from)
		}
		g.Nodes = append(g.Nodes, &frontend.Node{Op: "output", Name: name + ":output", In: []string{from}, Out: []string{name}, Attrs: attrs})
		g.Outputs = append(g.Outputs, frontend.Info{Name: name, Spelt: "?"})
	}
	if len(g.Outputs) == 0 {
		return nil, errors.New("no layer gives an output of the model")
	}
	return g, nil
}

// rename gives the value that nodes make and read under one name another.
func rename(nodes []*frontend.Node, from, to string) {
	for _, x := range nodes {
		for _, list := range [][]string{x.In, x.Out} {
			for k, name := range list {
				if name == from {
					list[k] = to
				}
			}
		}
	}
}

// entrance gives an input the axes of the network, and scales a picture.
func (n *netOf) entrance(g *frontend.Graph, in feature, sequences bool, pictures int) *frontend.Node {
	attrs := attributes{frontend.Values{"picture": in.kind == image, "described": float64(len(in.shape)), "sequences": sequences, "colors": float64(in.colors)}, 1, map[string]int{}, map[string]*weight{}, !n.exact}
	x := &frontend.Node{Op: "input", Name: in.name + ":input", In: []string{in.name}, Out: []string{in.name + ":axes"}, Attrs: attrs}
	for _, p := range n.scalers {
		if p.feature != in.name && (p.feature != "" || in.kind != image || pictures != 1) {
			continue
		}
		for name, v := range p.attrs {
			attrs.Values[name] = v
		}
		if p.mean != nil {
			attrs.addWeight(g, x, "meanImage", p.mean)
		}
	}
	return x
}

// addWeight makes a weight a param of the graph and an operand of the node.
func (a attributes) addWeight(g *frontend.Graph, x *frontend.Node, name string, w *weight) {
	full := x.Name + "/" + name
	a.at[name], a.weights[name] = len(x.In), w
	x.In = append(x.In, full)
	g.Params = append(g.Params, w.param(full))
}

func layerOf(g *frontend.Graph, i int, msg []byte, old bool, names map[string]bool) (*frontend.Node, error) {
	x := &frontend.Node{Op: "a layer of no kind"}
	a := attributes{Values: frontend.Values{}, at: map[string]int{}, weights: map[string]*weight{}, old: old}
	var params []byte
	var s schema
	err := wire.Each(msg, func(f wire.Field) error {
		switch {
		case f.Number == 1:
			x.Name = f.Text()
		case f.Number == 2:
			x.In = append(x.In, f.Text())
		case f.Number == 3:
			x.Out = append(x.Out, f.Text())
		case f.Number >= 100:
			params = f.Data
			if l := layers[f.Number]; l != nil {
				x.Op, s = l.name, l.schema
			} else {
				x.Op = fmt.Sprintf("layer %d", f.Number)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("layer %d: %w", i, err)
	}
	if x.Name == "" || names[x.Name] {
		x.Name = fmt.Sprintf("%s:%d", x.Name, i)
	}
	names[x.Name] = true
	a.data = len(x.In)
	if s != nil {
		err = s.decode(params, "", a.Values, func(name string, msg []byte) error {
			w, err := weightOf(msg)
			if err == nil {
				a.addWeight(g, x, name, &w)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("layer %q: %w", x.Name, err)
	}
	x.Attrs = a
	return x, nil
}

// needsSequence tells about layers that move the first of five axes; without any, values have the last four.
func needsSequence(x *frontend.Node) bool {
	a := x.Attrs.(attributes)
	switch x.Op {
	case "simpleRecurrent", "gru", "uniDirectionalLSTM", "biDirectionalLSTM", "sequenceRepeat":
		return true
	case "concat":
		return a.Values["sequenceConcat"] == 1.0
	case "reshape":
		list, _ := a.Values["targetShape"].([]any)
		return len(list) == 4
	case "permute":
		list, _ := a.Values["axis"].([]any)
		return len(list) == 4 && list[0] != 0.0
	}
	return false
}
