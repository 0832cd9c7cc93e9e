package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/tool/spelling"
)

// A decoder turns wire format into the structs of this package. Field numbers are those of onnx.proto3.
type decoder struct {
	room  *room
	files *fileSet
	depth int // of nested graphs and types
}

// maxDepth bounds the nesting of graphs and of types; protobuf's own limit for messages is 100.
const maxDepth = 64

func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("graphs or types are nested more than %d deep", maxDepth)
	}
	return nil
}

func (d *decoder) leave() { d.depth-- }

func (d *decoder) scan(msg []byte) scanner { return scanner{room: d.room, rest: msg} }

func (d *decoder) model(msg []byte) (*Model, error) {
	c, err := count(msg)
	if err != nil {
		return nil, err
	}
	if c[7] != 1 {
		return nil, fmt.Errorf("the model holds %s, not one: damaged, or a protobuf that is not an ONNX model", spelling.Count(c[7], "graph"))
	}
	m := &Model{}
	if m.Metadata, err = d.entries(msg, 14, c[14]); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if m.Opsets, err = d.opsets(msg, 8); err != nil {
		return nil, err
	}
	functions, err := repeated(d, msg, 25, "function", d.function)
	if m.Functions, err = pointers(d.room, functions, err); err != nil {
		return nil, err
	}
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			m.IRVersion = s.int()
		case 2:
			m.Producer = s.text()
		case 3:
			m.ProducerVersion = s.text()
		case 4:
			m.Domain = s.text()
		case 5:
			m.ModelVersion = s.int()
		case 7:
			m.Graph = &Graph{}
			s.check(d.graph(s.message(), m.Graph))
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	return m, m.settleVersions()
}

// settleVersions checks IR version and operator sets. Files of IR version 1 and 2 carry no operator set: they are
// written in version 1 of ai.onnx.
func (m *Model) settleVersions() error {
	if m.IRVersion < 1 {
		return fmt.Errorf("ir_version is %d: damaged, or a protobuf that is not an ONNX model", m.IRVersion)
	}
	if m.IRVersion < 3 && len(m.Opsets) == 0 {
		m.Opsets = map[string]int{"": 1}
	}
	if len(m.Opsets) == 0 {
		return errors.New("the model has no opset_import, so the meaning of its operators is unknown; export it again")
	}
	return nil
}

// opsets decodes a list of OperatorSetIdProto.
func (d *decoder) opsets(msg []byte, num protowire.Number) (map[string]int, error) {
	if err := d.room.take(mapEntrySize); err != nil {
		return nil, err
	}
	sets := map[string]int{}
	s := d.scan(msg)
	for s.next() {
		if s.num != num {
			continue
		}
		domain, version := "", int64(0)
		e := d.scan(s.message())
		for e.next() {
			switch e.num {
			case 1:
				domain = plainDomain(e.text())
			case 2:
				version = e.int()
			}
		}
		old, again := sets[domain]
		switch {
		case e.err != nil:
			return nil, fmt.Errorf("opset_import: %w", e.err)
		case version < 1 || version > 1<<30:
			return nil, fmt.Errorf("opset_import: domain %q has version %d", domain, version)
		case again && old != int(version):
			return nil, fmt.Errorf("opset_import: domain %q is imported in versions %d and %d", domain, old, version)
		}
		if err := d.room.take(3 * mapEntrySize); err != nil { // the map grows from nothing
			return nil, err
		}
		sets[domain] = int(version)
	}
	return sets, s.err
}

// mapEntrySize is what an entry of a map from strings costs in a map made in its size.
const mapEntrySize = 64

// plainDomain maps the long name of the default operator domain to the short one.
func plainDomain(s string) string {
	if s == "ai.onnx" {
		return ""
	}
	return s
}

// entries decodes a list of n StringStringEntryProto.
func (d *decoder) entries(msg []byte, num protowire.Number, n int) ([]Entry, error) {
	out, err := reserve[Entry](d.room, n)
	if err != nil {
		return nil, err
	}
	out = out[:0]
	s := d.scan(msg)
	for s.next() {
		if s.num != num {
			continue
		}
		var entry Entry
		e := d.scan(s.message())
		for e.next() {
			switch e.num {
			case 1:
				entry.Key = e.text()
			case 2:
				entry.Value = e.text()
			}
		}
		if e.err != nil {
			return nil, e.err
		}
		out = append(out, entry)
	}
	return out, s.err
}
