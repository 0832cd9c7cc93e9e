package tfops

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Gather looks up slices along an axis; the first batch_dims axes of both operands go together.
func Gather(c *frontend.Call, axis int) *graph.Value {
	x, index, batch := c.X(0), c.Cast(c.X(1), types.I64), c.Int("batch_dims", 0)
	if batch < 0 {
		batch += index.Type.Rank()
	}
	return c.TakeBatched(x, index, frontend.Axis(axis, x.Type.Rank()), batch)
}

func GatherND(c *frontend.Call) *graph.Value {
	c.Ignore("bad_indices_policy")
	return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.X(0), c.Cast(c.X(1), types.I64))
}

// OneHot has the axis where the attribute says, or at one that holds where it is absent.
func OneHot(c *frontend.Call, absent int) *graph.Value {
	a := ops.OneHotAttrs{Depth: c.KnownInt(1, "the depth"), Axis: frontend.Axis(c.Int("axis", absent), c.Rank(0)+1)}
	index := c.Cast(c.X(0), types.I64)
	// A negative index sets nothing, while the operator counts it from the end.
	index = c.Do(ops.Where, c.Do(ops.Less, index, compose.Like(index, 0)), compose.Like(index, float64(a.Depth)), index)
	return c.Apply(ops.OneHot, a, index, c.Scalar(c.X(2)), c.Scalar(c.X(3)))
}

// ScatterND adds the updates of one place.
func ScatterND(c *frontend.Call) *graph.Value {
	c.Ignore("bad_indices_policy")
	updates := c.X(1)
	zeros := c.Full(updates.Type.DType, 0, c.KnownInts(2, "the shape")...)
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, zeros, c.Cast(c.X(0), types.I64), updates)
}

// TopK gives the k greatest elements of the last axis, and their places.
func TopK(c *frontend.Call, k int, places types.DType) []*graph.Value {
	c.WantRank(0, 1)
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: c.Rank(0) - 1, Largest: true}, c.X(0))
	return []*graph.Value{out[0], c.Cast(out[1], places)}
}

// SparseToDense has places, a shape, values and the default as operands.
func SparseToDense(c *frontend.Call) *graph.Value {
	return c.Scattered(c.KnownInts(1, "the shape"), c.X(0), c.X(2), c.Scalar(c.X(3)))
}

func Bucketize(c *frontend.Call) *graph.Value {
	return c.Bucketize(c.X(0), c.Floats("boundaries"))
}

func MatrixDiag(c *frontend.Call) *graph.Value {
	c.WantRank(0, 1)
	return c.OnDiagonal(c.X(0))
}

func MatrixSetDiag(c *frontend.Call) *graph.Value {
	c.WantRank(0, 2)
	return c.SetDiagonal(c.X(0), c.X(1))
}

// Segments joins the rows of each segment, whose numbers are known; operand 2, where there is one, says how many there are. Rows with
// negative numbers are left out.
func Segments(d *op.Def, empty func(types.DType) float64) func(c *frontend.Call) *graph.Value {
	return func(c *frontend.Call) *graph.Value {
		x, ids, rank := c.X(0), c.KnownInts(1, "the segments"), c.Rank(1)
		if rank > x.Type.Rank() || !slices.Equal(x.Type.Shape[:rank], c.Shape(1)) || len(ids) == 0 {
			compose.Fail("%d segment numbers of %s", len(ids), x.Type)
		}
		n := slices.Max(ids) + 1
		if c.Present(2) {
			n = c.KnownInt(2, "the number of segments")
		}
		x = c.Reshape(x, append([]int{len(ids)}, x.Type.Shape[rank:]...)...)
		return c.Segments(d, x, ids, n, empty(x.Type.DType))
	}
}

// Zero and One are what a sum and a product of no rows are.
func Zero(types.DType) float64 { return 0 }
func One(types.DType) float64  { return 1 }
