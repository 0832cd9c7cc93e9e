package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// Views of the elements of a tensor, and copies of them.
var viewRows = []row{
	sig("view reshape _unsafe_view _reshape_alias", "self size:I stride:I", func(c *call) any {
		t := c.t("self")
		shape := c.filledIn(c.ints2("size"), types.Count(c.shape(t)))
		if c.name == "view" {
			return c.viewed(t, shape)
		}
		return c.reshaped(t, shape)
	}),
	sig("reshape", "self shape:I", func(c *call) any {
		t := c.t("self")
		return c.reshaped(t, c.filledIn(c.ints2("shape"), types.Count(c.shape(t))))
	}),
	sig("view", "self dtype:i", func(c *call) any {
		if c.dtype("dtype", 0) != c.x("self").Type.DType {
			fail("a view with another element type is not supported")
		}
		return c.alias(c.t("self"))
	}),
	sig("flatten", "self start_dim:i end_dim:i", func(c *call) any {
		t := c.t("self")
		s := c.shape(t)
		if len(s) == 0 {
			return c.reshaped(t, []int{1})
		}
		a, b := c.axis("start_dim", 0, len(s)), c.axis("end_dim", -1, len(s))
		if a > b {
			fail("flatten from axis %d to axis %d", a, b)
		}
		return c.reshaped(t, slices.Concat(s[:a], []int{types.Count(s[a : b+1])}, s[b+1:]))
	}),
	sig("unflatten", "self dim:i sizes:I", func(c *call) any {
		t := c.t("self")
		s := c.shape(t)
		a := c.axis("dim", 0, len(s))
		return c.reshaped(t, slices.Concat(s[:a], c.filledIn(c.ints2("sizes"), s[a]), s[a+1:]))
	}),
	sig("squeeze", "self", func(c *call) any { return c.squeezed(nil) }), sig("squeeze", "self dim:I", func(c *call) any { return c.squeezed(c.ints2("dim")) }),
	sig("unsqueeze", "self dim:i", func(c *call) any {
		t := c.t("self")
		s := c.shape(t)
		a := frontend.Axis(c.int("dim", 0), len(s)+1)
		out := slices.Insert(slices.Clone(s), a, 1)
		if !t.strided {
			return c.reshaped(t, out)
		}
		return c.unsqueezed(t, out)
	}),
	sig("permute", "self dims:I", func(c *call) any {
		t := c.t("self")
		var order []int
		for _, a := range c.ints2("dims") {
			order = append(order, frontend.Axis(a, c.rank(t)))
		}
		if len(frontend.Axes(order, c.rank(t))) != c.rank(t) {
			fail("permute of %d axes by %v", c.rank(t), order)
		}
		return c.permuted(t, order)
	}),
	sig("transpose swapaxes swapdims transpose_copy", "self dim0:i dim1:i", func(c *call) any {
		t := c.t("self")
		n := c.rank(t)
		return c.swapped(t, c.axis("dim0", 0, n), c.axis("dim1", 0, n))
	}),
	sig("t numpy_T T prim.T", "self", func(c *call) any {
		t := c.t("self")
		order := make([]int, c.rank(t))
		for k := range order {
			order[k] = len(order) - 1 - k
		}
		return c.permuted(t, order)
	}),
	sig("mT adjoint prim.mT", "self", func(c *call) any { t := c.t("self"); return c.swapped(t, c.rank(t)-2, c.rank(t)-1) }),
	sig("movedim moveaxis", "self source:I destination:I", moveAxes),
	sig("expand broadcast_to", "self size:I implicit:b", func(c *call) any { return c.broadcast(c.t("self"), c.ints2("size")) }),
	sig("slice", "self:T dim:i start end step", func(c *call) any {
		t := c.t("self")
		a := c.axis("dim", 0, c.rank(t))
		begin, end, step := c.cut(c.args["start"], c.args["end"], c.args["step"], c.shape(t)[a])
		return c.sliced(t, a, begin, end, step)
	}),
	sig("select", "self dim:i index", func(c *call) any {
		t := c.t("self")
		a := c.axis("dim", 0, c.rank(t))
		if i, ok := c.args["index"].(*tensor); ok && c.get(i).Value() == nil {
			return c.selectedAt(t, a, c.Cast(c.get(i), types.I64))
		}
		return c.selected(t, a, c.index(c.args["index"], c.shape(t)[a]))
	}),
	sig("narrow", "self dim:i start length:i", func(c *call) any {
		t := c.t("self")
		a := c.axis("dim", 0, c.rank(t))
		n, start := c.shape(t)[a], c.int("start", 0)
		if start < 0 {
			start += n
		}
		if end := start + c.int("length", 0); start < 0 || end < start || end > n {
			fail("elements %d to %d of an axis of %d", start, end, n)
		}
		return c.sliced(t, a, start, start+c.int("length", 0), 1)
	}),
	sig("split unsafe_split", "self split_size:i dim:i", func(c *call) any {
		t := c.t("self")
		return c.cutAll(t, c.axis("dim", 0, c.rank(t)), c.int("split_size", 1))
	}),
	sig("split split_with_sizes unsafe_split_with_sizes", "self split_sizes:I dim:i", splitSizes), sig("split", "self split_size:I dim:i", splitSizes),
	sig("unbind", "self dim:i", func(c *call) any { t := c.t("self"); return c.newList(c.unbind(t, c.axis("dim", 0, c.rank(t)))) }),
	sig("detach alias lift lift_fresh cpu cuda requires_grad_ view_as_real resolve_conj resolve_neg detach_ retain_grad set_data", "self", func(c *call) any {
		t := c.alias(c.t("self"))
		if c.name == "view_as_real" {
			t.complex = false
		}
		return t
	}),
	sig("real", "self", func(c *call) any { return c.part(0) }), sig("imag", "self", func(c *call) any { return c.part(1) }),
	sig("view_as_complex", "self", func(c *call) any { t := c.alias(c.t("self")); t.complex = true; return t }),
	sig("contiguous", "self memory_format", func(c *call) any {
		t := c.t("self")
		if !t.strided {
			return t
		}
		return c.copyOf(t)
	}),
	sig("clone lift_fresh_copy detach_copy _copy", "self memory_format", func(c *call) any { return c.copyOf(c.t("self")) }),
	sig("unfold", "self dimension:i size:i step:i", windowsOf),
	sig("diagonal", "self offset:i dim1:i dim2:i", diagonal), sig("diag", "self diagonal:i", diag), sig("diag_embed", "self offset:i", diag),
}

