package torch

import "slices"

// maxItems bounds lists that code makes by repeating others.
const maxItems = 1 << 20

// changing is a list that code changes.
func (m *machine) changing(v value) *list {
	l, ok := v.(*list)
	if ok && l.born < m.region {
		fail("a list from outside is changed where the data decide whether code runs, which is not supported")
	}
	if ok && len(l.items) > maxItems {
		fail("a list of more than %d items", maxItems)
	}
	return l
}

func (m *machine) newList(all []value) *list {
	m.births++
	if len(all) > maxItems {
		fail("a list of more than %d items", maxItems)
	}
	return &list{items: slices.Clone(all), born: m.births}
}

// place is an index into n items.
func (m *machine) index(v value, n int) int {
	i := m.whole(v, "index")
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		fail("index %d of %d items", i, n)
	}
	return i
}

// cut is the range of a slice of n items.
func (m *machine) cut(from, to, step value, n int) (begin, end, by int) {
	begin, end, by = 0, n, 1
	clamp := func(v value) int {
		i := m.whole(v, "slice")
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	if from != nil {
		begin = clamp(from)
	}
	if to != nil {
		end = clamp(to)
	}
	if step != nil {
		by = m.whole(step, "step")
	}
	if by < 1 {
		fail("a slice with step %d, which is not supported", by)
	}
	return begin, max(end, begin), by
}

// item is x[at].
func (m *machine) item(x, at value) value {
	if s, ok := at.(*span); ok {
		if _, ok := x.(*tensor); ok {
			return m.operator("slice", []value{x, int64(0), s.from, s.to, s.step}, nil)
		}
		return m.operator("slice", []value{x, s.from, s.to, s.step}, nil)
	}
	switch c := x.(type) {
	case *dict:
		v, ok := c.get(at)
		if !ok {
			fail("a dictionary has no key %s", quoted(text(at, 2)))
		}
		return v
	case string:
		i := m.index(at, len(c))
		return c[i : i+1]
	case *tensor:
		if n, ok := at.(int64); ok {
			return m.operator("select", []value{c, int64(0), n}, nil)
		}
		return m.operator("index", []value{c, &list{items: []value{at}}}, nil)
	case *object:
		if fn := c.class.methods["__getitem__"]; fn != nil {
			return m.call(fn, c, []value{at}, nil)
		}
	}
	parts, ok := items(x)
	if !ok {
		fail("an item of %s", kind(x))
	}
	return parts[m.index(at, len(parts))]
}

// setItem is x[at] = v.
func (m *machine) setItem(x, at, v value) {
	switch c := x.(type) {
	case *dict:
		if c.born < m.region {
			fail("a dictionary from outside is changed where the data decide whether code runs, which is not supported")
		}
		c.set(at, v)
	case *list:
		m.changing(c).items[m.index(at, len(c.items))] = v
	case *tensor:
		m.operator("copy_", []value{m.item(c, at), v}, nil)
	default:
		fail("an item of %s is set", kind(x))
	}
}
