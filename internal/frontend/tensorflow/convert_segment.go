package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var segmentRows = []row{
	{"SegmentSum", shared(tfops.Segments(ops.Sum, tfops.Zero))}, {"SegmentMean", shared(tfops.Segments(ops.Mean, tfops.Zero))}, {"SegmentProd", shared(tfops.Segments(ops.Prod, tfops.One))},
	{"SegmentMax", shared(tfops.Segments(ops.Max, tfops.Zero))}, {"SegmentMin", shared(tfops.Segments(ops.Min, tfops.Zero))},
	{"UnsortedSegmentSum", shared(tfops.Segments(ops.Sum, tfops.Zero))}, {"UnsortedSegmentProd", shared(tfops.Segments(ops.Prod, tfops.One))},
	{"UnsortedSegmentMax", shared(tfops.Segments(ops.Max, compose.Least))}, {"UnsortedSegmentMin", shared(tfops.Segments(ops.Min, compose.Most))},
	{"Unique", unique1}, {"ListDiff", listDiff}, {"SetDiff1D", listDiff},
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
