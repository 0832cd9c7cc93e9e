package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
)

var einsumRows = []row{{"Einsum", "", 12, one(einsum)}, {"Det", "", 11, one(det)}}

func einsum(c *call) *graph.Value { return c.Einsum(c.Str("equation", ""), c.All()...) }

// det expands determinants by minors, which is for small matrices only.
func det(c *call) *graph.Value {
	x := c.X(0)
	rank := x.Type.Rank()
	if rank < 2 || x.Type.Shape[rank-1] != x.Type.Shape[rank-2] {
		compose.Fail("operand %s is no square matrix", x.Type)
	}
	if n := x.Type.Shape[rank-1]; n < 1 || n > 4 {
		compose.Fail("the determinant of matrices of extent %d is not supported; 1 to 4 are", n)
	}
	return c.Det(x)
}
