package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var moveRows = []row{
	{"Flatten", one(func(c *call) *graph.Value { // of text graphs that are written for other tools
		c.WantRank(0, 1)
		return c.Reshape(c.X(0), c.Shape(0)[0], c.X(0).Type.Elements()/max(c.Shape(0)[0], 1))
	})},
	{"Reshape", one(reshape)}, {"Squeeze", shared(tfops.Squeeze)}, {"ExpandDims", shared(tfops.ExpandDims)}, {"Transpose", shared(tfops.Transpose)}, {"ConjugateTranspose", shared(tfops.Transpose)}, {"InvertPermutation", one(invertPermutation)},
	{"Pad", one(pad)}, {"PadV2", one(pad)}, {"MirrorPad", one(mirrorPad)}, {"Tile", shared(tfops.Tile)}, {"BroadcastTo", shared(tfops.BroadcastTo)},
	{"ReverseV2", shared(tfops.Reverse)}, {"Reverse", shared(tfops.Reverse)}, {"ReverseSequence", shared(tfops.ReverseSequence)}, {"Roll", one(roll)},
	{"DataFormatVecPermute", one(vecPermute)}, {"DataFormatDimMap", one(vecPermute)},
}

func reshape(c *call) *graph.Value {
	x := c.X(0)
	return c.Reshape(x, compose.ShapeFor(x.Type.Elements(), c.KnownInts(1, "the shape"), nil)...)
}

func pad(c *call) *graph.Value { return tfops.Pad(c.Call, 0) }

func mirrorPad(c *call) *graph.Value {
	return tfops.MirrorPad(c.Call, c.OneOf("mode", "", "REFLECT", "SYMMETRIC") == "SYMMETRIC")
}

func invertPermutation(c *call) *graph.Value {
	axes := c.KnownInts(0, "the permutation")
	out := make([]int, len(axes))
	for i, a := range axes {
		out[frontend.Axis(a, len(axes))] = i
	}
	return c.Cast(compose.Ints(out...), c.X(0).Type.DType)
}

// roll moves elements along axes; what falls out at the end comes in at the beginning.
func roll(c *call) *graph.Value {
	return c.Roll(c.X(0), c.KnownInts(1, "the shift"), frontend.EachAxis(c.KnownInts(2, "the axis"), c.Rank(0)))
}

// vecPermute brings axes, or a list with an entry for each, from one order of letters to another.
func vecPermute(c *call) *graph.Value {
	from, to := c.Str("src_format", "NHWC"), c.Str("dst_format", "NCHW")
	places := make([]int, len(from))
	for i := range from {
		k := indexByte(to, from[i])
		if k < 0 || len(from) != len(to) {
			compose.Fail("from %q to %q", from, to)
		}
		places[i] = k
	}
	x := c.X(0)
	if c.Node.Op == "DataFormatDimMap" {
		return c.Apply(ops.Take, ops.TakeAttrs{}, c.Cast(compose.Ints(places...), x.Type.DType), c.Cast(x, types.I64))
	}
	back := make([]int, len(places))
	for i, k := range places {
		back[k] = i
	}
	if n := x.Type.Shape[0]; n < len(back) { // spatial axes only
		var spatial []int
		for _, k := range back {
			if letter := from[k]; letter != 'N' && letter != 'C' {
				spatial = append(spatial, k)
			}
		}
		base := slices.Min(spatial)
		for i := range spatial {
			spatial[i] -= base
		}
		back = spatial
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, x, compose.Ints(back...))
}

func indexByte(s string, b byte) int { return slices.Index([]byte(s), b) }
