package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
)

var joinRows = []row{
	{"ConcatV2", one(concatV2)}, {"Concat", one(concat)}, {"Pack", shared(tfops.Pack)}, {"Unpack", sharedAll(tfops.Unpack)}, {"Split", func(c *call) values { return tfops.Split(c.Call, c.Int("num_split", 0)) }}, {"SplitV", sharedAll(tfops.SplitV)}, {"ParallelConcat", one(parallelConcat)},
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
