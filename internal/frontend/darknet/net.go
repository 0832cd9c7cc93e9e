package darknet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lathe/internal/frontend"
	"lathe/internal/types"
)

// Read makes a model of a configuration and its weights, which it keeps; nil for weights that are missing.
func Read(text, weights []byte) (*frontend.Model, error) {
	sections, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("darknet: %w", err)
	}
	b := &builder{g: &frontend.Graph{Name: "darknet"}, weights: weights}
	m := &frontend.Model{Format: "darknet", Graph: b.g, Table: table, Files: func() []string { return nil }, Close: func() error { return nil }, About: frontend.About{Producer: "darknet"}}
	if err := b.network(sections); err != nil {
		return nil, fmt.Errorf("darknet: %w", err)
	}
	return m, nil
}

// A builder makes the neutral graph, and follows shapes, on which the number of weights depends.
type builder struct {
	g       *frontend.Graph
	weights []byte
	at      int     // in weights
	layers  []shape // of results
	net     shape
	steps   int // of sequences; 0: the network is of pictures
}

// A shape is that of an image: channels, height, width.
type shape struct{ c, h, w int }

// maxExtent bounds channels and sides, so that no product of a few overflows.
const maxExtent = 1 << 20

func (b *builder) network(sections []section) error {
	if err := b.skipHead(); err != nil {
		return err
	}
	net := options{sections[0].attrs}
	b.net = shape{net.int("channels", 3), net.int("height", 0), net.int("width", 0)}
	if n := net.int("inputs", 0); n > 0 && b.net.h == 0 && b.net.w == 0 { // rows, one for each step
		b.net, b.steps = shape{n, 1, 1}, max(1, net.int("time_steps", 1))
	}
	if b.net.c < 1 || b.net.h < 1 || b.net.w < 1 || max(b.net.c, b.net.h, b.net.w) > maxExtent {
		return errors.New("[net] gives no channels, height and width")
	}
	b.g.Inputs = []frontend.Info{{Name: "data", DType: types.F32, Spelt: "float32", Ranked: true,
		Dims: []frontend.Dim{{Value: 1}, {Value: int64(b.net.c)}, {Value: int64(b.net.h)}, {Value: int64(b.net.w)}}}}
	if b.steps > 0 {
		b.g.Inputs[0].Dims[0].Value = int64(b.steps)
	}
	before, in := "data", b.net
	for i, s := range sections[1:] {
		n := &frontend.Node{Op: s.kind, Name: fmt.Sprintf("%s_%d", s.kind, i), In: []string{before}}
		n.Out = []string{n.Name}
		out, err := b.layer(n, i, s, in)
		if err != nil {
			return fmt.Errorf("line %d: layer %d [%s]: %w", s.line, i, s.kind, err)
		}
		if max(out.c, out.h, out.w) > maxExtent || min(out.c, out.h, out.w) < 1 {
			return fmt.Errorf("line %d: layer %d [%s]: its result has %d channels of %d x %d", s.line, i, s.kind, out.c, out.h, out.w)
		}
		b.layers = append(b.layers, out)
		b.g.Nodes = append(b.g.Nodes, n)
		if s.kind == "yolo" || s.kind == "region" || s.kind == "detection" {
			b.g.Outputs = append(b.g.Outputs, frontend.Info{Name: n.Name, Spelt: "?"})
		}
		before, in = n.Name, out
	}
	if len(b.g.Outputs) == 0 {
		b.g.Outputs = []frontend.Info{{Name: before, Spelt: "?"}}
	}
	if b.at != len(b.weights) {
		return fmt.Errorf("the .weights file has %d bytes, of which the layers take %d: it is of another network", len(b.weights), b.at)
	}
	return nil
}

// skipHead steps over three numbers of a version, and how many pictures were seen: of 32 bits before version 0.2.
func (b *builder) skipHead() error {
	if b.weights == nil {
		return nil
	}
	if len(b.weights) < 16 {
		return errors.New("the .weights file is cut short, or none")
	}
	b.at = 16
	if 10*binary.LittleEndian.Uint32(b.weights)+binary.LittleEndian.Uint32(b.weights[4:]) >= 2 {
		b.at = 20
	}
	return nil
}

