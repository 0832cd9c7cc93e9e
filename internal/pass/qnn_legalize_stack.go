package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// stackAxis is the axis along which weights are a stack of at most mostSeparated matrices; ok is false where they are a single one, or stacked along several axes.
func stackAxis(shape []int) (axis int, ok bool) {
	n := len(shape) - 2
	if n < 1 {
		return 0, false
	}
	axis = slices.IndexFunc(shape[:n], func(d int) bool { return d > 1 })
	if axis < 0 || types.Count(shape[:n]) != shape[axis] || shape[axis] > mostSeparated {
		return 0, false
	}
	return axis, true
}

// separateStack makes a product of its own of each matrix of a constant stack of bytes, as dot products and registers of matrices take one matrix. Zero points are those of all
// matrices, one or one of each column.
//
//	qnn.matmul(x[8, m, k], w[8, k, n])   →   concatenate(qnn.matmul(x[0], w[0]), qnn.matmul(x[1], w[1]), ...)
func separateStack(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.QnnMatmul || !n.In[2].IsConst() || n.In[1].Type.Elements() != 1 || n.In[2].Type.DType.Size() > 1 || n.In[2].Type.DType.IsNibble() {
		return
	}
	w, y, zero := n.In[2].Type.Shape, n.Out[0].Type.Shape, n.In[3].Type
	axis, ok := stackAxis(w)
	if !ok || types.Count(y) == 0 || zero.Elements() != 1 && zero.Rank() != 1 {
		return
	}
	behind := len(w) - axis // axes from that of the stack to the last
	part := func(v *graph.Value, i int) *graph.Value {
		at := v.Type.Rank() - behind
		if at < 0 || v.Type.Shape[at] == 1 {
			return v
		}
		return partOf(r, v, at, i, 1)
	}
	rows, columns := w[len(w)-2], w[len(w)-1]
	matrix := func(i int) *graph.Value {
		t := tensor.New(n.In[2].Type.DType, rows, columns)
		copy(t.Bytes(), n.In[2].Const.Bytes()[i*t.Size():])
		return graph.NewConst(n.In[2].Name, t)
	}
	shaped := func(v *graph.Value, shape []int) *graph.Value {
		if slices.Equal(v.Type.Shape, shape) {
			return v
		}
		return r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
	}
	one := slices.Clone(y)
	one[len(y)-behind] = 1
	products := make([]*graph.Value, w[axis])
	for i := range products {
		product := r.Apply(n.Op, op.None{}, part(n.In[0], i), n.In[1], matrix(i), n.In[3])
		product.Def.Impl = n.Impl
		products[i] = shaped(product, one)
	}
	r.Replace(n.Out[0], r.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: len(y) - behind}, products...))
}
