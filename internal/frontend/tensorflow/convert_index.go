package tensorflow

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var indexRows = []row{
	{"Gather", one(gather)}, {"GatherV2", one(gather)}, {"ResourceGather", one(gather)}, {"GatherNd", one(gatherND)}, {"ResourceGatherNd", one(gatherND)}, {"OneHot", one(oneHot)},
	{"ScatterNd", one(scatterND)}, {"TensorScatterUpdate", scatter("none")}, {"TensorScatterAdd", scatter("add")}, {"TensorScatterMax", scatter("max")}, {"TensorScatterMin", scatter("min")},
	{"TensorScatterSub", one(func(c *call) *graph.Value {
		return scatter("add")(c.with(c.X(0), c.X(1), c.Do(ops.Negative, c.X(2))))[0]
	})},
	{"TopK", topK}, {"TopKV2", topK}, {"InTopK", one(inTopK)}, {"InTopKV2", one(inTopK)}, {"Where", one(func(c *call) *graph.Value { return c.Do(ops.ArgWhere, c.X(0)) })},
	{"SparseToDense", one(sparseToDense)}, {"Bucketize", one(bucketize)}, {"Searchsorted", one(searchSorted)}, {"UpperBound", one(searchSorted)}, {"LowerBound", one(searchSorted)},
	{"MatrixDiag", one(matrixDiag)}, {"Diag", one(diag)}, {"MatrixDiagPart", one(matrixDiagPart)}, {"DiagPart", one(matrixDiagPart)}, {"MatrixSetDiag", one(matrixSetDiag)}, {"MatrixBandPart", one(matrixBandPart)},
	{"MatrixDiagV2", one(mainDiagonal(1, matrixDiag))}, {"MatrixDiagV3", one(mainDiagonal(1, matrixDiag))}, {"MatrixDiagPartV2", one(mainDiagonal(1, matrixDiagPart))},
	{"MatrixDiagPartV3", one(mainDiagonal(1, matrixDiagPart))}, {"MatrixSetDiagV2", one(mainDiagonal(2, matrixSetDiag))}, {"MatrixSetDiagV3", one(mainDiagonal(2, matrixSetDiag))},
}

// gather looks up slices along operand 2; the first batch_dims axes of both operands go together.
func gather(c *call) *graph.Value {
	x, index := c.X(0), c.Cast(c.X(1), types.I64)
	axis, batch := 0, c.Int("batch_dims", 0)
	if c.Present(2) {
		axis = c.KnownInt(2, "the axis")
	} else {
		axis = max(batch, 0)
	}
	c.Ignore("dtype")
	at := frontend.Axis(axis, x.Type.Rank())
	if batch < 0 {
		batch += index.Type.Rank()
	}
	if batch == 0 {
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: at}, x, index)
	}
	if batch < 0 || batch > at || batch > index.Type.Rank() || !slices.Equal(x.Type.Shape[:batch], index.Type.Shape[:batch]) {
		compose.Fail("batch_dims %d of %s by %s along axis %d", batch, x.Type, index.Type, at)
	}
	// Axes: batch, before, at, behind and batch, places. With at brought to the place behind batch it is a lookup of slices.
	var axes, back []int
	for k := range x.Type.Rank() {
		if k == batch {
			axes = append(axes, at)
		}
		if k != at {
			axes = append(axes, k)
		}
	}
	if len(axes) < x.Type.Rank() { // the last axis stays
		axes = append(axes, at)
	}
	y := c.Apply(ops.GatherND, ops.GatherNDAttrs{BatchDims: batch}, c.Transpose(x, axes...), c.ExpandDims(index, index.Type.Rank()))
	places := index.Type.Rank() - batch
	for k := range batch {
		back = append(back, k)
	}
	for k := range at - batch {
		back = append(back, batch+places+k)
	}
	for k := range places {
		back = append(back, batch+k)
	}
	for k := places + at; k < y.Type.Rank(); k++ {
		back = append(back, k)
	}
	return c.Transpose(y, back...)
}

