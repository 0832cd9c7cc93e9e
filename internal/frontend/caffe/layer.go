package caffe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/container/prototext"
	"lathe/internal/frontend"
)

// A layer is one of the network's.
type layer struct {
	name, kind   string
	bottom, tops []string
	attrs        frontend.Values
	inputShapes  [][]int
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
	if name, ok := l.attrs["layer"].(string); l.kind == "Python" && ok {
		if l.kind = "Python layer " + name; name == "ProposalLayer" {
			l.kind = "Proposal"
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
