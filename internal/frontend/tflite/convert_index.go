package tflite

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

const boolType = types.Bool

var indexRows = []row{
	{"GATHER", moved(one(gather))}, {"GATHER_ND", moved(one(gatherND))}, {"EMBEDDING_LOOKUP", one(embeddingLookup)}, {"ONE_HOT", one(oneHot)},
	{"SCATTER_ND", one(scatterND)}, {"TOPK_V2", topK}, {"ARG_MAX", one(argExtreme(ops.ArgMax))}, {"ARG_MIN", one(argExtreme(ops.ArgMin))},
	{"WHERE", one(where)}, {"UNIQUE", unique}, {"MATRIX_DIAG", one(matrixDiag)}, {"BUCKETIZE", one(bucketize)}, {"SEGMENT_SUM", one(segments(ops.Sum, zero))},
	{"UNSORTED_SEGMENT_SUM", one(segments(ops.Sum, zero))}, {"UNSORTED_SEGMENT_PROD", one(segments(ops.Prod, func(types.DType) float64 { return 1 }))},
	{"UNSORTED_SEGMENT_MAX", one(segments(ops.Max, least))}, {"UNSORTED_SEGMENT_MIN", one(segments(ops.Min, most))},
	{"MATRIX_SET_DIAG", one(matrixSetDiag)}, {"SPARSE_TO_DENSE", one(sparseToDense)},
}

// gather looks up slices; the first batch_dims axes of both operands go together.
func gather(c *call) *graph.Value {
	x, index := c.X(0), c.Cast(c.X(1), types.I64)
	at, batch := frontend.Axis(c.Int("axis", 0), x.Type.Rank()), c.Int("batch_dims", 0)
	if batch < 0 {
		batch += index.Type.Rank()
	}
	if batch == 0 {
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: at}, x, index)
	}
	if batch > at || batch > index.Type.Rank() || !slices.Equal(x.Type.Shape[:batch], index.Type.Shape[:batch]) {
		compose.Fail("batch_dims %d of %s by %s along axis %d", batch, x.Type, index.Type, at)
	}
	// Axes: batch, before, at, after and batch, places. With at brought to the place behind batch it is a lookup of slices.
	axes := make([]int, 0, x.Type.Rank())
	for k := range x.Type.Rank() {
		if k == batch {
			axes = append(axes, at)
		}
		if k != at {
			axes = append(axes, k)
		}
	}
	if at == x.Type.Rank()-1 && at == batch {
		axes = axes[:0]
		for k := range x.Type.Rank() {
			axes = append(axes, k)
		}
	}
	y := c.Apply(ops.GatherND, ops.GatherNDAttrs{BatchDims: batch}, c.Transpose(x, axes...), c.ExpandDims(index, index.Type.Rank()))
	places := index.Type.Rank() - batch
	var back []int
	for k := range batch {
		back = append(back, k)
	}
	for k := range at - batch {
		back = append(back, batch+places+k)
	}
	for k := range places {
		back = append(back, batch+k)
	}
	for k := batch + places + at - batch; k < y.Type.Rank(); k++ {
		back = append(back, k)
	}
	return c.Transpose(y, back...)
}

func gatherND(c *call) *graph.Value {
	return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.X(0), c.Cast(c.X(1), types.I64))
}

// embeddingLookup has the indices first.
func embeddingLookup(c *call) *graph.Value {
	y := c.Apply(ops.Take, ops.TakeAttrs{}, c.X(1), c.Cast(c.X(0), types.I64))
	if table := c.from(1); table.quantized() && !c.to(0).quantized() {
		return c.dequantized(y, table)
	}
	return c.plain(y)
}

func oneHot(c *call) *graph.Value {
	index := c.Cast(c.X(0), types.I64)
	a := ops.OneHotAttrs{Depth: c.KnownInt(1, "the depth"), Axis: frontend.Axis(c.Int("axis", 0), c.Rank(0)+1)}
	return c.Apply(ops.OneHot, a, index, c.Scalar(c.X(2)), c.Scalar(c.X(3)))
}