func gatherND(c *call) *graph.Value {
	c.Ignore("dtype", "bad_indices_policy")
	return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.X(0), c.Cast(c.X(1), types.I64))
}

func oneHot(c *call) *graph.Value {
	a := ops.OneHotAttrs{Depth: c.KnownInt(1, "the depth"), Axis: frontend.Axis(c.Int("axis", -1), c.Rank(0)+1)}
	index := c.Cast(c.X(0), types.I64)
	// A negative index sets nothing, while the operator counts it from the end.
	index = c.Do(ops.Where, c.Do(ops.Less, index, compose.Like(index, 0)), compose.Like(index, float64(a.Depth)), index)
	return c.Apply(ops.OneHot, a, index, c.Scalar(c.X(2)), c.Scalar(c.X(3)))
}

// scatterND adds the updates of one place.
func scatterND(c *call) *graph.Value {
	c.Ignore("bad_indices_policy")
	updates := c.X(1)
	zeros := c.Full(updates.Type.DType, 0, c.KnownInts(2, "the shape")...)
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, zeros, c.Cast(c.X(0), types.I64), updates)
}

func scatter(reduction string) func(c *call) values {
	return one(func(c *call) *graph.Value {
		c.Ignore("bad_indices_policy")
		return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: reduction}, c.X(0), c.Cast(c.X(1), types.I64), c.X(2))
	})
}

// topK has k as an operand, or in its first version as an attribute. Its results may be in any order without sorted; here they are in order.
func topK(c *call) values {
	c.Ignore("sorted")
	c.WantRank(0, 1)
	k := c.plainInt("k")
	if c.Present(1) {
		k = c.KnownInt(1, "k")
	}
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: c.Rank(0) - 1, Largest: true}, c.X(0))
	return values{out[0], c.Cast(out[1], c.typeOf("index_type", types.I32))}
}

// plainInt is an integer attribute, 0 where it is absent.
func (c *call) plainInt(name string) int {
	n, err := c.Node.Attrs.Int(name)
	if err != nil {
		n = 0
	}
	c.Ignore(name)
	return int(n)
}

// inTopK is whether fewer than k predictions [rows, classes] are greater than the one of the row's target.
func inTopK(c *call) *graph.Value {
	x, targets, k := c.X(0), c.Cast(c.X(1), types.I64), c.plainInt("k")
	if c.Present(2) {
		k = c.KnownInt(2, "k")
	}
	if x.Type.Rank() != 2 || targets.Type.Rank() != 1 {
		compose.Fail("predictions %s of targets %s", x.Type, targets.Type)
	}
	own := c.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, x, c.ExpandDims(targets, 1))
	above := c.Reduce(ops.Sum, c.Cast(c.Do(ops.Greater, x, own), types.I32), false, 1)
	return c.Do(ops.Less, above, compose.Like(above, float64(k)))
}

// sparseToDense puts values at places into a tensor that is the default elsewhere.
func sparseToDense(c *call) *graph.Value {
	shape, set := c.KnownInts(1, "the shape"), c.X(2)
	at := c.Cast(c.X(0), types.I64)
	for at.Type.Rank() < 2 { // one place, or places of a vector
		at = c.ExpandDims(at, at.Type.Rank())
	}
	if c.Rank(0) == 1 && len(shape) > 1 {
		at = c.Reshape(at, 1, at.Type.Elements())
	}
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "none"}, c.BroadcastTo(c.Scalar(c.X(3)), shape...), at, c.BroadcastTo(set, at.Type.Shape[0]))
}

// bucketize counts the boundaries that are not above.
func bucketize(c *call) *graph.Value {
	list := c.Floats("boundaries")
	t := c.Zeros(types.F32, len(list))
	for i, f := range list {
		t.SetFloat(i, f)
	}
	above := c.Do(ops.GreaterEqual, c.ExpandDims(c.Cast(c.X(0), types.F32), c.Rank(0)), compose.Const(t))
	return c.Reduce(ops.Sum, c.Cast(above, types.I32), false, c.Rank(0))
}