// layer gives a node its operands and attributes, and finds the shape of its result.
func (b *builder) layer(n *frontend.Node, i int, s section, in shape) (shape, error) {
	attrs := frontend.Values{}
	for key, v := range s.attrs {
		if !idle[key] {
			attrs[key] = v
		}
	}
	n.Attrs = attrs
	o := options{s.attrs}
	switch s.kind {
	case "convolutional":
		return b.convolutional(n, o, in)
	case "connected":
		outputs, inputs := o.int("output", 1), in.c*in.h*in.w
		if outputs < 1 || outputs > maxExtent || inputs > 1<<30 {
			return in, fmt.Errorf("%d outputs of %d inputs", outputs, inputs)
		}
		if err := b.take(n, o.int("batch_normalize", 0) != 0, true, outputs, outputs, inputs); err != nil {
			return in, err
		}
		return shape{outputs, 1, 1}, nil
	case "maxpool":
		size, stride := o.int("size", o.int("stride", 1)), o.int("stride", 1)
		padding := o.int("padding", size-1)
		if size < 1 || stride < 1 || padding < 0 || max(size, stride, padding) > maxExtent || in.h+padding < size || in.w+padding < size {
			return in, fmt.Errorf("windows of %d with padding %d and stride %d", size, padding, stride)
		}
		return shape{in.c, (in.h+padding-size)/stride + 1, (in.w+padding-size)/stride + 1}, nil
	case "avgpool":
		return shape{in.c, 1, 1}, nil
	case "upsample":
		stride := o.int("stride", 2)
		if stride < 1 || stride > 64 {
			return in, fmt.Errorf("stride %d", stride)
		}
		return shape{in.c, in.h * stride, in.w * stride}, nil
	case "route":
		return b.route(n, o, i)
	case "shortcut":
		return b.shortcut(n, o, i, in)
	case "scale_channels", "sam":
		return b.scaled(n, o, i, in)
	case "reorg", "reorg3d":
		stride := o.int("stride", 1)
		if square := stride * stride; stride < 1 || stride > 64 || in.h%stride != 0 || in.w%stride != 0 || in.c%square != 0 || o.int("reverse", 0) != 0 {
			return in, fmt.Errorf("stride %d, or reverse", stride)
		} else {
			return shape{in.c * square, in.h / stride, in.w / stride}, nil
		}
	case "batchnorm":
		return in, b.vectors(n, in.c, "biases", "scales", "means", "variances")
	case "rnn", "gru", "lstm":
		return b.recurrent(n, o, s.kind, in)
	case "yolo":
		attrs["net_width"], attrs["net_height"] = float64(b.net.w), float64(b.net.h)
	}
	return in, nil // the same shape, or an operator that the table lacks
}

// convolutional follows Darknet: pad=1 is half of the size.
func (b *builder) convolutional(n *frontend.Node, o options, in shape) (shape, error) {
	size, stride, filters, groups := o.int("size", 1), o.int("stride", 1), o.int("filters", 1), o.int("groups", 1)
	pad := o.int("padding", 0)
	if o.int("pad", 0) != 0 {
		pad = size / 2
	}
	if min(size, stride, filters, groups) < 1 || max(size, stride, filters, pad) > maxExtent || pad < 0 || in.c%groups != 0 || filters%groups != 0 || in.h+2*pad < size || in.w+2*pad < size {
		return in, fmt.Errorf("%d filters of %d x %d in %d groups with stride %d over %d channels of %d x %d", filters, size, size, groups, stride, in.c, in.h, in.w)
	}
	if err := b.take(n, o.int("batch_normalize", 0) != 0, false, filters, filters, in.c/groups, size, size); err != nil {
		return in, err
	}
	return shape{filters, (in.h+2*pad-size)/stride + 1, (in.w+2*pad-size)/stride + 1}, nil
}

// refer resolves numbers of layers, which count from layer i back where they are negative.
func (b *builder) refer(i int, numbers []int) ([]int, error) {
	if len(numbers) == 0 {
		return nil, errors.New("it names no layers")
	}
	var out []int
	for _, k := range numbers {
		if k < 0 {
			k += i
		}
		if k < 0 || k >= i {
			return nil, fmt.Errorf("it reads layer %d, which is none before it", k)
		}
		out = append(out, k)
	}
	return out, nil
}

func (b *builder) name(k int) string { return b.g.Nodes[k].Name }

// route joins the channels of layers, or of one of groups of each.
func (b *builder) route(n *frontend.Node, o options, i int) (shape, error) {
	from, err := b.refer(i, o.ints("layers"))
	if err != nil {
		return shape{}, err
	}
	groups := max(1, o.int("groups", 1))
	out := b.layers[from[0]]
	n.In, out.c = nil, 0
	for _, k := range from {
		s := b.layers[k]
		if s.h != out.h || s.w != out.w || s.c%groups != 0 {
			return s, fmt.Errorf("layers of %d x %d and %d x %d, or of %d channels in %d groups", s.h, s.w, out.h, out.w, s.c, groups)
		}
		out.c += s.c / groups
		n.In = append(n.In, b.name(k))
	}
	return out, nil
}
