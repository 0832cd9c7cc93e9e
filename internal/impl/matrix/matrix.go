// Package matrix computes products of bytes by registers of matrices, where the target has them: a tile of 32-bit sums takes the products
// of 16 rows of data and 16 columns of weights with one instruction for each 64 elements that are summed.
package matrix

import (
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Algorithm offers itself for products by constant weights, and makes the kernels of groups around them.
var Algorithm = impl.Algorithm{
	Ways:    ways,
	Anchors: map[*op.Def]func(impl.Anchor) (*impl.Plan, error){ops.QnnMatmul: dense, ops.QnnConv2d: conv},
	Decisions: []impl.DecisionInfo{
		{Name: "blocks", Owner: "matrix", Doc: "into how many pieces the rows of a product are cut, each of which meets one panel of weights after the other"},
		{Name: "sum_parts", Owner: "matrix", Doc: "in how many parts the sums of a piece of work are made, one of which all of its rows take before the next"},
		{Name: "overlap_epilogue", Owner: "matrix", Doc: "whether the rest of the group is computed of a block of sums while the next block is summed", Prefer: "`on` where the rest has an exponential or a function of that kind, and sums have several steps"},
		{Name: "line_strips", Owner: "matrix", Doc: "into how many strips the lines of an image are cut"},
		{Name: "panel_parts", Owner: "matrix", Doc: "among how many pieces of work the panels of weights are divided that meet a strip"},
	},
}
