package torch

import (
	"strings"

	"lathe/internal/ops"
	"lathe/internal/types"
)

// A named is a tuple whose elements have names.
type named struct {
	tuple
	class *class
}

// A maker makes instances of a class whose code calls __init__ by itself.
type maker struct{ class *class }

// apply calls a function.
func (m *machine) apply(f *frame, x *callExpr) value {
	m.step()
	if n, ok := x.function.(*nameExpr); ok {
		if _, local := f.vars[n.name]; !local {
			return m.form(f, n.name, x)
		}
	}
	fn := m.eval(f, x.function)
	args := m.evalAll(f, x.args)
	m.at(x.line)
	switch fn := fn.(type) {
	case method:
		return m.call(fn.function, fn.self, args, x.names)
	case *function:
		return m.call(fn, nil, args, x.names)
	case *class:
		return m.construct(fn, args, x.names)
	case maker:
		return m.instance(fn.class)
	case reference:
		if name, ok := strings.CutPrefix(fn.path, "relay."); ok {
			return m.relay(name, args, x.names)
		}
		if name, ok := strings.CutPrefix(fn.path, "lathe."); ok {
			return m.decompositionFunction(name, args)
		}
		name, ok := strings.CutPrefix(fn.path, "torch.")
		if !ok {
			name = strings.TrimPrefix(strings.TrimPrefix(fn.path, "ops."), "aten.")
		}
		return m.operator(name, args, x.names)
	case member:
		return m.operator(fn.name, append([]value{fn.self}, args...), x.names)
	case *object:
		if forward := fn.class.methods["forward"]; forward != nil {
			return m.call(forward, fn, args, x.names)
		}
	}
	fail("%s is called", kind(fn))
	return nil
}

// construct makes an instance of a class.
func (m *machine) construct(c *class, args []value, names []string) value {
	if c.tuple {
		return &named{tuple(args), c}
	}
	o := m.instance(c)
	if fn := c.methods["__init__"]; fn != nil {
		m.call(fn, o, args, names)
	}
	return o
}

// instance is an object without attributes.
func (m *machine) instance(c *class) *object {
	m.births++
	return &object{class: c, attrs: map[string]value{}, born: m.births}
}

// form calls what has a name of the language's: some of its arguments are types.
func (m *machine) form(f *frame, name string, x *callExpr) value {
	arg := func(i int) value {
		if i >= len(x.args) {
			fail("%s without argument %d", name, i)
		}
		return m.eval(f, x.args[i])
	}
	switch name {
	case "annotate", "unchecked_cast":
		v := arg(1)
		t, isTensor := v.(*tensor)
		if of, ok := x.args[0].(*nameExpr); ok && isTensor { // a tensor of one element as a number, as tracing and quantising write it
			switch of.name {
			case "number":
				return m.scalarOf(m.get(t))
			case "float":
				return m.toNumber(t, types.F64)
			case "int":
				return m.toNumber(t, types.I64)
			}
		}
		return v
	case "uninitialized":
		return nil
	case "getattr":
		attr, _ := arg(1).(string)
		return m.attribute(arg(0), attr)
	case "isinstance":
		arg(0)
		return m.isInstance(arg(0), x.args[1])
	case "int":
		return m.toNumber(arg(0), types.I64)
	case "float":
		return m.toNumber(arg(0), types.F64)
	case "bool":
		return m.toNumber(arg(0), types.Bool)
	case "str":
		return text(arg(0), 5)
	}
	args := m.evalAll(f, x.args)
	m.at(x.line)
	return m.operator(name, args, x.names)
}

// toNumber is int(v), float(v) or bool(v).
func (m *machine) toNumber(v value, d types.DType) value {
	switch x := v.(type) {
	case *tensor:
		g := m.get(x)
		if g.Type.Elements() != 1 {
			fail("a number of a tensor %s", g.Type)
		}
		if d == types.I64 && g.Type.DType.IsFloat() {
			g = m.Do(ops.Trunc, g)
		}
		return m.scalarOf(m.Cast(m.Reshape(g), d))
	case string:
		return parseNumber(x, d)
	}
	if d == types.Bool {
		yes, _ := m.truth(v)
		return yes
	}
	n, ok := number(v)
	if !ok {
		fail("a number of %s", kind(v))
	}
	if d == types.F64 {
		return n
	}
	if i, ok := v.(int64); ok {
		return i
	}
	return int64(n)
}

// isInstance reports whether v is of a type.
func (m *machine) isInstance(v value, of expression) value {
	name := ""
	switch t := of.(type) {
	case *tupleExpr:
		for _, x := range t.items {
			if m.isInstance(v, x) == value(true) {
				return true
			}
		}
		return false
	case *nameExpr:
		name = t.name
	case *indexExpr:
		if n, ok := t.of.(*nameExpr); ok {
			name = n.name
		}
		if name == "Optional" {
			return v == nil || m.isInstance(v, t.at) == value(true)
		}
	case *attrExpr:
		o, ok := v.(*object)
		return ok && o.class.name == dotted(of)
	case *constExpr:
		return v == nil && t.value == nil
	}
	switch x := v.(type) {
	case nil:
		return name == "NoneType"
	case bool:
		return name == "bool"
	case int64:
		return name == "int" || name == "number"
	case float64:
		return name == "float" || name == "number"
	case string:
		return name == "str"
	case *list:
		return name == "List" || name == "list"
	case tuple, *named:
		return name == "Tuple" || name == "tuple"
	case *dict:
		return name == "Dict" || name == "dict"
	case *tensor:
		return x.number == (name != "Tensor")
	}
	return false
}

// dotted is a name with dots as it stands in the code, "" for anything else.
func dotted(x expression) string {
	switch t := x.(type) {
	case *nameExpr:
		return t.name
	case *attrExpr:
		if of := dotted(t.of); of != "" {
			return of + "." + t.name
		}
	}
	return ""
}
