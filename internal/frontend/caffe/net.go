package caffe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/container/prototext"
	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// attributes are those of a layer's parameter message, and how many of a node's operands are data, in front of blobs.
type attributes struct {
	frontend.Values
	data   int
	madeUp bool // there are no blobs: see blob
}

// A layer is one of the network's.
type layer struct {
	name, kind   string
	bottom, tops []string
	attrs        frontend.Values
	inputShapes  [][]int
}

// Read makes a model of a network and its weights, which it keeps; nil for weights that are missing.
func Read(text, weights []byte) (*frontend.Model, error) {
	net, err := prototext.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("caffe: %w", err)
	}
	var blobs map[string][]*tensor.Tensor
	if weights != nil {
		if blobs, err = blobsOf(weights); err != nil {
			return nil, fmt.Errorf("caffe: %w", err)
		}
	}
	m := &frontend.Model{Format: "caffe", Table: table, Files: func() []string { return nil }, Close: func() error { return nil }, About: frontend.About{Producer: "caffe"}}
	if m.Graph, err = graphOf(net, blobs); err != nil {
		return nil, fmt.Errorf("caffe: %w", err)
	}
	return m, nil
}

// Kinds of layers that bring data, and of layers that only matter in training or for tests.
var (
	sources = map[string]bool{"Data": true, "ImageData": true, "HDF5Data": true, "MemoryData": true, "WindowData": true, "DummyData": true, "AnnotatedData": true, "Input": true}
	dropped = map[string]bool{"Accuracy": true, "Silence": true, "HDF5Output": true, "DetectionEvaluate": true}
	losses  = map[string]string{"SoftmaxWithLoss": "Softmax", "SigmoidCrossEntropyLoss": "Sigmoid", "EuclideanLoss": "Split", "MultinomialLogisticLoss": "Split", "HingeLoss": "Split"}
)

// graphOf makes the neutral graph of a network in its test phase. A top that a layer computes in place is a value of its own; the last
// one has the top's name. Tops that nobody reads are the outputs.
func graphOf(net *prototext.Message, blobs map[string][]*tensor.Tensor) (*frontend.Graph, error) {
	g := &frontend.Graph{Name: "caffe"}
	if f := net.Get("name"); f != nil && f.Text != "" {
		g.Name = f.Text
	}
	layers, err := layersOf(net)
	if err != nil {
		return nil, err
	}
	last, uses := map[string]int{}, map[string]bool{}
	for i, l := range layers {
		for _, top := range l.tops {
			last[top] = i
		}
		for _, b := range l.bottom {
			uses[b] = true
		}
	}
	now, unread := map[string]string{}, map[string]string{} // values of tops; tops of values that nobody has read
	var order []string
	define := func(l *layer, i int, top string) string {
		value := top
		if last[top] != i {
			value = fmt.Sprintf("%s:%s", top, l.name)
		}
		now[top] = value
		unread[value] = top
		order = append(order, value)
		return value
	}
	for i := range layers {
		l := &layers[i]
		if sources[l.kind] {
			for k, top := range l.tops {
				if !uses[top] {
					continue
				}
				g.Inputs = append(g.Inputs, inputOf(define(l, i, top), l, k))
			}
			continue
		}
		n := &frontend.Node{Op: l.kind, Name: l.name}
		for _, b := range l.bottom {
			v, ok := now[b]
			if !ok {
				return nil, fmt.Errorf("layer %q: bottom %q is the top of no layer before", l.name, b)
			}
			delete(unread, v)
			n.In = append(n.In, v)
		}
		n.Attrs = attributes{l.attrs, len(n.In), blobs == nil}
		for k, t := range blobs[l.name] {
			name := fmt.Sprintf("%s/%d", l.name, k)
			g.Params = append(g.Params, frontend.Constant(name, t))
			n.In = append(n.In, name)
		}
		for _, top := range l.tops {
			n.Out = append(n.Out, define(l, i, top))
		}
		g.Nodes = append(g.Nodes, n)
	}
	for _, v := range order {
		if _, ok := unread[v]; ok {
			g.Outputs = append(g.Outputs, frontend.Info{Name: v, Spelt: "?"})
			delete(unread, v)
		}
	}
	if len(g.Outputs) == 0 {
		return nil, errors.New("the network has no outputs")
	}
	return g, nil
}

func inputOf(name string, l *layer, k int) frontend.Info {
	info := frontend.Info{Name: name, DType: types.F32, Spelt: "float32"}
	if len(l.inputShapes) > 0 {
		info.Ranked = true
		for _, d := range l.inputShapes[min(k, len(l.inputShapes)-1)] {
			info.Dims = append(info.Dims, frontend.Dim{Value: int64(d)})
		}
	}
	return info
}

