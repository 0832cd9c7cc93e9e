package torch

import (
	"errors"
	"fmt"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// A machine runs code on tensors that are values of a graph. Everything else is computed while it runs: sizes, conditions, loops.
// Each import has a machine of its own, since code changes the objects of the model.
type machine struct {
	*frontend.Call
	code      *code // or nil
	table     *table
	constants *loader
	uses      func() []use
	steps     int
	depth     int // of calls within each other
	births    int // of tensors, lists and objects
	region    int // what was born before it is outside of the code that the data decide about
	place     place
	// decomposing counts the decompositions that run within each other: what they do is done by the operator of the code.
	decomposing int
}

// A place is where the code is that runs.
type place struct {
	file string
	line int
	path string // of the object whose method it is
	op   string
}

// maxSteps bounds how many statements and calls run, maxCalls how deep calls nest.
const (
	maxSteps = 1_000_000
	maxCalls = 200
)

// A raised is an exception of the code.
type raised struct{ text string }

func (r *raised) Error() string {
	if r.text == "" {
		return "the code raises an exception: what it is given is not what it was written for"
	}
	return "the code raises an exception: " + r.text
}

// A frame holds the variables of a call.
type frame struct {
	fn   *function
	vars map[string]value
	// What a return statement gave.
	result value
	done   bool
}

// at notes the line that runs.
func (m *machine) at(line int) {
	if m.decomposing == 0 {
		m.place.line = line
	}
}

func (m *machine) step() {
	if m.steps++; m.steps > maxSteps {
		fail("the code runs more than %d steps, which is not supported", maxSteps)
	}
}

// guard runs the code, and says of an error where in the code it is.
func (m *machine) guard(f func()) {
	err := compose.Try(f)
	if err == nil {
		return
	}
	var unsupported *frontend.UnsupportedError
	var retype *frontend.TypeError
	if errors.As(err, &unsupported) || errors.As(err, &retype) {
		fail("%w", err)
	}
	label := m.place.op
	if m.place.path != "" {
		label += fmt.Sprintf(" %q", m.place.path)
	}
	if m.place.file != "" {
		label += fmt.Sprintf(" (%s:%d)", m.place.file, m.place.line)
	}
	fail("%w", &frontend.NodeError{Op: m.place.op, Node: label, Err: err})
}

// call runs a function with its arguments in order, those behind by name.
func (m *machine) call(fn *function, self *object, args []value, names []string) value {
	m.step()
	if m.depth++; m.depth > maxCalls {
		fail("calls are nested more than %d deep", maxCalls)
	}
	before := m.place
	defer func() { m.depth-- }()
	f := &frame{fn: fn, vars: map[string]value{}}
	params := fn.params
	if self != nil && len(params) > 0 {
		f.vars[params[0].name] = self
		params = params[1:]
		m.place.path = self.path
	}
	plain := args[:len(args)-len(names)]
	if len(plain) > len(params) {
		fail("%s is called with %d arguments; it has %d", fn.name, len(args), len(params))
	}
	for i, p := range params {
		if i < len(plain) {
			f.vars[p.name] = plain[i]
		}
	}
	for i, name := range names {
		f.vars[name] = args[len(plain)+i]
	}
	for _, p := range params {
		if _, ok := f.vars[p.name]; ok {
			continue
		}
		if p.absent == nil {
			fail("%s is called without %s", fn.name, p.name)
		}
		f.vars[p.name] = m.eval(f, p.absent)
	}
	m.place.file = fn.file
	m.run(f, fn.body)
	m.place = before
	return f.result
}

// run executes statements until one returns.
func (m *machine) run(f *frame, body []statement) {
	for _, s := range body {
		if f.done {
			return
		}
		m.step()
		m.execute(f, s)
	}
}

func (m *machine) execute(f *frame, s statement) {
	switch s := s.(type) {
	case *assignStmt:
		m.at(s.line)
		v := m.eval(f, s.value)
		for _, target := range s.targets {
			m.assign(f, target, v)
		}
	case *exprStmt:
		m.at(s.line)
		m.eval(f, s.value)
	case *ifStmt:
		m.at(s.line)
		condition := m.eval(f, s.condition)
		yes, known := m.truth(condition)
		switch {
		case !known:
			m.either(f, s, condition.(*tensor))
		case yes:
			m.run(f, s.yes)
		default:
			m.run(f, s.no)
		}
	case *forStmt:
		m.at(s.line)
		m.each(f, s)
	case *whileStmt:
		m.while(f, s)
	case *withStmt:
		m.at(s.line)
		v := m.eval(f, s.value)
		if s.target != nil {
			m.assign(f, s.target, v)
		}
		m.run(f, s.body)
	case *returnStmt:
		m.at(s.line)
		if s.value != nil {
			f.result = m.eval(f, s.value)
		}
		f.done = true
	case *raiseStmt:
		m.at(s.line)
		panicRaised(text(m.eval(f, s.value), 3))
	}
}

func panicRaised(message string) { fail("%w", &raised{message}) }

// assign gives a value to a name, an attribute, an element or several of these.
func (m *machine) assign(f *frame, target expression, v value) {
	switch t := target.(type) {
	case *nameExpr:
		f.vars[t.name] = v
	case *tupleExpr:
		parts := m.unpack(v)
		if len(parts) != len(t.items) {
			fail("%d values are given to %d names", len(parts), len(t.items))
		}
		for i, x := range t.items {
			m.assign(f, x, parts[i])
		}
	case *attrExpr:
		o, ok := m.eval(f, t.of).(*object)
		if !ok {
			fail("an attribute %q is set of %s", t.name, kind(m.eval(f, t.of)))
		}
		if o.born < m.region {
			fail("the attribute %q is set where the data decide whether code runs, which is not supported", t.name)
		}
		o.attrs[t.name] = v
	case *indexExpr:
		m.setItem(m.eval(f, t.of), m.eval(f, t.at), v)
	default:
		fail("an assignment to what is no name")
	}
}

// unpack gives the parts of what is assigned to several names.
func (m *machine) unpack(v value) []value {
	if parts, ok := items(v); ok {
		return parts
	}
	if t, ok := v.(*tensor); ok && m.rank(t) > 0 {
		return m.unbind(t, 0)
	}
	fail("%s is taken apart", kind(v))
	return nil
}

// truth is a condition; known is false where it depends on data.
func (m *machine) truth(v value) (yes, known bool) {
	switch x := v.(type) {
	case nil:
		return false, true
	case string:
		return x != "", true
	case tuple:
		return len(x) > 0, true
	case *list:
		return len(x.items) > 0, true
	case *dict:
		return len(x.keys) > 0, true
	case *tensor:
		t := m.get(x).Value()
		if t == nil {
			return false, false
		}
		if t.Len() != 1 {
			fail("the truth of a tensor of %d elements", t.Len())
		}
		return t.Float(0) != 0, true
	}
	if n, ok := number(v); ok {
		return n != 0, true
	}
	return true, true
}

// scalarOf is a number that depends on data, or the number itself where it is known.
func (m *machine) scalarOf(v *graph.Value) value {
	if t := v.Value(); t != nil {
		switch d := t.DType; {
		case d.IsFloat():
			return t.Float(0)
		case d.IsInt():
			return t.Int(0)
		default:
			return t.Int(0) != 0
		}
	}
	t := m.fresh(v)
	t.number = true
	return t
}
