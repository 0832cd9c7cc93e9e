package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// What moves elements to new places.
var moveRows = []row{
	sig("cat concat concatenate", "tensors:L dim:i", func(c *call) any { return c.joined(false) }),
	sig("stack", "tensors:L dim:i", func(c *call) any { return c.joined(true) }),
	sig("hstack", "tensors:L", func(c *call) any { return c.stackedAlong(1) }), sig("vstack row_stack", "tensors:L", func(c *call) any { return c.stackedAlong(0) }),
	sig("repeat", "self repeats:I", func(c *call) any {
		x, reps := c.x("self"), c.ints2("repeats")
		for x.Type.Rank() < len(reps) {
			x = c.ExpandDims(x, 0)
		}
		return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, x)
	}),
	sig("tile", "self dims:I", func(c *call) any {
		x, reps := c.x("self"), c.ints2("dims")
		for x.Type.Rank() < len(reps) {
			x = c.ExpandDims(x, 0)
		}
		for len(reps) < x.Type.Rank() {
			reps = slices.Insert(reps, 0, 1)
		}
		return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, x)
	}),
	sig("repeat_interleave", "self:T repeats dim:i output_size", func(c *call) any {
		x := c.x("self")
		a := 0
		if !c.given("dim") {
			x = c.Reshape(x, x.Type.Elements())
		} else {
			a = c.axis("dim", 0, x.Type.Rank())
		}
		reps := c.ints("repeats")
		if len(reps) == 1 {
			return c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: a, Repeats: reps[0]}, x)
		}
		var at []int
		for i, n := range reps {
			at = append(at, slices.Repeat([]int{i}, n)...)
		}
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: a}, x, compose.Ints(at...))
	}),
	sig("flip", "self dims:I", func(c *call) any {
		return c.Reverse(c.x("self"), c.axes("dims", c.rank(c.t("self")))...)
	}),
	sig("fliplr", "self", func(c *call) any { return c.Reverse(c.x("self"), 1) }),
	sig("flipud", "self", func(c *call) any { return c.Reverse(c.x("self"), 0) }),
	sig("roll", "self shifts:I dims:I", roll),
	sig("rot90", "self k:i dims:I", rot90),
	sig("constant_pad_nd", "self pad:I value:n", func(c *call) any { return c.padded(c.x("self"), c.ints2("pad"), "constant", c.num("value", 0)) }),
	sig("pad", "self pad:I mode:s value:n", func(c *call) any {
		mode := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[c.str("mode", "constant")]
		return c.padded(c.x("self"), c.ints2("pad"), mode, c.num("value", 0))
	}),
	sig("reflection_pad1d reflection_pad2d reflection_pad3d", "self padding:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("padding"), "reflect", 0) }),
	sig("replication_pad1d replication_pad2d replication_pad3d", "self padding:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("padding"), "edge", 0) }),
	sig("_pad_circular", "self pad:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("pad"), "wrap", 0) }),
	sig("tril", "self diagonal:i", func(c *call) any { return c.Apply(ops.Trilu, ops.TriluAttrs{K: c.int("diagonal", 0)}, c.x("self")) }),
	sig("triu", "self diagonal:i", func(c *call) any {
		return c.Apply(ops.Trilu, ops.TriluAttrs{Upper: true, K: c.int("diagonal", 0)}, c.x("self"))
	}),
	sig("pixel_shuffle", "self upscale_factor:i", func(c *call) any {
		return c.images(func(x *graph.Value) *graph.Value {
			return c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.int("upscale_factor", 1), Mode: "CRD"}, x)
		})
	}),
	sig("pixel_unshuffle", "self downscale_factor:i", func(c *call) any {
		return c.images(func(x *graph.Value) *graph.Value {
			return c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.int("downscale_factor", 1), Mode: "CRD"}, x)
		})
	}),
	sig("channel_shuffle", "self groups:i", func(c *call) any {
		x, g := c.x("self"), c.int("groups", 1)
		s := x.Type.Shape
		if len(s) < 3 || g < 1 || s[1]%g != 0 {
			fail("channels of %s in %d groups", x.Type, g)
		}
		y := c.Reshape(x, slices.Concat([]int{s[0], g, s[1] / g}, s[2:])...)
		order := []int{0, 2, 1}
		for k := 3; k < y.Type.Rank(); k++ {
			order = append(order, k)
		}
		return c.Reshape(c.Transpose(y, order...), s...)
	}),
	sig("im2col", "self kernel_size:I dilation:I padding:I stride:I", im2col),
	sig("col2im", "self output_size:I kernel_size:I dilation:I padding:I stride:I", func(c *call) any {
		pad := c.perAxis("padding", 2, 0)
		return c.Apply(ops.Col2Im, ops.Col2ImAttrs{ImageShape: c.perAxis("output_size", 2, 0), BlockShape: c.perAxis("kernel_size", 2, 1), Strides: c.perAxis("stride", 2, 1),
			Padding: slices.Concat(pad, pad), Dilation: c.perAxis("dilation", 2, 1)}, c.x("self"))
	}),
	sig("broadcast_tensors", "tensors:L", func(c *call) any {
		var shape []int
		for _, t := range c.tensors("tensors") {
			shape = compose.BroadcastShape(shape, c.shape(t))
		}
		var out []value
		for _, t := range c.tensors("tensors") {
			out = append(out, c.broadcast(t, shape))
		}
		return c.newList(out)
	}),
	sig("copy", "self src non_blocking:b", func(c *call) any { return c.operandOf("src") }),
}