// layersOf lists the layers of the test phase, the network's own inputs as layers in front.
func layersOf(net *prototext.Message) ([]layer, error) {
	var list []layer
	for at, name := range texts(net, "input") {
		in := layer{name: name, kind: "Input", tops: []string{name}}
		if shapes := messages(net, "input_shape"); at < len(shapes) {
			dims, err := ints(shapes[at], "dim")
			if err != nil {
				return nil, err
			}
			in.inputShapes = [][]int{dims}
		} else if dims, err := ints(net, "input_dim"); err != nil {
			return nil, err
		} else if len(dims) >= 4*at+4 {
			in.inputShapes = [][]int{dims[4*at : 4*at+4]}
		}
		list = append(list, in)
	}
	names := map[string]bool{}
	for _, f := range net.Fields {
		if f.Message == nil || f.Name != "layer" && f.Name != "layers" {
			continue
		}
		l, err := layerOf(f.Message)
		if err != nil {
			return nil, fmt.Errorf("line %d: layer %q: %w", f.Line, l.name, err)
		}
		if !inTest(f.Message) || dropped[l.kind] {
			continue
		}
		if names[l.name] {
			return nil, fmt.Errorf("line %d: two layers have the name %q", f.Line, l.name)
		}
		names[l.name] = true
		list = append(list, l)
	}
	return list, nil
}

func layerOf(m *prototext.Message) (l layer, err error) {
	l.attrs = frontend.Values{}
	if f := m.Get("name"); f != nil {
		l.name = f.Text
	}
	f := m.Get("type")
	if f == nil || f.Text == "" {
		return l, errors.New("it has no type")
	}
	if l.kind = f.Text; !f.Quoted {
		l.kind = camel(f.Text)
	}
	l.bottom, l.tops = texts(m, "bottom"), texts(m, "top")
	if without, loss := losses[l.kind]; loss {
		l.kind = without
		l.bottom = l.bottom[:min(1, len(l.bottom))]
		if len(l.tops) == 0 {
			l.tops = []string{l.name}
		}
		return l, nil
	}
	for _, f := range m.Fields {
		if f.Message == nil || !strings.HasSuffix(f.Name, "_param") || f.Name == "transform_param" || f.Name == "loss_param" || f.Name == "blobs_param" {
			continue
		}
		if f.Name == "input_param" {
			for _, s := range messages(f.Message, "shape") {
				dims, err := ints(s, "dim")
				if err != nil {
					return l, err
				}
				l.inputShapes = append(l.inputShapes, dims)
			}
			continue
		}
		for _, p := range f.Message.Fields {
			switch {
			case strings.HasSuffix(p.Name, "_filler") || p.Name == "engine":
			case p.Message == nil:
				l.add(p.Name, scalar(p))
			case p.Name == "shape":
				for _, d := range p.Message.Fields {
					if d.Message == nil {
						l.add("shape", scalar(d))
					}
				}
			case p.Name == "nms_param": // its fields have names of their own
				for _, q := range p.Message.Fields {
					if q.Message == nil {
						l.add(q.Name, scalar(q))
					}
				}
			case p.Name == "save_output_param": // where results would be written
			default:
				l.attrs[p.Name] = map[string]any{} // refused by name
			}
		}
	}
	return l, nil
}

// add sets an attribute, or adds to its list.
func (l *layer) add(name string, v any) {
	switch old := l.attrs[name].(type) {
	case nil:
		l.attrs[name] = v
	case []any:
		l.attrs[name] = append(old, v)
	default:
		l.attrs[name] = []any{old, v}
	}
}

// scalar is a number, a truth value, or text.
func scalar(f prototext.Field) any {
	switch {
	case f.Quoted:
		return f.Text
	case f.Text == "true" || f.Text == "false":
		return f.Text == "true"
	}
	if v, err := strconv.ParseFloat(strings.TrimSuffix(f.Text, "f"), 64); err == nil {
		return v
	}
	return f.Text
}

// inTest reports whether a layer is part of the test phase.
func inTest(m *prototext.Message) bool {
	rules := messages(m, "include")
	if len(rules) == 0 {
		for _, r := range messages(m, "exclude") {
			if p := r.Get("phase"); p != nil && p.Text == "TEST" {
				return false
			}
		}
		return true
	}
	for _, r := range rules {
		if p := r.Get("phase"); p == nil || p.Text == "TEST" {
			return true
		}
	}
	return false
}

func texts(m *prototext.Message, name string) (list []string) {
	for _, f := range m.Fields {
		if f.Name == name && f.Message == nil {
			list = append(list, f.Text)
		}
	}
	return list
}

func messages(m *prototext.Message, name string) (list []*prototext.Message) {
	for _, f := range m.Fields {
		if f.Name == name && f.Message != nil {
			list = append(list, f.Message)
		}
	}
	return list
}

func ints(m *prototext.Message, name string) ([]int, error) {
	var list []int
	for _, text := range texts(m, name) {
		v, err := strconv.ParseInt(text, 10, 40)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("%s is %.40q", name, text)
		}
		list = append(list, int(v))
	}
	return list, nil
}
