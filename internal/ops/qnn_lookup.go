package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// LookupEntries are the numbers that a byte has. A table has LookupRoom elements, a line of a cache more, so that what loads 32 bits at the last of
// them reads none behind it.
const (
	LookupEntries = 256
	LookupRoom    = LookupEntries + 64
)

// QnnLookup computes any function of a byte.
var QnnLookup = op.Define(op.Spec[op.None]{
	Name: "qnn.lookup",
	Doc: "qnn.lookup gives for each byte of data an element of a table: the first of uint8 0 or int8 -128, the last of 256 of 255 or 127. " +
		"The elements of the table behind that are not used.",
	Args:   []string{"data", "table"},
	Fusion: op.Elementwise,
	Layout: op.Free,

	Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
		data, table := in[0], in[1]
		if !slices.Contains(byteTypes, data.DType) || !slices.Contains(byteTypes, table.DType) {
			return nil, fmt.Errorf("data %s or table %s is not of bytes", data, table)
		}
		if len(table.Shape) != 1 || table.Shape[0] != LookupRoom {
			return nil, fmt.Errorf("table %s is not of %s", table, spelling.Count(LookupRoom, "element"))
		}
		return []types.Tensor{types.Of(table.DType, data.Shape...)}, nil
	},
	Eval: func(_ op.None, in, out []*tensor.Tensor) error {
		lo, _ := in[0].DType.IntRange()
		for i := range in[0].Len() {
			out[0].SetInt(i, in[1].Int(int(in[0].Int(i)-lo)))
		}
		return nil
	},
	Compute: func(_ op.None, in []*te.Stage, out []types.Tensor) []*te.Stage {
		lo, _ := in[0].Type.DType.IntRange()
		return []*te.Stage{te.Compute("lookup", out[0], func(i []expr.Expr) expr.Expr {
			return in[1].At(expr.Sub(expr.CastTo(types.I64, in[0].At(i...)), expr.Index(int(lo))))
		})}
	},
	Axes: func(a op.None, in []types.Tensor) *op.Axes { return orderData(in, func([]int) any { return a }) },
	Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
		d := draw{r}
		return op.None{}, []types.Tensor{types.Of(d.dtype(byteTypes...), d.shape(1, 4)...), types.Of(d.dtype(byteTypes...), LookupRoom)}
	},
})

// byteTypes are the integers of 8 bits.
var byteTypes = []types.DType{types.U8, types.I8}