// operandOf is an argument, whatever the element type of self is: what takes it in place converts it.
func (c *call) operandOf(name string) any {
	t := c.copyOf(c.t(name))
	return t
}

// joined joins tensors along an axis, or a new one.
func (c *call) joined(stack bool) any {
	list := c.tensors("tensors")
	if len(list) == 0 {
		fail("no tensors to join")
	}
	var d types.DType
	var parts []*graph.Value
	for _, t := range list {
		d = promoteTypes(d, c.get(t).Type.DType)
	}
	rank := 0
	for _, t := range list {
		rank = max(rank, c.rank(t))
	}
	for _, t := range list {
		if c.rank(t) == 1 && c.shape(t)[0] == 0 && rank > 1 && !stack { // an old way to write nothing
			continue
		}
		parts = append(parts, c.Cast(c.get(t), d))
	}
	var y *graph.Value
	if stack {
		y = c.Stack(frontend.Axis(c.int("dim", 0), rank+1), parts...)
	} else {
		y = c.Concat(c.axis("dim", 0, rank), parts...)
	}
	out := c.fresh(y)
	out.complex = list[0].complex
	return out
}

// stackedAlong joins tensors along axis 0 or 1, vectors as rows or as they are.
func (c *call) stackedAlong(axis int) any {
	parts := c.values("tensors")
	for i, x := range parts {
		if axis == 0 && x.Type.Rank() < 2 {
			parts[i] = c.Reshape(x, 1, x.Type.Elements())
		}
		if axis == 1 && x.Type.Rank() < 2 {
			parts[i] = c.Reshape(x, x.Type.Elements())
		}
	}
	return c.Concat(min(axis, parts[0].Type.Rank()-1), parts...)
}

// images applies f to tensors of four axes; leading axes are joined to one.
func (c *call) images(f func(x *graph.Value) *graph.Value) any {
	x := c.x("self")
	s := x.Type.Shape
	if len(s) < 3 {
		fail("images %s", x.Type)
	}
	lead := s[:len(s)-3]
	y := f(c.Reshape(x, append([]int{types.Count(lead)}, s[len(s)-3:]...)...))
	return c.Reshape(y, append(slices.Clone(lead), y.Type.Shape[1:]...)...)
}

// padded grows the last axes; pad has two numbers for each, the last axis first.
func (c *call) padded(x *graph.Value, pad []int, mode string, v float64) *graph.Value {
	rank := x.Type.Rank()
	if len(pad)%2 != 0 || len(pad)/2 > rank || mode == "" {
		fail("padding %v of %s in a mode that is not supported", pad, x.Type)
	}
	a := ops.PadAttrs{PadBefore: make([]int, rank), PadAfter: make([]int, rank), Mode: mode, Value: v}
	none := true
	for i := range len(pad) / 2 {
		a.PadBefore[rank-1-i], a.PadAfter[rank-1-i] = pad[2*i], pad[2*i+1]
		none = none && pad[2*i] == 0 && pad[2*i+1] == 0
	}
	if none {
		return x
	}
	return c.Apply(ops.Pad, a, x)
}

// roll moves elements along axes, those that fall off coming in at the other end.
func roll(c *call) any {
	x := c.x("self")
	shifts, shape := c.ints2("shifts"), x.Type.Shape
	axes := c.ints("dims")
	if len(axes) == 0 {
		x, axes = c.Reshape(x, x.Type.Elements()), []int{0}
	}
	return c.Reshape(c.Roll(x, shifts, frontend.EachAxis(axes, x.Type.Rank())), shape...)
}

// rot90 turns the plane of two axes by quarters.
func rot90(c *call) any {
	x, k, dims := c.x("self"), ((c.int("k", 1)%4)+4)%4, []int{0, 1}
	if c.given("dims") {
		dims = c.ints("dims")
	}
	a, b := frontend.Axis(dims[0], x.Type.Rank()), frontend.Axis(dims[1], x.Type.Rank())
	order := make([]int, x.Type.Rank())
	for i := range order {
		order[i] = i
	}
	order[a], order[b] = b, a
	switch k {
	case 1:
		return c.Transpose(c.Reverse(x, b), order...)
	case 2:
		return c.Reverse(x, frontend.Axes([]int{a, b}, x.Type.Rank())...)
	case 3:
		return c.Transpose(c.Reverse(x, a), order...)
	}
	return x
}
