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
	sig("roll", "self shifts:I dims:I", roll),
	sig("constant_pad_nd", "self pad:I value:n", func(c *call) any { return c.padded(c.x("self"), c.ints2("pad"), "constant", c.num("value", 0)) }),
	sig("pad", "self pad:I mode:s value:n", func(c *call) any {
		mode := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[c.str("mode", "constant")]
		return c.padded(c.x("self"), c.ints2("pad"), mode, c.num("value", 0))
	}),
	sig("reflection_pad1d reflection_pad2d reflection_pad3d", "self padding:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("padding"), "reflect", 0) }),
	sig("replication_pad1d replication_pad2d replication_pad3d", "self padding:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("padding"), "edge", 0) }),
	sig("_pad_circular", "self pad:I", func(c *call) any { return c.padded(c.x("self"), c.ints2("pad"), "wrap", 0) }),
	sig("im2col", "self kernel_size:I dilation:I padding:I stride:I", im2col),
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
