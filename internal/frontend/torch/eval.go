package torch

import "math"

// packages are the names that dotted names begin with.
var packages = map[string]bool{"torch": true, "ops": true, "__torch__": true, "CONSTANTS": true}

// eval computes an expression.
func (m *machine) eval(f *frame, x expression) value {
	switch x := x.(type) {
	case *constExpr:
		return x.value
	case *nameExpr:
		return m.name(f, x.name)
	case *attrExpr:
		return m.attribute(m.eval(f, x.of), x.name)
	case *callExpr:
		return m.apply(f, x)
	case *indexExpr:
		return m.item(m.eval(f, x.of), m.eval(f, x.at))
	case *sliceExpr:
		var parts tuple
		for _, p := range []expression{x.from, x.to, x.step} {
			if p == nil {
				parts = append(parts, nil)
			} else {
				parts = append(parts, m.eval(f, p))
			}
		}
		return &span{parts[0], parts[1], parts[2]}
	case *listExpr:
		m.births++
		return &list{items: m.evalAll(f, x.items), born: m.births}
	case *tupleExpr:
		return tuple(m.evalAll(f, x.items))
	case *dictExpr:
		m.births++
		d := &dict{born: m.births}
		for i := range x.keys {
			d.set(m.eval(f, x.keys[i]), m.eval(f, x.values[i]))
		}
		return d
	case *condExpr:
		c := m.eval(f, x.condition)
		yes, known := m.truth(c)
		if !known {
			return m.operator("where", []value{c, m.eval(f, x.yes), m.eval(f, x.no)}, nil)
		}
		if yes {
			return m.eval(f, x.yes)
		}
		return m.eval(f, x.no)
	case *opExpr:
		return m.infix(f, x)
	}
	fail("an expression that is not supported")
	return nil
}

// A span is what stands in the brackets of x[from:to:step].
type span struct{ from, to, step value }

func (m *machine) evalAll(f *frame, list []expression) []value {
	out := make([]value, len(list))
	for i, x := range list {
		out[i] = m.eval(f, x)
	}
	return out
}

// infix computes an operator; and, or stop at the first operand that decides.
func (m *machine) infix(f *frame, x *opExpr) value {
	if x.op == "and" || x.op == "or" {
		a := m.eval(f, x.args[0])
		yes, known := m.truth(a)
		switch {
		case !known:
			b := m.eval(f, x.args[1])
			return m.operator("__"+x.op+"__", []value{a, b}, nil)
		case yes == (x.op == "or"):
			return a
		}
		return m.eval(f, x.args[1])
	}
	args := m.evalAll(f, x.args)
	if x.op == "in" {
		return m.operator("__contains__", []value{args[1], args[0]}, nil)
	}
	return m.operator(x.op, args, nil)
}

// name is a variable, or what the name stands for everywhere.
func (m *machine) name(f *frame, name string) value {
	if v, ok := f.vars[name]; ok {
		return v
	}
	switch {
	case packages[name] || m.decomposing > 0 && (name == "relay" || name == "lathe"):
		return reference{name}
	case name == "inf":
		return math.Inf(1)
	case name == "nan":
		return math.NaN()
	}
	return builtin{name}
}

// attribute is x.name.
func (m *machine) attribute(x value, name string) value {
	switch o := x.(type) {
	case *object:
		if v, ok := o.attrs[name]; ok {
			return v
		}
		if fn := o.class.methods[name]; fn != nil {
			return method{o, fn}
		}
		if c := o.class.constants[name]; c != nil {
			return m.eval(&frame{vars: map[string]value{}}, c)
		}
		fail("%s has no attribute %q", kind(x), name)
	case reference:
		if m.decomposing > 0 {
			return reference{o.path + "." + name}
		}
		return m.code.resolve(m, o.path+"."+name)
	case *class:
		if name == "__new__" {
			return maker{o}
		}
		if fn := o.methods[name]; fn != nil {
			return fn
		}
		if c := o.constants[name]; c != nil {
			return m.eval(&frame{vars: map[string]value{}}, c)
		}
		fail("%s has no %q", o.name, name)
	case *named:
		for i, field := range o.class.order {
			if field == name && i < len(o.tuple) {
				return o.tuple[i]
			}
		}
	case *packed:
		return member{x, name}
	}
	return member{x, name}
}
