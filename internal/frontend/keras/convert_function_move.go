package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// moveFunctions rearrange elements.
var moveFunctions = []function{
	{"Reshape x newshape=shape", "reshape tensor=x shape; compat.v1.reshape tensor=x shape", func(c *call) *graph.Value {
		x := c.x("x")
		return c.Reshape(x, compose.ShapeFor(x.Type.Elements(), c.Ints("shape"), nil)...)
	}},
	{"Transpose x axes", "transpose a=x perm=axes; compat.v1.transpose a=x perm=axes", func(c *call) *graph.Value {
		x, axes := c.x("x"), c.Ints("axes")
		if len(axes) == 0 {
			axes = through(0, x.Type.Rank())
			slices.Reverse(axes)
		}
		return c.Transpose(x, axes...)
	}},
	{"Moveaxis x source destination", "", func(c *call) *graph.Value {
		x, from, to := c.x("x"), c.Ints("source"), c.Ints("destination")
		rank := x.Type.Rank()
		if len(from) != len(to) || len(frontend.Axes(from, rank)) != len(frontend.Axes(to, rank)) {
			compose.Fail("axes %v to %v", from, to)
		}
		order := slices.Repeat([]int{-1}, rank)
		var rest []int
		for k := range rank {
			if !slices.ContainsFunc(from, func(a int) bool { return frontend.Axis(a, rank) == k }) {
				rest = append(rest, k)
			}
		}
		for i := range from {
			order[frontend.Axis(to[i], rank)] = frontend.Axis(from[i], rank)
		}
		for k := range order {
			if order[k] < 0 {
				order[k], rest = rest[0], rest[1:]
			}
		}
		return c.Transpose(x, order...)
	}},
	{"Swapaxes x axis1 axis2", "", func(c *call) *graph.Value {
		x := c.x("x")
		order := through(0, x.Type.Rank())
		a, b := frontend.Axis(c.Int("axis1", 0), len(order)), frontend.Axis(c.Int("axis2", 0), len(order))
		order[a], order[b] = b, a
		return c.Transpose(x, order...)
	}},
	{"ExpandDims x axis", "expand_dims input=x axis; expand_dims_v2 input=x axis", func(c *call) *graph.Value {
		x := c.x("x")
		axes := c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1)
		return c.ExpandDims(x, frontend.Axes(axes, x.Type.Rank()+len(axes))...)
	}},
	{"Squeeze x axis", "squeeze input=x axis; compat.v1.squeeze input=x axis; squeeze_v2 input=x axis", func(c *call) *graph.Value {
		x, axes := c.x("x"), c.axes("axis")
		var shape []int
		for k, d := range x.Type.Shape {
			if d != 1 || len(axes) > 0 && !slices.Contains(axes, k) {
				shape = append(shape, d)
			}
		}
		return c.Reshape(x, shape...)
	}},
	{"Concatenate xs*=xs axis", "concat values*=xs axis", func(c *call) *graph.Value {
		in := c.list("xs")
		return c.Concat(frontend.Axis(c.Int("axis", -1), in[0].Type.Rank()), in...)
	}},
	{"Stack x*=xs axis", "stack values*=xs axis", func(c *call) *graph.Value {
		in := c.list("xs")
		return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
	}},
	{"Tile x repeats", "tile input=x multiples=repeats", func(c *call) *graph.Value {
		x, n := c.x("x"), c.Ints("repeats")
		for len(n) < x.Type.Rank() {
			n = append([]int{1}, n...)
		}
		for len(n) > x.Type.Rank() {
			x = c.ExpandDims(x, 0)
		}
		return c.Apply(ops.Tile, ops.TileAttrs{Reps: n}, x)
	}},
	{"Repeat x repeats axis", "repeat input=x repeats axis", func(c *call) *graph.Value {
		x := c.x("x")
		if !c.Has("axis") {
			x = c.Reshape(x, x.Type.Elements())
		}
		return c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: frontend.Axis(c.Int("axis", 0), x.Type.Rank()), Repeats: c.Int("repeats", 1)}, x)
	}},
	{"Flip x axis", "reverse tensor=x axis", func(c *call) *graph.Value {
		axes := c.axes("axis")
		if len(axes) == 0 {
			axes = through(0, c.x("x").Type.Rank())
		}
		return c.Reverse(c.x("x"), axes...)
	}},
	{"Roll x shift axis", "roll input=x shift axis", func(c *call) *graph.Value {
		x, shift, axes := c.x("x"), c.Ints("shift"), c.Ints("axis")
		return c.Roll(x, shift, frontend.EachAxis(axes, x.Type.Rank()))
	}},
	{"Pad x pad_width mode constant_values", "pad tensor=x paddings=pad_width mode constant_values; compat.v1.pad tensor=x paddings=pad_width mode; pad_v2 tensor=x paddings=pad_width mode constant_values", padFunction},
	{"BroadcastTo x shape", "broadcast_to input=x shape", func(c *call) *graph.Value {
		x, shape := c.x("x"), c.Ints("shape")
		for i, d := range shape {
			if k := i - (len(shape) - x.Type.Rank()); d == -1 && k >= 0 {
				shape[i] = x.Type.Shape[k]
			}
		}
		return c.BroadcastTo(x, shape...)
	}},
	{"Take x indices axis", "gather params=x indices validate_indices axis batch_dims; gather_v2 params=x indices validate_indices axis batch_dims; compat.v1.gather params=x indices validate_indices axis", func(c *call) *graph.Value {
		x, i := c.x("x"), c.indices("indices")
		c.Ignore("validate_indices")
		if c.Int("batch_dims", 0) != 0 {
			compose.Fail("batch_dims is not supported")
		}
		if !c.Has("axis") && c.Node.Op == kerasFunction+"Take" {
			x = c.Reshape(x, x.Type.Elements())
		}
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: frontend.Axis(c.Int("axis", 0), x.Type.Rank())}, x, i)
	}},
	{"TakeAlongAxis x indices axis", "", func(c *call) *graph.Value {
		x := c.x("x")
		return c.Apply(ops.Gather, ops.GatherAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank())}, x, c.indices("indices"))
	}},
	{"ZerosLike x", "zeros_like input=x; zeros_like_v2 input=x", func(c *call) *graph.Value { return c.Full(c.x("x").Type.DType, 0, c.x("x").Type.Shape...) }},
	{"OnesLike x", "ones_like input=x; ones_like_v2 input=x", func(c *call) *graph.Value { return c.Full(c.x("x").Type.DType, 1, c.x("x").Type.Shape...) }},
	{"GetItem x key", "__operators__.getitem tensor=x slice_spec=key", getItem},
}

// indices are an argument's numbers, which may be literals.
func (c *call) indices(name string) *graph.Value {
	if a, ok := c.named[name]; ok {
		x := c.X(a.first)
		if !x.Type.DType.IsInt() {
			x = c.Cast(x, types.I32)
		}
		return x
	}
	c.Ignore(name)
	return c.array(c.Values[name], types.I64)
}

func padFunction(c *call) *graph.Value {
	x := c.x("x")
	modes := map[string]string{"constant": "constant", "CONSTANT": "constant", "reflect": "reflect", "REFLECT": "reflect", "edge": "edge"}
	a := ops.PadAttrs{Mode: modes[c.OneOf("mode", "constant", "constant", "CONSTANT", "reflect", "REFLECT", "edge")], Value: c.Float("constant_values", 0)}
	if n := listOf(c.Values["pad_width"]); len(n) == 1 && x.Type.Rank() > 1 { // one pair counts for all axes
		c.Values["pad_width"] = slices.Repeat(n, x.Type.Rank())
	}
	a.PadBefore, a.PadAfter = c.pairs("pad_width", x.Type.Rank())
	return c.Apply(ops.Pad, a, x)
}
