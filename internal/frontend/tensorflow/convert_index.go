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

var indexRows = []row{
	{"Gather", one(gather)}, {"GatherV2", one(gather)}, {"ResourceGather", one(gather)}, {"GatherNd", shared(tfops.GatherND)}, {"ResourceGatherNd", shared(tfops.GatherND)}, {"OneHot", one(func(c *call) *graph.Value { return tfops.OneHot(c.Call, -1) })},
	{"ScatterNd", shared(tfops.ScatterND)}, {"TensorScatterUpdate", scatter("none")}, {"TensorScatterAdd", scatter("add")}, {"TensorScatterMax", scatter("max")}, {"TensorScatterMin", scatter("min")},
	{"TensorScatterSub", one(func(c *call) *graph.Value {
		return scatter("add")(c.with(c.X(0), c.X(1), c.Do(ops.Negative, c.X(2))))[0]
	})},
	{"TopK", topK}, {"TopKV2", topK}, {"InTopK", one(inTopK)}, {"InTopKV2", one(inTopK)}, {"Where", one(func(c *call) *graph.Value { return c.Do(ops.ArgWhere, c.X(0)) })},
	{"SparseToDense", shared(tfops.SparseToDense)}, {"Bucketize", shared(tfops.Bucketize)}, {"Searchsorted", one(searchSorted)}, {"UpperBound", one(searchSorted)}, {"LowerBound", one(searchSorted)},
	{"MatrixDiag", shared(tfops.MatrixDiag)}, {"Diag", one(diag)}, {"MatrixDiagPart", shared(matrixDiagPart)}, {"DiagPart", shared(matrixDiagPart)}, {"MatrixSetDiag", shared(tfops.MatrixSetDiag)}, {"MatrixBandPart", one(matrixBandPart)},
	{"MatrixDiagV2", one(mainDiagonal(1, tfops.MatrixDiag))}, {"MatrixDiagV3", one(mainDiagonal(1, tfops.MatrixDiag))}, {"MatrixDiagPartV2", one(mainDiagonal(1, matrixDiagPart))},
	{"MatrixDiagPartV3", one(mainDiagonal(1, matrixDiagPart))}, {"MatrixSetDiagV2", one(mainDiagonal(2, tfops.MatrixSetDiag))}, {"MatrixSetDiagV3", one(mainDiagonal(2, tfops.MatrixSetDiag))},
}

func scatter(reduction string) func(c *call) values {
	return one(func(c *call) *graph.Value {
		c.Ignore("bad_indices_policy")
		return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: reduction}, c.X(0), c.Cast(c.X(1), types.I64), c.X(2))
	})
}

// topK has k as an operand, or in its first version as an attribute. Its results may be in any order without sorted; here they are in order.
// gather looks up slices along operand 2, or along the axis behind those of the batch.
func gather(c *call) *graph.Value {
	c.Ignore("dtype")
	if c.Present(2) {
		return tfops.Gather(c.Call, c.KnownInt(2, "the axis"))
	}
	return tfops.Gather(c.Call, max(c.Int("batch_dims", 0), 0))
}

func topK(c *call) values {
	c.Ignore("sorted")
	k := c.plainInt("k")
	if c.Present(1) {
		k = c.KnownInt(1, "k")
	}
	return tfops.TopK(c.Call, k, c.typeOf("index_type", types.I32))
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

// diag is it for all axes at once.
func diag(c *call) *graph.Value {
	x := c.X(0)
	n := x.Type.Elements()
	y := c.Do(ops.Where, c.Diagonal(n, n), c.Reshape(x, n, 1), compose.Like(x, 0))
	return c.Reshape(y, append(slices.Clone(x.Type.Shape), x.Type.Shape...)...)
}

// matrixDiagPart are the diagonals of matrices.
func matrixDiagPart(c *frontend.Call) *graph.Value {
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

// mainDiagonal is f where operand i says that the main diagonal is meant, of matrices that are no greater than it.
func mainDiagonal(i int, f func(c *frontend.Call) *graph.Value) func(c *call) *graph.Value {
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
		return f(c.With(c.In[:i]...))
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
