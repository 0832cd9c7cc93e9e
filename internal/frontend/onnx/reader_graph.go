package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

func (d *decoder) graph(msg []byte, g *Graph) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	s := d.scan(msg)
	for s.next() {
		if s.num == 2 {
			g.Name = s.text()
		}
	}
	if s.err != nil {
		return s.err
	}
	if err := d.graphParts(msg, g); err != nil {
		return fmt.Errorf("graph %q: %w", g.Name, err)
	}
	return nil
}

func (d *decoder) graphParts(msg []byte, g *Graph) (err error) {
	if g.Nodes, err = d.nodes(msg, 1); err != nil {
		return err
	}
	if g.Initializers, err = d.tensors(msg, 5); err != nil {
		return err
	}
	if g.SparseInitializers, err = d.sparseTensors(msg, 15); err != nil {
		return err
	}
	if g.Inputs, err = repeated(d, msg, 11, "input", d.valueInfo); err != nil {
		return err
	}
	if g.Outputs, err = repeated(d, msg, 12, "output", d.valueInfo); err != nil {
		return err
	}
	g.ValueInfo, err = repeated(d, msg, 13, "value_info", d.valueInfo)
	return err
}

// repeated decodes every occurrence of a message field with one, into elements that lie side by side.
func repeated[T any](d *decoder, msg []byte, num protowire.Number, what string, one func([]byte, *T) error) ([]T, error) {
	c, err := count(msg)
	if err != nil {
		return nil, err
	}
	out, err := reserve[T](d.room, c[num])
	if err != nil {
		return nil, err
	}
	s := d.scan(msg)
	for i := 0; s.next(); {
		if s.num != num {
			continue
		}
		part := s.message()
		if s.err != nil {
			break
		}
		if err := one(part, &out[i]); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i, err)
		}
		i++
	}
	if s.err != nil {
		return nil, s.err
	}
	return out, nil
}

// pointers returns the addresses of the elements of a slice.
func pointers[T any](r *room, s []T, err error) ([]*T, error) {
	if err != nil {
		return nil, err
	}
	out, err := reserve[*T](r, len(s))
	for i := range out {
		out[i] = &s[i]
	}
	return out, err
}

func (d *decoder) nodes(msg []byte, num protowire.Number) ([]*Node, error) {
	all, err := repeated(d, msg, num, "node", d.node)
	return pointers(d.room, all, err)
}

func (d *decoder) tensors(msg []byte, num protowire.Number) ([]*Tensor, error) {
	all, err := repeated(d, msg, num, "tensor", d.tensor)
	return pointers(d.room, all, err)
}

func (d *decoder) sparseTensors(msg []byte, num protowire.Number) ([]*SparseTensor, error) {
	all, err := repeated(d, msg, num, "sparse tensor", d.sparseTensor)
	return pointers(d.room, all, err)
}

func (d *decoder) node(msg []byte, n *Node) error {
	c, err := count(msg)
	if err != nil {
		return err
	}
	if n.Inputs, err = reserve[string](d.room, c[1]); err != nil {
		return err
	}
	if n.Outputs, err = reserve[string](d.room, c[2]); err != nil {
		return err
	}
	in, out := 0, 0
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			n.Inputs[in] = s.text()
			in++
		case 2:
			n.Outputs[out] = s.text()
			out++
		case 3:
			n.Name = s.text()
		case 4:
			n.OpType = s.text()
		case 7:
			n.Domain = plainDomain(s.text())
		case 8:
			n.Overload = s.text()
		}
	}
	if s.err != nil {
		return s.err
	}
	if n.OpType == "" {
		return fmt.Errorf("%s has no op_type", n.Label())
	}
	if n.Attrs, err = d.attrs(msg, 5); err != nil {
		return fmt.Errorf("%s: %w", n.Label(), err)
	}
	return nil
}

// texts decodes a repeated string field.
func (d *decoder) texts(msg []byte, num protowire.Number) ([]string, error) {
	return repeated(d, msg, num, "name", func(b []byte, s *string) (err error) {
		*s, err = d.room.text(b)
		return err
	})
}

func (d *decoder) function(msg []byte, f *Function) error {
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			f.Name = s.text()
		case 10:
			f.Domain = plainDomain(s.text())
		case 13:
			f.Overload = s.text()
		}
	}
	if s.err != nil {
		return s.err
	}
	if f.Name == "" {
		return errors.New("it has no name")
	}
	if err := d.functionParts(msg, f); err != nil {
		return fmt.Errorf("%q: %w", f.Name, err)
	}
	return nil
}

func (d *decoder) functionParts(msg []byte, f *Function) (err error) {
	if f.Inputs, err = d.texts(msg, 4); err != nil {
		return err
	}
	if f.Outputs, err = d.texts(msg, 5); err != nil {
		return err
	}
	if f.Attributes, err = d.texts(msg, 6); err != nil {
		return err
	}
	if f.Nodes, err = d.nodes(msg, 7); err != nil {
		return err
	}
	if f.Opsets, err = d.opsets(msg, 9); err != nil {
		return err
	}
	f.Defaults, err = d.attrs(msg, 11)
	return err
}
