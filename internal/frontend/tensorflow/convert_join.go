package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tool/spelling"
)

var joinRows = []row{
	{"ConcatV2", one(concatV2)}, {"Concat", one(concat)}, {"Pack", one(pack)}, {"Unpack", unpack}, {"Split", split}, {"SplitV", splitV}, {"ParallelConcat", one(parallelConcat)},
	{"DynamicStitch", one(dynamicStitch)}, {"ParallelDynamicStitch", one(dynamicStitch)},
}

// concatV2 has its axis as the last operand.
func concatV2(c *call) *graph.Value {
	n := len(c.In) - 1
	if n < 1 {
		compose.Fail("no operands")
	}
	return c.joined(c.KnownInt(n, "the axis"), c.All()[:n])
}

// concat has its axis as the first operand.
func concat(c *call) *graph.Value { return c.joined(c.KnownInt(0, "the axis"), c.All()[1:]) }

func (c *call) joined(axis int, in values) *graph.Value {
	if len(in) == 0 {
		compose.Fail("no operands")
	}
	return c.Concat(frontend.Axis(axis, in[0].Type.Rank()), in...)
}

func parallelConcat(c *call) *graph.Value {
	c.Ignore("shape")
	return c.joined(0, c.All())
}

func pack(c *call) *graph.Value {
	in := c.All()
	return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
}

func unpack(c *call) values {
	c.WantRank(0, 1)
	at := frontend.Axis(c.Int("axis", 0), c.Rank(0))
	n := c.Shape(0)[at]
	if c.Int("num", n) != n {
		compose.Fail("axis %d of %s in %s", at, c.X(0).Type, spelling.Count(c.Int("num", n), "part"))
	}
	return c.unpacked(c.X(0), at)
}

// unpacked are the elements of an axis.
func (c *call) unpacked(x *graph.Value, at int) values {
	n := x.Type.Shape[at]
	if n > frontend.MaxIterations {
		compose.Fail("%s are not supported; %d are", spelling.Count(n, "part"), frontend.MaxIterations)
	}
	out := slices.Clone(c.Split(x, at, slices.Repeat([]int{1}, n)...))
	for i, p := range out {
		out[i] = c.Squeeze(p, at)
	}
	return out
}

// split has its axis as operand 0.
func split(c *call) values {
	x := c.X(1)
	at := frontend.Axis(c.KnownInt(0, "the axis"), x.Type.Rank())
	n := c.Int("num_split", 0)
	if n < 1 || n > maxResults || x.Type.Shape[at]%n != 0 {
		compose.Fail("axis %d of %s in %s", at, x.Type, spelling.Count(n, "part"))
	}
	return c.Split(x, at, slices.Repeat([]int{x.Type.Shape[at] / n}, n)...)
}

func splitV(c *call) values {
	c.Ignore("num_split")
	x, sizes := c.X(0), slices.Clone(c.KnownInts(1, "the sizes"))
	at := frontend.Axis(c.KnownInt(2, "the axis"), x.Type.Rank())
	left := x.Type.Shape[at]
	for _, n := range sizes {
		left -= max(n, 0)
	}
	for i, n := range sizes {
		if n == -1 {
			sizes[i], left = left, 0
		}
	}
	return c.Split(x, at, sizes...)
}

// dynamicStitch puts the rows of its second half at the places that its first half says; of rows for one place the last counts.
func dynamicStitch(c *call) *graph.Value {
	in := c.All()
	n := len(in) / 2
	rows := map[int]*graph.Value{}
	most := -1
	for i := range n {
		places, data := c.KnownInts(i, "the places"), in[n+i]
		inner := data.Type.Shape[min(in[i].Type.Rank(), data.Type.Rank()):]
		flat := c.Reshape(data, append([]int{len(places)}, inner...)...)
		for k, at := range places {
			if at < 0 || at >= frontend.MaxIterations {
				compose.Fail("place %d; up to %d are supported", at, frontend.MaxIterations)
			}
			rows[at] = c.At(flat, 0, k)
			most = max(most, at)
		}
	}
	if most < 0 {
		compose.Fail("no places")
	}
	var list values
	for at := range most + 1 {
		if rows[at] == nil {
			compose.Fail("there is nothing for place %d", at)
		}
		list = append(list, rows[at])
	}
	return c.Stack(0, list...)
}