// searchSorted counts the elements of sorted rows that are below those of operand 1, or not above (UpperBound).
func searchSorted(c *call) *graph.Value {
	rows, x := c.X(0), c.X(1)
	rank := rows.Type.Rank()
	if rank < 1 || x.Type.Rank() != rank {
		compose.Fail("%s among %s", x.Type, rows.Type)
	}
	d := ops.Less
	if c.Node.Op == "UpperBound" {
		d = ops.LessEqual
	}
	below := c.Do(d, c.ExpandDims(rows, rank-1), c.ExpandDims(x, rank))
	return c.Reduce(ops.Sum, c.Cast(below, c.typeOf("out_type", types.I32)), false, rank)
}

// matrixDiag puts vectors on the diagonals of matrices.
func matrixDiag(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 1)
	n := x.Type.Shape[x.Type.Rank()-1]
	return c.Do(ops.Where, c.diagonal(n, n), c.ExpandDims(x, x.Type.Rank()), compose.Like(x, 0))
}

// diag is it for all axes at once.
func diag(c *call) *graph.Value {
	x := c.X(0)
	n := x.Type.Elements()
	y := c.Do(ops.Where, c.diagonal(n, n), c.Reshape(x, n, 1), compose.Like(x, 0))
	return c.Reshape(y, append(slices.Clone(x.Type.Shape), x.Type.Shape...)...)
}

// diagonal is where row and column are the same.
func (c *call) diagonal(rows, columns int) *graph.Value {
	return c.Do(ops.Equal, c.ExpandDims(c.Arange(rows), 1), c.ExpandDims(c.Arange(columns), 0))
}

// matrixDiagPart are the diagonals of matrices.
func matrixDiagPart(c *call) *graph.Value {
	c.WantRank(0, 2)
	x := c.X(0)
	s := x.Type.Shape
	if c.Node.Op == "DiagPart" { // of tensors whose second half of axes is like the first
		half := x.Type.Rank() / 2
		n := types.Count(s[:half])
		if n*n != x.Type.Elements() {
			compose.Fail("operand %s", x.Type)
		}
		return c.Reshape(c.Apply(ops.Take, ops.TakeAttrs{}, c.Reshape(x, n*n), c.Scaled(c.Arange(n), float64(n+1))), s[:half]...)
	}
	batch, rows, columns := s[:len(s)-2], s[len(s)-2], s[len(s)-1]
	n := min(rows, columns)
	flat := c.Reshape(x, append(slices.Clone(batch), rows*columns)...)
	return c.Apply(ops.Take, ops.TakeAttrs{Axis: len(batch)}, flat, c.Scaled(c.Arange(n), float64(columns+1)))
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

// mainDiagonal is f where operand i says that the main diagonal is meant, of matrices that are no greater than it.
func mainDiagonal(i int, f func(c *call) *graph.Value) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("align") // of several diagonals
		for _, k := range c.KnownInts(i, "the diagonal") {
			if k != 0 {
				compose.Fail("diagonal %d is not supported; the main one is", k)
			}
		}
		if c.Node.Op == "MatrixDiagV2" || c.Node.Op == "MatrixDiagV3" {
			n := c.Shape(0)[max(c.Rank(0)-1, 0)]
			for at, what := range []string{"the rows", "the columns"} {
				if v := c.KnownInt(2+at, what); v != -1 && v != n {
					compose.Fail("%s of a diagonal of %d are %d, which is not supported", what, n, v)
				}
			}
		}
		return f(c.with(c.In[:i]...))
	}
}

// matrixBandPart keeps so many diagonals below and above the main one; negative numbers keep all.
func matrixBandPart(c *call) *graph.Value {
	c.WantRank(0, 2)
	x, below, above := c.X(0), c.KnownInt(1, "the number of diagonals below"), c.KnownInt(2, "the number of diagonals above")
	if below >= 0 {
		x = c.Apply(ops.Trilu, ops.TriluAttrs{Upper: true, K: -below}, x)
	}
	if above >= 0 {
		x = c.Apply(ops.Trilu, ops.TriluAttrs{K: above}, x)
	}
	return x
}

// least and most are the bounds of a type.
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
