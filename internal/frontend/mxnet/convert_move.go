package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var moveRows = []row{
	{"Flatten", flatten}, {"flatten", flatten}, {"Reshape", reshape}, {"reshape", reshape}, {"Concat", concat}, {"concat", concat}, {"transpose", transpose}, {"SwapAxis", swapAxis},
	{"expand_dims", expandDims}, {"squeeze", squeeze}, {"slice_axis", sliceAxis}, {"Pad", pad}, {"pad", pad},
	{"mean", reduce(ops.Mean)}, {"sum", reduce(ops.Sum)}, {"sum_axis", reduce(ops.Sum)}, {"max", reduce(ops.Max)}, {"min", reduce(ops.Min)}, {"batch_dot", batchDot}, {"dot", dot},
	{"max_axis", reduce(ops.Max)}, {"min_axis", reduce(ops.Min)}, {"prod", reduce(ops.Prod)}, {"_np_sum", reduce(ops.Sum)}, {"_npi_mean", reduce(ops.Mean)}, {"_np_max", reduce(ops.Max)}, {"_np_min", reduce(ops.Min)}, {"_np_prod", reduce(ops.Prod)},
	{"_np_reshape", reshape}, {"_npx_reshape", reshape}, {"_np_transpose", transpose}, {"_npi_concatenate", concat}, {"_np_squeeze", squeeze}, {"_npi_expand_dims", expandDims}, {"norm", norm},
}

func flatten(c *call) *graph.Value {
	c.WantRank(0, 1)
	return c.Reshape(c.X(0), c.Shape(0)[0], types.Count(c.Shape(0)[1:]))
}

// reshape has codes for extents: 0 as before, -1 what is left, -2 all that follow, -3 two as one, -4 one as the next two.
func reshape(c *call) *graph.Value {
	x := c.X(0)
	backwards := c.Bool("reverse", false)
	codes := c.Ints("shape")
	for _, other := range []string{"target_shape", "newshape"} {
		if v := c.Ints(other); len(codes) == 0 {
			codes = v
		}
	}
	c.Ignore("keep_highest", "order")
	in, at, open := slices.Clone(x.Type.Shape), 0, -1
	if backwards { // extents are matched from the last one on
		slices.Reverse(in)
		slices.Reverse(codes)
		if slices.Min(append([]int{0}, codes...)) < -1 {
			compose.Fail("shape %v in reverse is not supported", codes)
		}
	}
	var out []int
	next := func() int {
		if at >= len(in) {
			compose.Fail("shape %v for %s", codes, x.Type)
		}
		at++
		return in[at-1]
	}
	for i := 0; i < len(codes); i++ {
		switch d := codes[i]; d {
		case 0:
			out = append(out, next())
		case -1:
			if open >= 0 {
				compose.Fail("shape %v leaves two extents open", codes)
			}
			open = len(out)
			out, at = append(out, 1), min(at+1, len(in))
		case -2:
			out, at = append(out, in[at:]...), len(in)
		case -3:
			out = append(out, next()*next())
		case -4:
			if i+2 >= len(codes) {
				compose.Fail("shape %v ends in a split", codes)
			}
			whole, a, b := next(), codes[i+1], codes[i+2]
			if a == -1 && b > 0 {
				a = whole / b
			} else if b == -1 && a > 0 {
				b = whole / a
			}
			if a < 1 || b < 1 || a*b != whole {
				compose.Fail("shape %v splits an extent of %d", codes, whole)
			}
			out, i = append(out, a, b), i+2
		default:
			if d < 0 {
				compose.Fail("shape %v", codes)
			}
			out, at = append(out, d), min(at+1, len(in))
		}
	}
	if rest := types.Count(out); open >= 0 && rest > 0 {
		out[open] = types.Count(in) / rest
	}
	if backwards {
		slices.Reverse(out)
	}
	return c.Reshape(x, out...)
}

func concat(c *call) *graph.Value {
	axis := 1
	if c.Node.Op == "_npi_concatenate" {
		axis = 0
	}
	return c.Concat(frontend.Axis(c.Int("dim", c.Int("axis", axis)), c.Rank(0)), c.All()...)
}

func transpose(c *call) *graph.Value {
	axes := c.Ints("axes")
	if len(axes) == 0 {
		for k := range c.Rank(0) {
			axes = append(axes, c.Rank(0)-1-k)
		}
	}
	return c.Transpose(c.X(0), axes...)
}

func swapAxis(c *call) *graph.Value {
	var axes []int
	for k := range c.Rank(0) {
		axes = append(axes, k)
	}
	a, b := frontend.Axis(c.Int("dim1", 0), len(axes)), frontend.Axis(c.Int("dim2", 0), len(axes))
	axes[a], axes[b] = axes[b], axes[a]
	return c.Transpose(c.X(0), axes...)
}

