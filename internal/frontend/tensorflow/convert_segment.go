package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var segmentRows = []row{
	{"SegmentSum", one(segments(ops.Sum, nothing))}, {"SegmentMean", one(segments(ops.Mean, nothing))}, {"SegmentProd", one(segments(ops.Prod, unity))},
	{"SegmentMax", one(segments(ops.Max, nothing))}, {"SegmentMin", one(segments(ops.Min, nothing))},
	{"UnsortedSegmentSum", one(segments(ops.Sum, nothing))}, {"UnsortedSegmentProd", one(segments(ops.Prod, unity))},
	{"UnsortedSegmentMax", one(segments(ops.Max, least))}, {"UnsortedSegmentMin", one(segments(ops.Min, most))},
	{"Unique", unique1}, {"ListDiff", listDiff}, {"SetDiff1D", listDiff},
}

func nothing(types.DType) float64 { return 0 }
func unity(types.DType) float64   { return 1 }

// segments joins the rows of each segment, whose numbers are known; operand 2, where there is one, says how many there are. Rows with negative
// numbers are left out.
func segments(d *op.Def, empty func(types.DType) float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, ids := c.X(0), c.KnownInts(1, "the segments")
		rank := c.Rank(1)
		if rank > x.Type.Rank() || !slices.Equal(x.Type.Shape[:rank], c.Shape(1)) || len(ids) == 0 || len(ids) > frontend.MaxIterations {
			compose.Fail("%d segment numbers of %s", len(ids), x.Type)
		}
		x = c.Reshape(x, append([]int{len(ids)}, x.Type.Shape[rank:]...)...)
		n := slices.Max(ids) + 1
		if c.Present(2) {
			n = c.KnownInt(2, "the number of segments")
		}
		if n < 1 || n > frontend.MaxIterations || n < slices.Max(ids)+1 {
			compose.Fail("%d segments, the last number being %d", n, slices.Max(ids))
		}
		parts := make(values, n)
		for k := range parts {
			var rows []int
			for i, id := range ids {
				if id == k {
					rows = append(rows, i)
				}
			}
			if len(rows) == 0 {
				parts[k] = c.Full(x.Type.DType, empty(x.Type.DType), x.Type.Shape[1:]...)
				continue
			}
			parts[k] = c.Reduce(d, c.Apply(ops.Take, ops.TakeAttrs{}, x, compose.Ints(rows...)), false, 0)
		}
		return c.Stack(0, parts...)
	}
}

// unique1 lists the different elements of a known vector in the order of their first, and which of them each element is.
func unique1(c *call) values {
	x := c.KnownInts(0, "the vector")
	var list []int
	places := make([]int, len(x))
	at := map[int]int{}
	for i, v := range x {
		k, seen := at[v]
		if !seen {
			k = len(list)
			at[v], list = k, append(list, v)
		}
		places[i] = k
	}
	return values{c.Cast(compose.Ints(list...), c.X(0).Type.DType), c.Cast(compose.Ints(places...), c.typeOf("out_idx", types.I32))}
}

// listDiff are the elements of one known vector that are not in another, and where they stand.
func listDiff(c *call) values {
	x, without := c.KnownInts(0, "the first list"), c.KnownInts(1, "the second list")
	out, places := []int{}, []int{}
	for i, v := range x {
		if !slices.Contains(without, v) {
			out, places = append(out, v), append(places, i)
		}
	}
	return values{c.Cast(compose.Ints(out...), c.X(0).Type.DType), c.Cast(compose.Ints(places...), c.typeOf("out_idx", types.I32))}
}
