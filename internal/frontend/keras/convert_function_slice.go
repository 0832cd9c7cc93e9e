package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
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
			n := x.Type.Shape[axis]
			i := int(f)
			if i < 0 {
				i += n
			}
			if i < 0 || i >= n || f != float64(int(f)) {
				compose.Fail("element %v of %d", f, n)
			}
			x = c.At(x, axis, i)
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
	n := x.Type.Shape[axis]
	number := func(name string, absent int) int {
		switch v := m[name].(type) {
		case nil:
			return absent
		case float64:
			return int(v)
		}
		compose.Fail("a bound %.40v is not supported", m[name])
		return 0
	}
	step := number("step", 1)
	if step == 0 {
		compose.Fail("a step of 0")
	}
	if step < 0 {
		if m["start"] != nil || m["stop"] != nil {
			compose.Fail("a range that goes backwards between bounds is not supported")
		}
		x = c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: []int{axis}}, x)
		step = -step
	}
	clamp := func(i int) int {
		if i < 0 {
			i += n
		}
		return max(0, min(i, n))
	}
	x = c.Slice(x, axis, clamp(number("start", 0)), max(clamp(number("stop", n)), clamp(number("start", 0))))
	if step > 1 && x.Type.Shape[axis] > 0 {
		x = c.Every(x, axis, step)
	}
	return x
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
		if len(list) != 1 || list[0] < 1 || n%list[0] != 0 {
			compose.Fail("%v parts of %d", list, n)
		}
		sizes = slices.Repeat([]int{n / list[0]}, list[0])
	case c.Node.Op == kerasFunction+"Split":
		from := 0
		for _, at := range append(list, n) {
			at = max(from, min(at, n))
			sizes, from = append(sizes, at-from), at
		}
	default:
		sizes = list
		open := slices.Index(sizes, -1)
		if open >= 0 {
			sizes[open] = 0
			sizes[open] = n
			for k, s := range sizes {
				if k != open {
					sizes[open] -= s
				}
			}
		}
	}
	return c.Split(x, axis, sizes...)
}

func unstackFunction(c *call) values {
	c.rename([]string{"value=x"})
	c.Ignore("num", "name")
	x := c.x("x")
	axis := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	out := make(values, x.Type.Shape[axis])
	for i := range out {
		out[i] = c.At(x, axis, i)
	}
	return out
}
