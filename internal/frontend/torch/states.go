package torch

import (
	"cmp"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// options are what the user chooses for a model.
type options struct {
	states bool // what the model keeps from run to run are inputs and outputs
}

func (o *options) set(option, value string) {
	if option == frontend.StateOption.Name {
		o.states = value == "io"
	}
}

// states are the tensors that a run changes: attributes of the model's objects, which start at their saved values in each run, or are inputs
// and outputs. Interpreting finds which they are.
type states struct {
	io      bool
	names   []string // by their paths, in order; those that were found before
	seen    []attribute
	inputs  map[string]*graph.Value
	changed []string
}

// An attribute is one of an object as it was loaded.
type attribute struct {
	of    *object
	name  string
	value value
}

func (a attribute) path() string { return join(a.of.path, a.name) }

// found reports whether interpreting changed tensors, and makes them inputs of the next time.
func (s *states) found() bool {
	s.names, s.seen, s.inputs, s.changed = s.changed, nil, map[string]*graph.Value{}, nil
	return len(s.names) > 0
}

// saw notes an attribute that was loaded. A state gets the value of its input.
func (s *states) saw(m *machine, of *object, name string) {
	a := attribute{of, name, of.attrs[name]}
	t, ok := a.value.(*tensor)
	if path := a.path(); ok && slices.Contains(s.names, path) {
		if s.inputs[path] == nil {
			s.inputs[path] = m.Graph.Input(path, m.get(t).Type)
		}
		a.value = &tensor{v: s.inputs[path], quant: t.quant, complex: t.complex}
		of.attrs[name] = a.value
	}
	s.seen = append(s.seen, a)
}

// changed finds the attributes that the run has changed. As states they are outputs, in the order of their paths.
func (m *machine) changed(s *states, outputs *[]frontend.Output) {
	var list []attribute
	for _, a := range s.seen {
		t, isTensor := a.of.attrs[a.name].(*tensor)
		_, was := a.value.(*tensor)
		if isTensor && (a.value != value(t) || t.changes > 0) {
			if s.io && !was {
				fail("%s is no tensor before the first run, so that it cannot be an input (--state reset)", a.path())
			}
			list = append(list, a)
			s.changed = append(s.changed, a.path())
		}
	}
	slices.Sort(s.changed)
	s.changed = slices.Compact(s.changed)
	switch {
	case !s.io && len(s.changed) > 0:
		m.Note("what the model keeps from run to run (%s) starts at its saved value in each (--state io makes it inputs and outputs)", strings.Join(s.changed, ", "))
	case s.io && s.inputs != nil:
		slices.SortStableFunc(list, func(a, b attribute) int { return cmp.Compare(a.path(), b.path()) })
		for _, a := range list {
			in, next := s.inputs[a.path()], m.get(a.of.attrs[a.name].(*tensor))
			if in == nil || !next.Type.Equal(in.Type) {
				fail("%s becomes %s in a run, and was another tensor before it: it cannot be an input (--state reset)", a.path(), next.Type)
			}
			*outputs = append(*outputs, frontend.Output{Name: a.path() + ":next", Value: next})
		}
	}
}
