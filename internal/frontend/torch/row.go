package torch

import (
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// A row says what an operator of torch becomes. Names are those of aten, which TorchScript and torch.export share; each with its
// underscore, as in add_, is the same in place. An operator has a row for each overload; the first that an application fits is taken.
type row struct {
	names   string // separated by spaces
	params  []param
	convert func(c *call) any // see machine.wrap
}

// A param is a parameter of an operator. kind says which values it takes: T a tensor, L a list of tensors, i an int, I ints, n a number, b a
// bool, s a text; 0 any. None, which stands for an absent one, is always taken.
type param struct {
	name   string
	kind   byte
	needed bool // it tells the overload from others
	named  bool // it is given by name only
}

// sig makes a row. params are names with their kinds: "self:T dim:i keepdim other:T!", where ! is what has to be given. An element type
// without a kind is given by name only.
func sig(names, params string, convert func(c *call) any) row {
	r := row{names: names, convert: convert}
	for _, p := range strings.Fields(params) {
		name, kind, _ := strings.Cut(p, ":")
		r.params = append(r.params, param{name, (kind + "\x00")[0], strings.HasSuffix(kind, "!"), p == "dtype"})
	}
	return r
}

// fits reports whether a value can be that of a parameter.
func (p param) fits(v value) bool {
	if v == nil {
		return true
	}
	t, isTensor := v.(*tensor)
	parts, isList := items(v)
	switch p.kind {
	case 'T':
		return isTensor && !t.number
	case 'L':
		return isList && (len(parts) == 0 || isTensorList(parts))
	case 'i':
		_, ok := v.(int64)
		return ok || isTensor && t.number
	case 'I':
		_, ok := v.(int64)
		return ok || isList && !slices.ContainsFunc(parts, isArray)
	case 'n':
		_, ok := number(v)
		return ok || isTensor && t.number
	case 'b':
		_, ok := v.(bool)
		return ok || isTensor && t.number
	case 's':
		_, ok := v.(string)
		return ok
	}
	return true
}

// isArray reports whether a part of a list is a tensor and no number.
func isArray(v value) bool {
	t, ok := v.(*tensor)
	return ok && !t.number
}

// isTensorList reports whether some part of a list is a tensor, or one that is left out.
func isTensorList(parts []value) bool {
	return slices.ContainsFunc(parts, func(v value) bool { return isArray(v) || v == nil })
}

// bind gives the arguments of an application by the parameters' names; ok is false where they do not fit.
func (r *row) bind(args []value, names []string) (bound map[string]value, ok bool) {
	plain := len(args) - len(names)
	if plain > len(r.params) {
		return nil, false
	}
	bound = map[string]value{}
	for i, v := range args[:plain] {
		if r.params[i].named || !r.params[i].fits(v) {
			return nil, false
		}
		bound[r.params[i].name] = v
	}
	for i, name := range names {
		at := slices.IndexFunc(r.params, func(p param) bool { return p.name == name })
		if at < 0 && ignored[name] {
			continue
		}
		if at < plain || !r.params[at].fits(args[plain+i]) {
			return nil, false
		}
		bound[name] = args[plain+i]
	}
	for _, p := range r.params {
		if _, ok := bound[p.name]; p.needed && !ok {
			return nil, false
		}
	}
	return bound, true
}

// ignored are parameters that say where or how a tensor lies in memory.
var ignored = map[string]bool{"layout": true, "device": true, "pin_memory": true, "memory_format": true, "requires_grad": true, "non_blocking": true, "generator": true, "copy": true, "stable": true}

// operator applies an operator to its arguments in order, those behind by name.
func (m *machine) operator(name string, args []value, names []string) value {
	if m.decomposing == 0 {
		m.place.op, m.Origin = "torch."+name, []string{m.origin(name)}
	}
	if len(names) == 0 {
		if f := m.table.builtins[name]; f != nil {
			if v, ok := f(m, args); ok {
				return v
			}
		}
	}
	if at := slices.Index(names, "out"); at >= 0 {
		out, i := args[len(args)-len(names)+at], len(args)-len(names)+at
		if t, ok := out.(*tensor); ok {
			m.replace(t, m.operator(name, slices.Delete(slices.Clone(args), i, i+1), slices.Delete(slices.Clone(names), at, at+1)))
		}
		return out
	}
	rows := m.table.rows[name]
	inPlace := false
	if plain, ok := strings.CutSuffix(name, "_"); ok && rows == nil && !strings.HasSuffix(plain, "_") {
		rows, inPlace = m.table.rows[plain], true
	}
	if rows == nil {
		fail("%w", m.unsupported(name))
	}
	m.Spend()
	for i := range rows {
		bound, ok := rows[i].bind(args, names)
		if !ok {
			continue
		}
		v := m.convert(&rows[i], &call{machine: m, name: strings.TrimSuffix(name, "_"), args: bound})
		if self, ok := args[0].(*tensor); ok && inPlace {
			return m.replace(self, v)
		}
		return v
	}
	kinds := make([]string, len(args))
	for i, a := range args {
		kinds[i] = kind(a)
	}
	fail("it is applied to %s, which is not supported", strings.Join(kinds, ", "))
	return nil
}

// origin is where nodes come from: the object whose code it is, and the operator.
func (m *machine) origin(name string) string {
	if m.place.path == "" {
		return name
	}
	return m.place.path + "." + name
}

// convert applies a row. Rows that know nothing of quantised tensors get their real numbers.
func (m *machine) convert(r *row, c *call) value {
	var first *tensor
	for _, p := range r.params {
		for _, t := range tensorsIn(c.args[p.name]) {
			if t.complex && !complexRows[c.name] {
				fail("of complex numbers it is not supported")
			}
			if t.quant != nil && first == nil {
				first = t
			}
		}
	}
	if first == nil || keepsIntegers(c.name) {
		return m.wrap(r.convert(c))
	}
	return m.throughReal(r, c, first)
}

// tensorsIn are the tensors of an argument.
func tensorsIn(v value) []*tensor {
	switch x := v.(type) {
	case *tensor:
		return []*tensor{x}
	case tuple, *list:
		var out []*tensor
		parts, _ := items(x)
		for _, p := range parts {
			if t, ok := p.(*tensor); ok {
				out = append(out, t)
			}
		}
		return out
	}
	return nil
}

// wrap makes values of what a row gives: a value of the graph is a tensor of its own, several are a tuple, anything else is itself.
func (m *machine) wrap(v any) value {
	switch x := v.(type) {
	case *graph.Value:
		return m.fresh(x)
	case []*graph.Value:
		out := make(tuple, len(x))
		for i, g := range x {
			out[i] = m.fresh(g)
		}
		return out
	}
	return v
}

// replace puts a result into a tensor, whose element type and shape stay.
func (m *machine) replace(t *tensor, v value) value {
	r, ok := v.(*tensor)
	if !ok || r == t {
		return v
	}
	old, g := m.get(t).Type, m.get(r)
	if r.base == t || r.base != nil && r.base.base == t { // squeeze_, transpose_ and the like: the same elements in another shape
		if t.base == nil {
			t.v, t.strided = g, r.strided
			t.changes++
			return t
		}
		fail("the shape of a view is changed in place, which is not supported")
	}
	t.quant, t.complex = r.quant, r.complex
	if t.base == nil && types0(old.Shape) != types0(g.Type.Shape) { // resize_
		m.set(t, m.Cast(g, old.DType))
		return t
	}
	if !r.complex && r.quant == nil {
		g = m.BroadcastTo(m.Cast(g, old.DType), old.Shape...)
	}
	m.set(t, g)
	return t
}

// types0 reports whether a shape has no elements.
func types0(shape []int) bool { return slices.Contains(shape, 0) }

// unsupported lists all operators in the code that have no row, the one that was met first.
func (m *machine) unsupported(name string) error {
	var all []frontend.Missing
	for _, u := range m.uses() {
		if m.table.supports(u.name) {
			continue
		}
		missing := frontend.Missing{Op: "torch." + u.name, Nodes: u.count, First: u.first}
		if u.name == name {
			all = slices.Insert(all, 0, missing)
		} else {
			all = append(all, missing)
		}
	}
	if len(all) == 0 || all[0].Op != "torch."+name {
		all = slices.Insert(all, 0, frontend.Missing{Op: "torch." + name, Nodes: 1, First: m.place.path})
	}
	return &frontend.UnsupportedError{Operators: all}
}
