package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

const boolType = types.Bool

var indexRows = []row{
	{"GATHER", moved(one(func(c *call) *graph.Value { return tfops.Gather(c.Call, c.Int("axis", 0)) }))}, {"GATHER_ND", moved(shared(tfops.GatherND))}, {"EMBEDDING_LOOKUP", one(embeddingLookup)}, {"ONE_HOT", one(func(c *call) *graph.Value { return tfops.OneHot(c.Call, 0) })},
	{"SCATTER_ND", shared(tfops.ScatterND)}, {"TOPK_V2", func(c *call) values { return tfops.TopK(c.Call, c.KnownInt(1, "k"), types.I32) }}, {"ARG_MAX", one(argExtreme(ops.ArgMax))}, {"ARG_MIN", one(argExtreme(ops.ArgMin))},
	{"WHERE", one(where)}, {"UNIQUE", unique}, {"MATRIX_DIAG", shared(tfops.MatrixDiag)}, {"BUCKETIZE", shared(tfops.Bucketize)}, {"SEGMENT_SUM", shared(tfops.Segments(ops.Sum, tfops.Zero))},
	{"UNSORTED_SEGMENT_SUM", shared(tfops.Segments(ops.Sum, tfops.Zero))}, {"UNSORTED_SEGMENT_PROD", shared(tfops.Segments(ops.Prod, tfops.One))},
	{"UNSORTED_SEGMENT_MAX", shared(tfops.Segments(ops.Max, compose.Least))}, {"UNSORTED_SEGMENT_MIN", shared(tfops.Segments(ops.Min, compose.Most))},
	{"MATRIX_SET_DIAG", shared(tfops.MatrixSetDiag)}, {"SPARSE_TO_DENSE", shared(tfops.SparseToDense)},
}

// embeddingLookup has the indices first.
func embeddingLookup(c *call) *graph.Value {
	y := c.Apply(ops.Take, ops.TakeAttrs{}, c.X(1), c.Cast(c.X(0), types.I64))
	if table := c.from(1); table.quantized() && !c.to(0).quantized() {
		return c.dequantized(y, table)
	}
	return c.plain(y)
}

func argExtreme(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("output_type")
		y := c.Apply(d, ops.ArgAttrs{Axis: frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0))}, c.X(0))
		return c.Cast(y, c.resultType())
	}
}

// where lists the coordinates of what is true.
func where(c *call) *graph.Value { return c.Do(ops.ArgWhere, c.X(0)) }

// maxUnique bounds the vector of which all pairs are compared.
const maxUnique = 1 << 12

// unique is the different elements of a vector in the order in which they come first, and the place of each element among them.
func unique(c *call) values {
	x := c.X(0)
	if x.Type.Rank() != 1 || x.Type.Shape[0] < 1 || x.Type.Shape[0] > maxUnique {
		compose.Fail("%s: vectors of 1 to %d elements are supported", x.Type, maxUnique)
	}
	d, err := elemType(c.Int("idx_out_type", schema[c.Node.Op]["idx_out_type"].absent)).dtype()
	if err != nil {
		compose.Fail("%w", err)
	}
	same := c.Do(ops.Equal, c.ExpandDims(x, 1), c.ExpandDims(x, 0))
	first := c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 0}, c.Cast(same, types.I32)) // the row of the first one
	news := c.Do(ops.Equal, first, c.Cast(c.Arange(x.Type.Shape[0]), first.Type.DType))
	count := c.Apply(ops.CumSum, ops.CumulativeAttrs{Exclusive: true}, c.Cast(news, d))
	return values{c.Apply(ops.Compress, ops.CompressAttrs{}, x, news), c.Apply(ops.Take, ops.TakeAttrs{}, count, first)}
}