// scatterND adds the updates of one place.
func scatterND(c *call) *graph.Value {
	updates := c.X(1)
	zeros := c.Full(updates.Type.DType, 0, c.KnownInts(2, "the shape")...)
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, zeros, c.Cast(c.X(0), types.I64), updates)
}

func topK(c *call) values {
	x := c.X(0)
	c.WantRank(0, 1)
	out := c.Results(ops.TopK, ops.TopKAttrs{K: c.KnownInt(1, "k"), Axis: x.Type.Rank() - 1, Largest: true}, x)
	return values{out[0], c.Cast(out[1], types.I32)}
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

// matrixDiag puts vectors on the diagonals of matrices.
func matrixDiag(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 1)
	n := x.Type.Shape[x.Type.Rank()-1]
	return c.Do(ops.Where, c.diagonal(n, n), c.ExpandDims(x, x.Type.Rank()), compose.Like(x, 0))
}

// diagonal is where row and column are the same.
func (c *call) diagonal(rows, columns int) *graph.Value {
	return c.Do(ops.Equal, c.ExpandDims(c.Arange(rows), 1), c.ExpandDims(c.Arange(columns), 0))
}

// matrixSetDiag replaces the diagonals of matrices.
func matrixSetDiag(c *call) *graph.Value {
	x, d := c.X(0), c.X(1)
	c.WantRank(0, 2)
	rank := x.Type.Rank()
	rows, columns := x.Type.Shape[rank-2], x.Type.Shape[rank-1]
	if d.Type.Rank() != rank-1 || d.Type.Shape[rank-2] != min(rows, columns) {
		compose.Fail("a diagonal %s of %s", d.Type, x.Type)
	}
	if rows > columns { // rows behind the last column keep what they have
		a := ops.PadAttrs{PadBefore: make([]int, rank-1), PadAfter: make([]int, rank-1), Mode: "constant"}
		a.PadAfter[rank-2] = rows - columns
		d = c.Apply(ops.Pad, a, d)
	}
	return c.Do(ops.Where, c.diagonal(rows, columns), c.ExpandDims(d, rank-1), x)
}

// sparseToDense puts values at places into a tensor that is the default elsewhere.
func sparseToDense(c *call) *graph.Value {
	shape, values := c.KnownInts(1, "the shape"), c.X(2)
	at := c.Cast(c.X(0), types.I64)
	for at.Type.Rank() < 2 { // one place, or places of a vector
		at = c.ExpandDims(at, at.Type.Rank())
	}
	if c.Rank(0) == 1 && len(shape) > 1 {
		at = c.Reshape(at, 1, at.Type.Elements())
	}
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "none"}, c.BroadcastTo(c.Scalar(c.X(3)), shape...), at, c.BroadcastTo(values, at.Type.Shape[0]))
}

// bucketize counts the boundaries that are not above.
func bucketize(c *call) *graph.Value {
	x, list := c.X(0), c.Floats("boundaries")
	t := c.Zeros(types.F32, len(list))
	for i, f := range list {
		t.SetFloat(i, f)
	}
	above := c.Do(ops.GreaterEqual, c.ExpandDims(c.Cast(x, types.F32), x.Type.Rank()), compose.Const(t))
	return c.Reduce(ops.Sum, c.Cast(above, types.I32), false, x.Type.Rank())
}

func zero(types.DType) float64 { return 0 }

// least and most are what segments without rows are for a maximum and a minimum.
func least(d types.DType) float64 {
	if d.IsFloat() {
		return -math.MaxFloat32
	}
	lo, _ := d.IntRange()
	return float64(lo)
}

func most(d types.DType) float64 {
	if d.IsFloat() {
		return math.MaxFloat32
	}
	_, hi := d.IntRange()
	return float64(hi)
}

// segments joins the rows of each segment, whose numbers are known; operand 2, where there is one, says how many there are. Rows with negative numbers are
// left out.
func segments(d *op.Def, empty func(types.DType) float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, ids := c.X(0), c.KnownInts(1, "the segments")
		c.WantRank(0, 1)
		if len(ids) != x.Type.Shape[0] || len(ids) == 0 || len(ids) > frontend.MaxIterations {
			compose.Fail("%d segment numbers of %s", len(ids), x.Type)
		}
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
