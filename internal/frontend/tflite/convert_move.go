package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/tool/spelling"
)

var moveRows = []row{
	{"RESHAPE", moved(one(reshape))}, {"SQUEEZE", moved(shared(tfops.Squeeze))}, {"EXPAND_DIMS", moved(shared(tfops.ExpandDims))},
	{"TRANSPOSE", moved(shared(tfops.Transpose))}, {"CONCATENATION", one(concatenation)}, {"PACK", one(pack)}, {"UNPACK", moved(unpack)},
	{"SPLIT", split}, {"SPLIT_V", moved(sharedAll(tfops.SplitV))}, {"PAD", moved(one(pad))}, {"PADV2", moved(one(pad))}, {"MIRROR_PAD", moved(one(mirrorPad))},
	{"TILE", moved(shared(tfops.Tile))}, {"BROADCAST_TO", moved(shared(tfops.BroadcastTo))}, {"REVERSE_V2", moved(shared(tfops.Reverse))}, {"REVERSE_SEQUENCE", moved(shared(tfops.ReverseSequence))},
	{"DENSIFY", one(func(c *call) *graph.Value { return c.X(0) })},
}

// reshape takes the shape from operand 1, or from the option where there is none.
func reshape(c *call) *graph.Value {
	x := c.X(0)
	shape := c.Ints("new_shape")
	if c.Present(1) {
		shape = c.KnownInts(1, "the shape")
	} else if len(shape) == 1 && shape[0] == 0 { // how old converters write a scalar
		shape = nil
	}
	shape = append([]int{}, shape...)
	if c.from(0).elem == elemComplex64 { // real and imaginary part are an axis
		shape = append(shape, 2)
	}
	return c.Reshape(x, compose.ShapeFor(x.Type.Elements(), shape, nil)...)
}

// concatenation brings quantised operands to the scale of the result.
func concatenation(c *call) *graph.Value {
	to := c.to(0)
	in := slices.Clone(c.All())
	for i, from := range c.op.in {
		if to.quantized() && from.quantized() && !from.sameScale(to) {
			in[i] = c.remapped(in[i], from, to)
		}
	}
	y := c.Concat(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()), in...)
	if to.quantized() {
		return c.clamped(y, to)
	}
	return c.activated(y)
}

func pack(c *call) *graph.Value {
	c.Ignore("values_count")
	in, to := slices.Clone(c.All()), c.to(0)
	for i, from := range c.op.in {
		if to.quantized() && from.quantized() && !from.sameScale(to) {
			in[i] = c.remapped(in[i], from, to)
		}
	}
	return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
}

func unpack(c *call) values {
	c.Ignore("num")
	c.WantRank(0, 1)
	return tfops.Elements(c.Call, c.X(0), frontend.Axis(c.Int("axis", 0), c.Rank(0)))
}

func split(c *call) values {
	n := c.Int("num_splits", 0)
	if n != len(c.Node.Out) {
		compose.Fail("%s for %s", spelling.Count(n, "part"), spelling.Count(len(c.Node.Out), "result"))
	}
	return tfops.Split(c.Call, n)
}

// zero is what operand 0 has for real 0.
func (c *call) zero() float64 {
	if from := c.from(0); from.quantized() {
		return float64(from.zero())
	}
	return 0
}

func pad(c *call) *graph.Value { return tfops.Pad(c.Call, c.zero()) }

func mirrorPad(c *call) *graph.Value { return tfops.MirrorPad(c.Call, c.Int("mode", 0) != 0) }
