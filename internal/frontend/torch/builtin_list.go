package torch

import (
	"slices"
	"strings"
)

func listFunctions() map[string]builtinFunc {
	on := func(f func(m *machine, l *list, args []value) value) builtinFunc {
		return func(m *machine, args []value) (value, bool) {
			if len(args) == 0 {
				return nil, false
			}
			if _, ok := args[0].(*list); !ok {
				return nil, false
			}
			return f(m, m.changing(args[0]), args[1:]), true
		}
	}
	number := numberFunctions()
	return map[string]builtinFunc{
		"all": truths(false), "any": truths(true),
		"sum": sumOf,
		"len": func(m *machine, args []value) (value, bool) {
			switch x := args[0].(type) {
			case string:
				return int64(len(x)), true
			case *dict:
				return int64(len(x.keys)), true
			case *object:
				if fn := x.class.methods["__len__"]; fn != nil {
					return m.call(fn, x, nil, nil), true
				}
			case *tensor:
				if m.rank(x) > 0 {
					return m.extents(x)[0], true
				}
			}
			parts, ok := items(args[0])
			return int64(len(parts)), ok
		},
		"append": on(func(_ *machine, l *list, args []value) value { l.items = append(l.items, args...); return l }),
		"extend": on(func(m *machine, l *list, args []value) value {
			l.items = append(l.items, m.unpack(args[0])...)
			return nil
		}),
		"insert": on(func(m *machine, l *list, args []value) value {
			at := min(max(m.whole(args[0], "index"), 0), len(l.items))
			l.items = slices.Insert(l.items, at, args[1])
			return nil
		}),
		"pop": func(m *machine, args []value) (value, bool) {
			if d, ok := args[0].(*dict); ok && len(args) > 1 {
				v, ok := d.get(args[1])
				if !ok && len(args) > 2 {
					return args[2], true
				}
				m.deleteKey(d, args[1])
				return v, ok
			}
			l := m.changing(args[0])
			if l == nil {
				return nil, false
			}
			at := len(l.items) - 1
			if len(args) > 1 {
				at = m.index(args[1], len(l.items))
			}
			if at < 0 {
				fail("an item is taken from an empty list")
			}
			v := l.items[at]
			l.items = slices.Delete(slices.Clone(l.items), at, at+1)
			return v, true
		},
		"clear":   on(func(_ *machine, l *list, _ []value) value { l.items = nil; return nil }),
		"reverse": on(func(_ *machine, l *list, _ []value) value { slices.Reverse(l.items); return nil }),
		"remove": on(func(_ *machine, l *list, args []value) value {
			for i, v := range l.items {
				if same(v, args[0]) {
					l.items = slices.Delete(slices.Clone(l.items), i, i+1)
					break
				}
			}
			return nil
		}),
		"count": on(func(_ *machine, l *list, args []value) value {
			n := int64(0)
			for _, v := range l.items {
				if same(v, args[0]) {
					n++
				}
			}
			return n
		}),
		"list": func(m *machine, args []value) (value, bool) {
			switch x := args[0].(type) {
			case string:
				var all []value
				for _, r := range x {
					all = append(all, string(r))
				}
				return m.newList(all), true
			case *dict:
				return m.newList(x.keys), true
			}
			parts, ok := items(args[0])
			return m.newList(parts), ok
		},
		"copy": func(m *machine, args []value) (value, bool) {
			switch x := args[0].(type) {
			case *list:
				return m.newList(x.items), true
			case *dict:
				m.births++
				return &dict{keys: slices.Clone(x.keys), values: slices.Clone(x.values), born: m.births}, true
			}
			return nil, false
		},
		"_set_item __setitem__": func(m *machine, args []value) (value, bool) {
			if len(args) != 3 {
				return nil, false
			}
			m.setItem(args[0], args[1], args[2])
			return args[0], true
		},
		"__getitem__ prim.TupleIndex": func(m *machine, args []value) (value, bool) {
			if len(args) != 2 {
				return nil, false
			}
			return m.item(args[0], args[1]), true
		},
		"__contains__": contains,
		"slice": func(m *machine, args []value) (value, bool) {
			for len(args) < 4 {
				args = append(args, nil)
			}
			if s, ok := args[0].(string); ok {
				begin, end, _ := m.cut(args[1], args[2], args[3], len(s))
				return s[begin:end], true
			}
			parts, ok := items(args[0])
			if !ok {
				return nil, false
			}
			begin, end, step := m.cut(args[1], args[2], args[3], len(parts))
			var all []value
			for i := begin; i < end; i += step {
				all = append(all, parts[i])
			}
			if _, is := args[0].(tuple); is {
				return tuple(all), true
			}
			return m.newList(all), true
		},
		"add add_": func(m *machine, args []value) (value, bool) {
			if len(args) == 2 {
				if a, ok := args[0].(string); ok {
					b, ok := args[1].(string)
					return a + b, ok && len(a)+len(b) < 1<<20
				}
				if a, ok := items(args[0]); ok {
					if b, ok := items(args[1]); ok {
						if _, is := args[0].(tuple); is {
							return tuple(slices.Concat(a, b)), true
						}
						return m.newList(slices.Concat(a, b)), true
					}
				}
			}
			return number["add"](m, args)
		},
		"mul": func(m *machine, args []value) (value, bool) {
			if len(args) == 2 {
				for i := range 2 {
					n, isInt := args[1-i].(int64)
					if l, ok := args[i].(*list); ok && isInt {
						if n = max(n, 0); int(n)*len(l.items) > maxItems || n > maxItems {
							fail("a list of more than %d items", maxItems)
						}
						return m.newList(slices.Repeat(l.items, int(n))), true
					}
					if s, ok := args[i].(string); ok && isInt && n >= 0 && int(n)*len(s) < 1<<20 {
						return strings.Repeat(s, int(n)), true
					}
				}
			}
			return number["mul"](m, args)
		},
		"range __range": ranged,
		"__range_length": func(m *machine, args []value) (value, bool) {
			l, ok := ranged(m, args)
			if !ok {
				return nil, false
			}
			return int64(len(l.(*list).items)), true
		},
		"__derive_index": func(_ *machine, args []value) (value, bool) {
			if len(args) != 3 {
				return nil, false
			}
			i, ok1 := args[0].(int64)
			start, ok2 := args[1].(int64)
			step, ok3 := args[2].(int64)
			return start + i*step, ok1 && ok2 && ok3
		},
		"enumerate": func(m *machine, args []value) (value, bool) {
			var all []value
			for i, v := range m.unpack(args[0]) {
				all = append(all, tuple{int64(i), v})
			}
			return m.newList(all), true
		},
		"zip": func(m *machine, args []value) (value, bool) {
			var all []value
			for i, v := range m.unpack(args[0]) {
				row := tuple{v}
				for _, other := range args[1:] {
					parts := m.unpack(other)
					if i >= len(parts) {
						return m.newList(all), true
					}
					row = append(row, parts[i])
				}
				all = append(all, row)
			}
			return m.newList(all), true
		},
	}
}

func contains(_ *machine, args []value) (value, bool) {
	if len(args) != 2 {
		return nil, false
	}
	switch x := args[0].(type) {
	case *dict:
		_, ok := x.get(args[1])
		return ok, true
	case string:
		s, ok := args[1].(string)
		return strings.Contains(x, s), ok
	}
	parts, ok := items(args[0])
	return slices.ContainsFunc(parts, func(v value) bool { return same(v, args[1]) }), ok
}

// ranged is range(end), range(start, end) or range(start, end, step).
func ranged(m *machine, args []value) (value, bool) {
	n := []int{0, 0, 1}
	switch len(args) {
	case 1:
		n[1] = m.whole(args[0], "range")
	case 2, 3:
		for i, a := range args {
			n[i] = m.whole(a, "range")
		}
	default:
		return nil, false
	}
	if n[2] == 0 || (n[1]-n[0])/n[2] > maxItems {
		fail("a range from %d to %d by %d, which is not supported", n[0], n[1], n[2])
	}
	var all []value
	for i := n[0]; n[2] > 0 && i < n[1] || n[2] < 0 && i > n[1]; i += n[2] {
		all = append(all, int64(i))
	}
	return m.newList(all), true
}
