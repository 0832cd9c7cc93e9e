package tensorflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// A signature is a SignatureDef: the inputs and outputs of a network by name.
type signature struct {
	name            string
	inputs, outputs []end
}

// An end is a TensorInfo: a value of the graph that the user knows by a name.
type end struct {
	name, tensor string
	typ          dataType
	shape        shape
	from         ref
}

func readSignature(name string, msg []byte) (*signature, error) {
	s := &signature{name: name}
	err := wire.Read(msg, wire.Fields{1: wire.Messages(&s.inputs, readEnd), 2: wire.Messages(&s.outputs, readEnd)})
	byName := func(a, b end) int { return cmp.Compare(a.name, b.name) }
	slices.SortFunc(s.inputs, byName)
	slices.SortFunc(s.outputs, byName)
	return s, err
}

func readEnd(msg []byte) (e end, err error) {
	err = wire.Read(msg, wire.Fields{1: wire.Text(&e.name), 2: wire.Message(wire.Fields{1: wire.Text(&e.tensor), 2: wire.Int(&e.typ), 3: wire.With(e.shape.read)})})
	return e, err
}

// apply names the inputs of the level, and gives the outputs.
func (s *signature) apply(l *level) ([]end, error) {
	l.numbered, l.named = true, map[string]string{}
	for i := range s.inputs {
		e := &s.inputs[i]
		if err := e.find(l); err != nil {
			return nil, fmt.Errorf("signature %q: input %q: %w", s.name, e.name, err)
		}
		l.named[e.from.String()] = e.name
	}
	out := slices.Clone(s.outputs)
	taken := map[string]bool{}
	for _, e := range s.inputs {
		taken[e.name] = true
	}
	for i := range out {
		e := &out[i]
		if err := e.find(l); err != nil {
			return nil, fmt.Errorf("signature %q: output %q: %w", s.name, e.name, err)
		}
		for taken[e.name] { // an input has the name
			e.name += "_out"
		}
		taken[e.name] = true
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("signature %q has no outputs", s.name)
	}
	return out, nil
}

func (e *end) find(l *level) (err error) {
	if strings.Contains(e.name, ":") {
		e.name = strings.ReplaceAll(e.name, ":", "_") // values have names with colons
	}
	if e.tensor == "" {
		return fmt.Errorf("it is no dense tensor, which is not supported")
	}
	if e.from, err = l.refer(e.tensor); err == nil && l.vertices[e.from.node] == nil {
		err = fmt.Errorf("there is no node %q", e.from.node)
	}
	return err
}

// describe gives inputs the types of the signature, and its order.
func (s *signature) describe(inputs []frontend.Info) {
	place := map[string]int{}
	for i, e := range s.inputs {
		place[e.name] = i + 1
		for k := range inputs {
			if inputs[k].Name == e.name && e.typ != 0 {
				describe(&inputs[k], e.typ, e.shape)
			}
		}
	}
	slices.SortStableFunc(inputs, func(a, b frontend.Info) int { return place[a.Name] - place[b.Name] })
}