func expandDims(c *call) *graph.Value {
	return c.ExpandDims(c.X(0), frontend.Axis(c.Int("axis", 0), c.Rank(0)+1))
}

func squeeze(c *call) *graph.Value {
	x := c.X(0)
	axes := c.Ints("axis")
	var shape []int
	for k, d := range x.Type.Shape {
		if d != 1 || len(axes) > 0 && !slices.Contains(frontend.Axes(axes, x.Type.Rank()), k) {
			shape = append(shape, d)
		}
	}
	return c.Reshape(x, shape...)
}

func sliceAxis(c *call) *graph.Value {
	x := c.X(0)
	axis := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	n := x.Type.Shape[axis]
	begin, end := c.Int("begin", 0), c.Int("end", n)
	if begin < 0 {
		begin += n
	}
	if end < 0 {
		end += n
	}
	if begin < 0 || begin >= end || end > n {
		compose.Fail("elements %d to %d of %d", begin, end, n)
	}
	return c.Slice(x, axis, begin, end)
}

func pad(c *call) *graph.Value {
	x, width := c.X(0), c.Ints("pad_width")
	modes := map[string]string{"constant": "constant", "edge": "edge", "reflect": "reflect"}
	a := ops.PadAttrs{Mode: modes[c.OneOf("mode", "constant", "constant", "edge", "reflect")], Value: c.Float("constant_value", 0)}
	if len(width) != 2*x.Type.Rank() {
		compose.Fail("pad_width %v for %s", width, x.Type)
	}
	for k := range x.Type.Rank() {
		a.PadBefore, a.PadAfter = append(a.PadBefore, width[2*k]), append(a.PadAfter, width[2*k+1])
	}
	return c.Apply(ops.Pad, a, x)
}

func reduce(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("dtype", "initial")
		return c.Reduce(d, c.X(0), c.Bool("keepdims", false), c.reduced()...)
	}
}

// reduced are the axes of a reduction; with exclude, all others. None means all.
func (c *call) reduced() []int {
	axes := frontend.Axes(c.Ints("axis"), c.Rank(0))
	if !c.Bool("exclude", false) {
		return axes
	}
	var others []int
	for k := range c.Rank(0) {
		if !slices.Contains(axes, k) {
			others = append(others, k)
		}
	}
	if len(others) == 0 {
		compose.Fail("no axis is left")
	}
	return others
}

func norm(c *call) *graph.Value {
	c.Ignore("out_dtype")
	return c.LpNorm(c.X(0), c.Float("ord", 2), c.Bool("keepdims", false), c.reduced()...)
}

func batchDot(c *call) *graph.Value {
	return c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: c.Bool("transpose_a", false), TransposeB: c.Bool("transpose_b", false)}, c.X(0), c.X(1))
}

// dot sums over the last axis of one and the first of the other, which transpose_a and transpose_b change.
func dot(c *call) *graph.Value {
	c.Ignore("forward_stype")
	x, y := c.X(0), c.X(1)
	if x.Type.Rank() < 1 || y.Type.Rank() < 1 {
		compose.Fail("of %s and %s", x.Type, y.Type)
	}
	p, q := x.Type.Shape, y.Type.Shape
	n := q[0]
	if c.Bool("transpose_b", false) {
		n = q[len(q)-1]
	}
	if n < 1 || x.Type.Elements()%n != 0 {
		compose.Fail("of %s and %s", x.Type, y.Type)
	}
	var rest []int
	if c.Bool("transpose_a", false) {
		x, rest = c.Transpose(c.Reshape(x, p[0], types.Count(p[1:])), 1, 0), slices.Clone(p[1:])
	} else {
		x, rest = c.Reshape(x, types.Count(p[:len(p)-1]), p[len(p)-1]), slices.Clone(p[:len(p)-1])
	}
	if c.Bool("transpose_b", false) {
		y, rest = c.Transpose(c.Reshape(y, types.Count(q[:len(q)-1]), q[len(q)-1]), 1, 0), append(rest, q[:len(q)-1]...)
	} else {
		y, rest = c.Reshape(y, q[0], types.Count(q[1:])), append(rest, q[1:]...)
	}
	return c.Reshape(c.Matmul(x, y), rest...)
}

// sliceChannel cuts an axis into equal parts.
func sliceChannel(c *call) values {
	axis := frontend.Axis(c.Int("axis", 1), c.Rank(0))
	out := slices.Clone(c.SplitEven(c.X(0), axis, c.Int("num_outputs", 1)))
	if c.Bool("squeeze_axis", false) {
		for i, x := range out {
			out[i] = c.Squeeze(x, axis)
		}
	}
	return out
}
