package torch

import "maps"

// each runs the body of a for loop for each item, or as a loop of the graph where data decide how often, and where it is long and its
// iterations differ by tensors only.
func (m *machine) each(f *frame, s *forStmt) {
	if call, ok := s.sequence.(*callExpr); ok && len(call.args) == 1 {
		if n, ok := call.function.(*nameExpr); ok && n.name == "range" {
			n := m.eval(f, call.args[0])
			if t, ok := n.(*tensor); ok && m.get(t).Value() == nil {
				m.count(f, s, m.get(t))
				return
			}
			if trips, ok := n.(int64); ok && m.repeat(f, s, int(min(trips, 1<<30))) {
				return
			}
		}
	}
	sequence := m.eval(f, s.sequence)
	var all []value
	switch x := sequence.(type) {
	case *dict:
		all = x.keys
	default:
		all = m.unpack(x)
	}
	for _, v := range all {
		m.step()
		m.assign(f, s.target, v)
		if m.run(f, s.body); f.done {
			return
		}
	}
}

// while runs a while loop as long as its condition is known, and the rest as a loop of the graph.
func (m *machine) while(f *frame, s *whileStmt) {
	for !f.done {
		m.step()
		m.at(s.line)
		v := m.eval(f, s.condition)
		yes, known := m.truth(v)
		if !known {
			m.until(f, s, m.get(v.(*tensor)))
			return
		}
		if !yes {
			return
		}
		m.run(f, s.body)
	}
}

// snapshot keeps the variables of a frame, and gives a function that brings them back.
func (f *frame) snapshot() (restore func()) {
	vars := maps.Clone(f.vars)
	return func() { f.vars = maps.Clone(vars) }
}
