package caffe

import (
	"errors"
	"fmt"

	"lathe/internal/container/prototext"
	"lathe/internal/frontend"
	"lathe/internal/types"
)

// attributes are those of a layer's parameter message, and how many of a node's operands are data, in front of blobs.
type attributes struct {
	frontend.Values
	data    int
	weights *blobs // of the whole network; nil: they are made up
}

// Read makes a model of a network and its weights, which it keeps; nil for weights that are missing.
func Read(text, weights []byte) (*frontend.Model, error) {
	net, err := prototext.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("caffe: %w", err)
	}
	var b *blobs
	if weights != nil {
		if b, err = blobsOf(weights); err != nil {
			return nil, fmt.Errorf("caffe: %w", err)
		}
	}
	m := &frontend.Model{Format: "caffe", Table: table, Files: func() []string { return nil }, Close: func() error { return nil }, About: frontend.About{Producer: "caffe"}}
	if m.Graph, err = graphOf(net, b); err != nil {
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
func graphOf(net *prototext.Message, weights *blobs) (*frontend.Graph, error) {
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
		n.Attrs = attributes{l.attrs, len(n.In), weights}
		if weights != nil {
			for k, t := range weights.of[l.name] {
				name := fmt.Sprintf("%s/%d", l.name, k)
				g.Params = append(g.Params, frontend.Constant(name, t))
				n.In = append(n.In, name)
			}
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
