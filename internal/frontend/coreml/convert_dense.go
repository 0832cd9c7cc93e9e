package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var denseRows = []row{
	{140, "innerProduct", "inputChannels:1 outputChannels:2 hasBias:10 weights:20w bias:21w", one(innerProduct)},
	{150, "embedding", "inputDim:1 outputChannels:2 hasBias:10 weights:20w bias:21w", one(embedding)},
	{1040, "embeddingND", "inputDim:1 outputChannels:2 hasBias:3 weights:20w bias:21w", one(embeddingND)},
}

// innerProduct takes the last three axes as one where there are four or more, which keep extents of 1.
func innerProduct(c *call) *graph.Value {
	x := c.X(0)
	in, out := c.Int("inputChannels", 0), c.Int("outputChannels", 0)
	s := x.Type.Shape
	lead, tail := s, []int(nil)
	if len(s) > 3 {
		lead, tail = s[:len(s)-3], []int{1, 1}
	} else if len(s) > 0 {
		lead = s[:len(s)-1]
	}
	if in < 1 || types.Count(s[len(lead):]) != in {
		compose.Fail("%s by a matrix of %d columns", x.Type, in)
	}
	y := c.Do(ops.Dense, c.Reshape(x, types.Count(lead), in), c.weight("weights", out, in))
	if c.Bool("hasBias", false) {
		y = c.Do(ops.Add, y, c.weight("bias", out))
	}
	return c.Reshape(y, slices.Concat(lead, []int{out}, tail)...)
}

// lookup gives the columns of a matrix [outputChannels, inputDim] at places, along a new last axis.
func (c *call) lookup(places *graph.Value) *graph.Value {
	n, out := c.Int("inputDim", 0), c.Int("outputChannels", 0)
	y := c.Apply(ops.Take, ops.TakeAttrs{}, c.Transpose(c.weight("weights", out, n), 1, 0), c.Cast(places, types.I32))
	if c.Bool("hasBias", false) {
		y = c.Do(ops.Add, y, c.weight("bias", out))
	}
	return y
}

func embedding(c *call) *graph.Value {
	x := c.X(0)
	s := x.Type.Shape
	r := len(s)
	if r < 4 || types.Count(s[r-3:]) != 1 {
		compose.Fail("of %s: the last three axes must be 1", x.Type)
	}
	y := c.lookup(c.Reshape(x, s[:r-3]...))
	return c.Reshape(y, append(slices.Clone(y.Type.Shape), 1, 1)...)
}

func embeddingND(c *call) *graph.Value {
	x := c.X(0)
	r := x.Type.Rank()
	if r < 1 || x.Type.Shape[r-1] != 1 {
		compose.Fail("of %s: the last axis must be 1", x.Type)
	}
	return c.lookup(c.Squeeze(x, r-1))
}
