package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// maxExactTerms is the number of differences of two bytes, at most 255, whose sum float32 surely holds.
const maxExactTerms = 1 << 24 / 256

// integerAverage takes the scale of a dequantize from before an average to behind it. What is summed are whole numbers then,
// which float32 sums without rounding in whatever order a target takes them: results are the same on all targets. It is
// nil for other nodes.
//
//	mean((x - z)*s)  →  mean((x - z)*1) * s
func integerAverage(r *rewrite.Rewriter, n *graph.Node) *graph.Value {
	var terms int
	switch a := n.Attrs.(type) {
	case ops.ReduceAttrs:
		if n.Op != ops.Mean {
			return nil
		}
		terms = n.In[0].Type.Elements() / max(1, n.Out[0].Type.Elements())
	case ops.AvgPoolAttrs:
		terms = types.Count(a.PoolSize)
	default:
		return nil
	}
	data, scales, ok := dequantized(n.In[0])
	if !ok || len(scales) != 1 || scales[0] == 1 || data.In[0].Type.DType.Size() > 1 || n.Out[0].Type.DType != types.F32 ||
		terms > maxExactTerms {
		return nil
	}
	one := graph.NewConst("", tensor.Scalar[float32](1))
	in := append([]*graph.Value{data.In[0], one}, data.In[2:]...)
	sum := r.Apply(n.Op, n.Attrs, r.Apply(ops.Dequantize, ops.DequantizeAttrs{}, in...))
	return r.Apply(ops.Multiply, op.None{}, sum, graph.NewConst("", tensor.Scalar(scales[0])))
}
