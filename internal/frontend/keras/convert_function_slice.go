package keras

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// getItem takes elements, ranges, and new axes, as Python's brackets do: numbers, {start, stop, step}, null, and an ellipsis.
func getItem(c *call) *graph.Value {
	x := c.x("x")
	c.Ignore("key")
	key, ok := literal(c.Values["key"]).([]any)
	if !ok {
		key = []any{c.Values["key"]}
	}
	part := func(v any) (m map[string]any, ranged bool) {
		m, _ = v.(map[string]any)
		if config, ok := m["config"].(map[string]any); ok && m["class_name"] == "__slice__" {
			m = config
		}
		_, start := m["start"]
		_, stop := m["stop"]
		return m, start || stop
	}
	ellipsis := func(v any) bool {
		m, ok := v.(map[string]any)
		return v == "..." || v == "Ellipsis" || ok && m["class_name"] == "__ellipsis__"
	}
	taken := 0
	for _, v := range key {
		if v != nil && !ellipsis(v) {
			taken++
		}
	}
	if taken > x.Type.Rank() {
		compose.Fail("%d subscripts of %s", taken, x.Type)
	}
	axis := 0
	for _, v := range key {
		m, ranged := part(v)
		f, number := v.(float64)
		switch {
		case ellipsis(v):
			axis += x.Type.Rank() - axis - taken
			continue
		case v == nil:
			x = c.ExpandDims(x, axis)
			axis++
			continue
		case number:
			if f != float64(int(f)) {
				compose.Fail("element %v", f)
			}
			x = c.At(x, axis, compose.Element(int(f), x.Type.Shape[axis]))
		case ranged:
			x = c.ranged(x, axis, m)
			axis++
		default:
			compose.Fail("a subscript %.60v is not supported", v)
		}
		taken--
	}
	return x
}

// ranged takes a range of an axis by Python's rules.
func (c *call) ranged(x *graph.Value, axis int, m map[string]any) *graph.Value {
	r := compose.Range{Step: 1}
	for _, b := range []struct {
		name   string
		to     *int
		absent *bool
	}{{"start", &r.Begin, &r.NoBegin}, {"stop", &r.End, &r.NoEnd}, {"step", &r.Step, new(bool)}} {
		switch v := m[b.name].(type) {
		case nil:
			*b.absent = true
		case float64:
			*b.to = int(v)
		default:
			compose.Fail("a bound %.40v is not supported", v)
		}
	}
	return c.Ranges(x, []int{axis}, []compose.Range{r})
}

// splitFunction cuts an axis into equal parts, at places (keras.ops), or into parts of given sizes (tf).
func splitFunction(c *call) values {
	c.rename([]string{"value=x", "num_or_size_splits=indices_or_sections"})
	x := c.x("x")
	axis := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	n, list := x.Type.Shape[axis], c.Ints("indices_or_sections")
	c.Ignore("name", "num")
	var sizes []int
	switch _, many := c.Values["indices_or_sections"].([]any); {
	case !many:
		if len(list) != 1 {
			compose.Fail("%v parts", list)
		}
		return c.SplitEven(x, axis, list[0])
	case c.Node.Op == kerasFunction+"Split":
		from := 0
		for _, at := range append(list, n) {
			at = max(from, min(at, n))
			sizes, from = append(sizes, at-from), at
		}
	default:
		sizes = list
	}
	return c.SplitSizes(x, axis, sizes)
}

func unstackFunction(c *call) values {
	c.rename([]string{"value=x"})
	c.Ignore("num", "name")
	x := c.x("x")
	axis := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	return c.Unstack(x, axis)
}
