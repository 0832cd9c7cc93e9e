package torch

import "slices"

// dictFunctions are those of dictionaries.
func dictFunctions() map[string]builtinFunc {
	on := func(f func(m *machine, d *dict, args []value) value) builtinFunc {
		return func(m *machine, args []value) (value, bool) {
			if len(args) == 0 {
				return nil, false
			}
			d, ok := args[0].(*dict)
			if !ok {
				return nil, false
			}
			return f(m, d, args[1:]), true
		}
	}
	return map[string]builtinFunc{
		"keys":   on(func(m *machine, d *dict, _ []value) value { return m.newList(d.keys) }),
		"values": on(func(m *machine, d *dict, _ []value) value { return m.newList(d.values) }),
		"items": on(func(m *machine, d *dict, _ []value) value {
			var all []value
			for i := range d.keys {
				all = append(all, tuple{d.keys[i], d.values[i]})
			}
			return m.newList(all)
		}),
		"get": on(func(_ *machine, d *dict, args []value) value {
			if v, ok := d.get(args[0]); ok || len(args) < 2 {
				return v
			}
			return args[1]
		}),
		"update": on(func(m *machine, d *dict, args []value) value {
			if other, ok := args[0].(*dict); ok {
				for i, k := range other.keys {
					m.setItem(d, k, other.values[i])
				}
			}
			return nil
		}),
		"__delitem__ Delete": func(m *machine, args []value) (value, bool) {
			d, ok := args[0].(*dict)
			if ok {
				m.deleteKey(d, args[1])
			}
			return nil, ok
		},
		"dict": func(m *machine, args []value) (value, bool) {
			m.births++
			d := &dict{born: m.births}
			if len(args) > 0 {
				for _, pair := range m.unpack(args[0]) {
					kv := m.unpack(pair)
					if len(kv) != 2 {
						return nil, false
					}
					d.set(kv[0], kv[1])
				}
			}
			return d, true
		},
	}
}

func (m *machine) deleteKey(d *dict, k value) {
	if d.born < m.region {
		fail("a dictionary from outside is changed where the data decide whether code runs, which is not supported")
	}
	for i, have := range d.keys {
		if same(have, k) {
			d.keys, d.values = slices.Delete(d.keys, i, i+1), slices.Delete(d.values, i, i+1)
			return
		}
	}
}