// ints2 is ints for an argument that has to be there: an empty list is one.
func (c *call) ints2(name string) []int {
	if !c.given(name) {
		fail("argument %s is missing", name)
	}
	return c.ints(name)
}

// filledIn is a shape for n elements, in which one extent may be -1.
func (c *call) filledIn(shape []int, n int) []int {
	shape = slices.Clone(shape)
	if shape = compose.ShapeFor(n, shape, nil); types.Count(shape) != n {
		fail("shape %v for %d elements", shape, n)
	}
	return shape
}

// squeezed drops axes of extent 1, of those given or all.
func (c *call) squeezed(axes []int) any {
	t := c.t("self")
	s := c.shape(t)
	for i, a := range axes {
		axes[i] = frontend.Axis(a, max(len(s), 1))
	}
	out := []int{}
	for k, n := range s {
		if n != 1 || axes != nil && !slices.Contains(axes, k) {
			out = append(out, n)
		}
	}
	return c.unsqueezed(t, out)
}

// unsqueezed is a view that has more or fewer axes of extent 1: the order of elements does not matter to it.
func (c *call) unsqueezed(t *tensor, shape []int) *tensor {
	if t.complex {
		shape = append(shape, 2)
	}
	return c.view(t, t.strided, func(base *graph.Value) *graph.Value { return c.Reshape(base, shape...) },
		func(base, v *graph.Value) *graph.Value { return c.Reshape(v, base.Type.Shape...) })
}

func (m *machine) swapped(t *tensor, a, b int) any {
	n := m.rank(t)
	if n == 0 {
		return m.alias(t)
	}
	if a < 0 || b < 0 {
		fail("axes of a tensor of rank %d are swapped", n)
	}
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	order[a], order[b] = b, a
	return m.permuted(t, order)
}

func moveAxes(c *call) any {
	t := c.t("self")
	from, to := c.ints2("source"), c.ints2("destination")
	n := c.rank(t)
	order := slices.Repeat([]int{-1}, n)
	moved := make([]bool, n)
	for i := range from {
		if i < len(to) {
			a := frontend.Axis(from[i], n)
			order[frontend.Axis(to[i], n)], moved[a] = a, true
		}
	}
	next := 0
	for k := range order {
		if order[k] < 0 {
			for moved[next] {
				next++
			}
			order[k] = next
			next++
		}
	}
	return c.permuted(t, order)
}

// broadcast expands a tensor; an extent of -1 stays.
func (c *call) broadcast(t *tensor, shape []int) *tensor {
	s := c.shape(t)
	shape = slices.Clone(shape)
	lead := len(shape) - len(s)
	if lead < 0 {
		fail("a tensor of rank %d is expanded to %v", len(s), shape)
	}
	for k := range shape {
		if shape[k] == -1 && k >= lead {
			shape[k] = s[k-lead]
		}
	}
	if t.complex {
		shape = append(shape, 2)
	}
	return c.expanded(t, shape)
}

func (m *machine) copyOf(t *tensor) *tensor {
	out := m.fresh(m.get(t))
	out.quant, out.complex = t.quant, t.complex
	return out
}

// part is the real or imaginary part.
func (c *call) part(i int) any {
	t := c.t("self")
	if !t.complex {
		return t
	}
	t = c.alias(t)
	t.complex = false
	return c.selected(t, c.rank(t)-1, i)
}
