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

// GatherNDAttrs are the attributes of gather_nd.
type GatherNDAttrs struct{ BatchDims int }

// GatherND looks up slices of data by coordinates, which lie along the last axis of indices as in ONNX (Relay has them
// along the first).
var GatherND = op.Define(op.Spec[GatherNDAttrs]{
	Name:   "gather_nd",
	Doc:    "gather_nd looks up slices of data: the last axis of indices holds coordinates of the axes behind the batch_dims shared ones.",
	Args:   []string{"data", "indices"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a GatherNDAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, indices := in[0], in[1]
		if err := indexOperand("indices", indices.Tensor); err != nil {
			return nil, err
		}
		q := indices.Rank()
		if q < 1 || a.BatchDims < 0 || a.BatchDims >= q || a.BatchDims > data.Rank() {
			return nil, fmt.Errorf("indices %s into %s with %s", indices, data, spelling.Count(a.BatchDims, "batch axis"))
		}
		if !slices.Equal(data.Shape[:a.BatchDims], indices.Shape[:a.BatchDims]) {
			return nil, fmt.Errorf("data %s and indices %s differ in the first %s", data, indices, spelling.Count(a.BatchDims, "axis"))
		}
		end := a.BatchDims + indices.Shape[q-1]
		if end > data.Rank() {
			return nil, fmt.Errorf("indices %s hold %d coordinates, more than %s has axes behind %d", indices, indices.Shape[q-1], data, a.BatchDims)
		}
		t := types.Of(data.DType, slices.Concat(indices.Shape[:q-1], data.Shape[end:])...)
		if data.Elements() == 0 && t.Elements() > 0 {
			return nil, fmt.Errorf("data %s is empty: there is nothing to gather", data)
		}
		return []types.Tensor{t}, nil
	},
	Eval: func(a GatherNDAttrs, in, out []*tensor.Tensor) error {
		data, indices := in[0], in[1]
		last := len(indices.Shape) - 1
		rearrange(out[0], data, func(at []int) []int {
			from := slices.Clone(at[:a.BatchDims])
			for c := range indices.Shape[last] {
				index := indices.Int(offsetOf(indices.Shape, slices.Concat(at[:last], []int{c})))
				from = append(from, wrapIndex(int(index), data.Shape[a.BatchDims+c]))
			}
			return append(from, at[last:]...)
		})
		return nil
	},
	Compute: func(a GatherNDAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		data, indices := in[0], in[1]
		last := len(indices.Type.Shape) - 1
		return []*te.Stage{te.Compute("gather_nd", out[0], func(i []expr.Expr) expr.Expr {
			from := slices.Clone(i[:a.BatchDims])
			for c := range indices.Type.Shape[last] {
				index := indices.At(slices.Concat(i[:last], []expr.Expr{expr.Index(c)})...)
				from = append(from, wrapIndexExpr(index, data.Type.Shape[a.BatchDims+c]))
			}
			return data.At(append(from, i[last:]...)...)
		})}
	},
	Sample: func(r *rand.Rand) (GatherNDAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.full(1, 4)
		batch := d.between(0, min(2, len(shape)-1))
		indices := slices.Concat(shape[:batch], d.shape(0, 2), []int{d.between(1, len(shape)-batch)})
		return GatherNDAttrs{batch}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(d.index(), indices...)}
	},
})
