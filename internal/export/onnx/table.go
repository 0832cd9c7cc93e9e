package onnx

import (
	"slices"

	"lathe/internal/op"
)

// A row says how an operator of the graph is written.
type row struct {
	op    *op.Def
	write func(c *call)
}

// table lists every operator that ONNX can say; each family stands with its functions. It mirrors the table of
// frontend/onnx.
var table = slices.Concat(elementwiseRows, reduceRows, moveRows, indexRows, nnRows, quantRows)

var byOperator = func() map[*op.Def]func(c *call) {
	m := map[*op.Def]func(c *call){}
	for _, r := range table {
		m[r.op] = r.write
	}
	return m
}()

// since is the version of ai.onnx that brought an operator, in the meaning it is written in here, where that is newer
// than leastOpset.
var since = map[string]int{
	"AffineGrid": 20, "GridSample": 20, "GroupNormalization": 21, "RMSNormalization": 23, "TensorScatter": 24, "CumProd": 26,
}
