package torch

// cutAll cuts an axis into parts of n elements, the last of which may be shorter.
func (c *call) cutAll(t *tensor, axis, n int) any {
	var sizes []int
	left := c.shape(t)[axis]
	for ; n > 0 && left > n; left -= n {
		sizes = append(sizes, n)
	}
	return c.parts(t, axis, append(sizes, left))
}

func splitSizes(c *call) any {
	t := c.t("self")
	name := "split_sizes"
	if !c.given(name) {
		name = "split_size"
	}
	return c.parts(t, c.axis("dim", 0, c.rank(t)), c.ints(name))
}

// parts cuts an axis into views.
func (c *call) parts(t *tensor, axis int, sizes []int) any {
	var out []value
	at := 0
	for _, n := range sizes {
		if n < 0 || at+n > c.shape(t)[axis] {
			fail("an axis of %d elements is cut into %v", c.shape(t)[axis], sizes)
		}
		out = append(out, c.sliced(t, axis, at, at+n, 1))
		at += n
	}
	return c.newList(out)
}

// unbind gives the elements of an axis as views.
func (m *machine) unbind(t *tensor, axis int) []value {
	var out []value
	for i := range m.shape(t)[axis] {
		out = append(out, m.selected(t, axis, i))
	}
	return out
}
