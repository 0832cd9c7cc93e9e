package tensorflow

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/tool/spelling"
)

// Read makes a model of a frozen GraphDef in binary or text form. Constants point into data.
func Read(data []byte) (*frontend.Model, error) { return readGraphs(&files{}, data) }

// readGraphs is Read with the values of variables, should there be some, in a checkpoint that f names.
func readGraphs(f *files, data []byte) (*frontend.Model, error) {
	data, err := binaryForm(data, graphSchema)
	if err != nil {
		return nil, err
	}
	g, err := readGraph(data)
	if err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	b := newBuilder(g)
	if err := b.restore(f, ""); err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	m, err := b.model(nil)
	if err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	m.About.Form = "TensorFlow GraphDef"
	return m, nil
}

// model makes the model of the graph, with the inputs and outputs of a signature or, without one, those that are found.
func (b *builder) model(s *signature) (*frontend.Model, error) {
	if len(b.nodes) == 0 {
		return nil, fmt.Errorf("a graph without nodes")
	}
	m := &frontend.Model{Format: "tensorflow", Table: Table, Files: func() []string { return nil }, Close: func() error { return nil }}
	m.About.Producer = fmt.Sprintf("graphs of version %d", b.producer)
	m.Reach = func(outputs []string) error {
		g, err := b.network(s, outputs)
		if err != nil {
			return err
		}
		m.Graph, m.Err = g, nil
		if b.guessed {
			b.weights.Without(m, b.missing)
		}
		return nil
	}
	if err := m.Reach(nil); err != nil { // other outputs may do
		m.Graph, m.Err = &frontend.Graph{Name: "tensorflow"}, err
	} else if b.weights.MadeUp && !b.guessed {
		return nil, errors.New("weights are to be made up, but the network has no variables: the graph holds them")
	}
	return m, nil
}

// network is the graph of some values, NODE or NODE:K or the names that a signature has for its outputs; nil: the outputs of a signature, or those
// that are found.
func (b *builder) network(s *signature, names []string) (*frontend.Graph, error) {
	l, err := b.newLevel(b.nodes)
	if err != nil {
		return nil, err
	}
	var ends []end
	if s != nil {
		if ends, err = s.apply(l); err != nil {
			return nil, err
		}
	}
	outputs, ends, err := l.wanted(names, ends)
	if err != nil {
		return nil, err
	}
	inputs, given, err := l.inputs(outputs)
	if err != nil {
		return nil, err
	}
	if s != nil {
		s.describe(inputs)
	}
	g, err := l.graph("tensorflow", inputs, given, outputs)
	if err != nil {
		return nil, err
	}
	for i, e := range ends { // outputs have the names of the signature
		g.Nodes = append(g.Nodes, &frontend.Node{Op: "Identity", Name: e.name, In: []string{g.Outputs[i].Name}, Out: []string{e.name}, Attrs: attributes{node: &node{}}})
		g.Outputs[i] = frontend.Info{Name: e.name, Spelt: "?"}
	}
	return g, nil
}

// wanted are the values that have some names, first those of the ends among them; without names, all ends or what is found.
func (l *level) wanted(names []string, ends []end) (outputs []ref, asked []end, err error) {
	if names == nil && ends == nil {
		if outputs = l.found(); len(outputs) == 0 {
			err = fmt.Errorf("no node is an output of a network (--outputs names some)")
		}
		return outputs, nil, err
	}
	for _, e := range ends {
		if names == nil || slices.Contains(names, e.name) {
			outputs, asked = append(outputs, e.from), append(asked, e)
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(asked, func(e end) bool { return e.name == name }) {
			continue
		}
		r, err := l.refer(name)
		if err != nil {
			return nil, nil, err
		}
		if l.vertices[r.node] == nil {
			return nil, nil, fmt.Errorf("the graph has no node %q%s", r.node, spelling.Hint(r.node, slices.Sorted(maps.Keys(l.vertices))))
		}
		outputs = append(outputs, r)
	}
	return outputs, asked, nil
}

// inputs are the placeholders that outputs need, and the results of what feeds a network from files or microphones.
func (l *level) inputs(outputs []ref) (list []frontend.Info, given []ref, err error) {
	feeds := func(v *vertex) bool {
		return sources[v.op] != nil || v.isOp("Placeholder", "PlaceholderV2") || l.named[v.name] != ""
	}
	need := l.needed(outputs, feeds)
	for _, v := range l.order {
		if !need[v] || !feeds(v) || v.training() {
			continue
		}
		for k := range v.results {
			in, err := l.input(v, k)
			if err != nil {
				return nil, nil, fmt.Errorf("node %q: %w", v.name, err)
			}
			if sources[v.op] != nil {
				in.Note = fmt.Sprintf("%s %q is not part of the network: its result is an input", v.op, v.name)
			}
			list, given = append(list, in), append(given, ref{v.name, k})
		}
	}
	return list, given, nil
}

// input is the type of result k of a vertex, as far as the file says it.
func (l *level) input(v *vertex, k int) (frontend.Info, error) {
	typ, s := v.dataType("dtype"), shape{}
	var err error
	if f := sources[v.op]; f != nil {
		typ, s, err = f(l, v, k)
	} else if s, err = v.shape("shape"); err == nil && s.known && len(s.dims) == 0 && l.producer <= lastShapeless {
		s.known = false
	}
	if err == nil && !s.known {
		if list, err := v.outputShapes(); err == nil && k < len(list) {
			s = list[k]
		}
	}
	if typ == 0 { // of text graphs that are written for other tools
		typ = typeFloat
	}
	in := frontend.Info{Name: l.value(ref{v.name, k})}
	for _, alias := range []string{v.name, fmt.Sprintf("%s:%d", v.name, k)} { // as TensorFlow writes it
		if alias != in.Name && (k == 0 || alias != v.name) {
			in.Aliases = append(in.Aliases, alias)
		}
	}
	describe(&in, typ, s)
	return in, err
}

// lastShapeless is the last version of graphs whose placeholders have the shape of a scalar where it is unknown (array_ops.cc).
const lastShapeless = 21

// describe sets the type of an input.
func describe(in *frontend.Info, typ dataType, s shape) {
	in.DType, in.Err = typ.dtype()
	in.Ranked, in.Dims = s.known, nil
	in.Spelt = typ.String()
	for _, d := range s.dims {
		if d < 0 || d > math.MaxInt32 {
			d = -1
		}
		in.Dims = append(in.Dims, frontend.Dim{Value: d})
	}
	if s.known {
		in.Spelt += fmt.Sprint(s.dims)
	}
}

// outputShapes are the shapes that the exporter noted.
func (n *node) outputShapes() (list []shape, err error) {
	err = attributes{node: n}.items("_output_shapes", 7, func(x wire.Field) error {
		s, err := readShape(x.Data)
		list = append(list, s)
		return err
	})
	return list, err
}

// learning are names, without case and underscores, of placeholders that say whether a network learns.
var learning = []string{"keraslearningphase", "learningphase", "istraining", "phasetrain", "training", "istrain", "train"}

// training reports whether a vertex is a truth value that says whether the network learns. It does not.
func (v *vertex) training() bool {
	name := strings.ToLower(strings.ReplaceAll(v.name[strings.LastIndexByte(v.name, '/')+1:], "_", ""))
	return v.isOp("Placeholder", "PlaceholderV2") && v.dataType("dtype") == typeBool && slices.Contains(learning, name)
}
