package torch

import (
	"fmt"
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/types"
)

// reads says which elements a function reads of an argument that is a list or a dictionary.
type reads struct {
	count int      // one behind the last place that is read by number
	keys  []string // as they are first read
	other bool     // it is used in other ways as well
}

// usesOf finds what a function's own code says of an argument.
func usesOf(f *function, name string) (u reads) {
	var each func(x any)
	all := func(list []expression) {
		for _, x := range list {
			each(x)
		}
	}
	body := func(list []statement) {
		for _, s := range list {
			each(s)
		}
	}
	each = func(x any) {
		switch x := x.(type) {
		case *nameExpr:
			u.other = u.other || x.name == name
		case *attrExpr:
			each(x.of)
		case *callExpr:
			each(x.function)
			all(x.args)
		case *indexExpr:
			of, ok := x.of.(*nameExpr)
			at, literal := x.at.(*constExpr)
			if !ok || of.name != name || !literal {
				each(x.of)
				each(x.at)
				return
			}
			switch v := at.value.(type) {
			case int64:
				if v >= 0 && v < maxElements {
					u.count = max(u.count, int(v)+1)
				} else {
					u.other = true
				}
			case string:
				if !slices.Contains(u.keys, v) {
					u.keys = append(u.keys, v)
				}
			}
		case *sliceExpr:
			each(x.from)
			each(x.to)
			each(x.step)
		case *listExpr:
			all(x.items)
		case *tupleExpr:
			all(x.items)
		case *dictExpr:
			all(x.keys)
			all(x.values)
		case *condExpr:
			all([]expression{x.condition, x.yes, x.no})
		case *opExpr:
			all(x.args)
		case *assignStmt:
			each(x.value)
			all(x.targets)
		case *exprStmt:
			each(x.value)
		case *ifStmt:
			each(x.condition)
			body(x.yes)
			body(x.no)
		case *forStmt:
			each(x.sequence)
			body(x.body)
		case *whileStmt:
			each(x.condition)
			body(x.body)
		case *withStmt:
			each(x.value)
			body(x.body)
		case *returnStmt:
			each(x.value)
		case *raiseStmt:
			each(x.value)
		}
	}
	body(f.body)
	return u
}

// maxElements bounds the elements of a list that are inputs. Where the program does not say how many it reads, those behind the first
// are inputs if they are given.
const maxElements = 16

// inputsOf are the inputs that an argument of forward stands for: one for each element of a tuple, of a list, and for each key of a dictionary that is read.
// Tensors are float32 until the program takes them for something else.
func inputsOf(p parameter, u reads) []frontend.Info {
	name, optional := p.name, p.absent != nil
	of := p.given()
	in := frontend.Info{Name: name, Optional: optional}
	if at, ok := of.(*indexExpr); ok {
		element := func(name string, of expression) []frontend.Info {
			return inputsOf(parameter{name: p.name + "." + name, of: of, absent: p.absent}, reads{})
		}
		t, isTuple := at.at.(*tupleExpr)
		var all []frontend.Info
		switch kind := dotted(at.of); {
		case kind == "Tuple" && isTuple:
			for i, x := range t.items {
				all = append(all, element(fmt.Sprint(i), x)...)
			}
			return all
		case kind == "List" && dotted(at.at) == "Tensor":
			for i := range maxElements {
				if i >= max(u.count, 1) && !u.other {
					break
				}
				e := element(fmt.Sprint(i), at.at)
				e[0].Optional = e[0].Optional || i >= max(u.count, 1)
				all = append(all, e...)
			}
			return all
		case kind == "Dict" && isTuple && len(t.items) == 2 && dotted(t.items[0]) == "str" && dotted(t.items[1]) == "Tensor" && len(u.keys) > 0 && !u.other:
			for _, key := range u.keys {
				all = append(all, element(key, t.items[1])...)
			}
			return all
		}
		in.Kind = "a " + dotted(at.of)
		return []frontend.Info{in}
	}
	switch kind := dotted(of); kind {
	case "Tensor", "":
		in.DType, in.Assumed, in.Spelt = types.F32, true, "Tensor"
	case "int", "float", "bool":
		in.DType, in.Ranked, in.Spelt = map[string]types.DType{"int": types.I64, "float": types.F64, "bool": types.Bool}[kind], true, kind
	default:
		in.Kind = "a " + kind
	}
	return []frontend.Info{in}
}

// given is the type of a parameter, of an optional one that of what is given for it.
func (p parameter) given() expression {
	if at, ok := p.of.(*indexExpr); ok && dotted(at.of) == "Optional" {
		return at.at
	}
	return p.of
}

// argument is what forward gets for a parameter; ok is false where its default counts.
func (m *machine) argument(p parameter, u reads) (value, bool) {
	kind := ""
	if at, ok := p.given().(*indexExpr); ok {
		kind = dotted(at.of)
	}
	var parts tuple
	for _, in := range inputsOf(p, u) {
		v := m.Value(in.Name)
		switch {
		case v == nil && kind == "List" && in.Optional && len(parts) > 0:
			return m.newList(parts), true
		case v == nil && p.absent != nil:
			return nil, false
		case v == nil:
			fail("argument %s has no value", in.Name)
		case in.Ranked: // a number
			parts = append(parts, m.scalarOf(v))
		default:
			parts = append(parts, m.fresh(v))
		}
	}
	switch kind {
	case "Tuple":
		return parts, true
	case "List":
		return m.newList(parts), true
	case "Dict":
		d := &dict{}
		for i, key := range u.keys {
			d.keys, d.values = append(d.keys, key), append(d.values, parts[i])
		}
		return d, true
	}
	return parts[0], true
}
