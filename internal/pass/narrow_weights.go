package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// narrowWeights keeps the constant weights of matrix products as the integers or 16-bit floats that the model has, where reading
// them takes most of the time. They are widened in registers; their zero points are subtracted now, and their scales are factors
// of the columns of the result or of the data.
//
//	nn.matmul(x, dequantize(w, s))   →   multiply(nn.matmul(x, w), s)
func narrowWeights(c *Context) error {
	all := 0
	for _, v := range c.Graph.Constants() {
		all += v.Const.Size()
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if n.Op == ops.MatmulNBits {
			centre(r, n)
			return
		}
		if n.Op != ops.Dense && n.Op != ops.Matmul || n.Out[0].Type.DType != types.F32 || c.Target == nil || c.Target.Lanes(32) < 2 {
			return
		}
		columns := ops.ColumnsOf(n.Attrs)
		w, ok := weightOf(n.In[1], columns)
		if !ok {
			c.narrowBlocks(r, n, all)
			return
		}
		if n.Out[0].Type.Elements() == 0 {
			return
		}
		shape := n.In[1].Type.Shape
		taken, err := c.decide(n, algorithms.Table.WeightsDecision(c.Target, impl.Weights{
			Rows: n.Out[0].Type.Elements() / shape[columns], Columns: shape[columns], Depth: shape[1-columns],
			Type: w.numbers.DType, All: all, Digits: impl.DigitsOf(shape[1-columns], c.Level),
		}))
		if r.Fail(err); taken == "wide" {
			return
		}
		x := n.In[0]
		a, _ := n.Attrs.(ops.MatmulAttrs)
		if w.rows != nil {
			if a.TransposeA {
				w.rows = w.rows.Reshape(w.rows.Len(), 1)
			}
			x = r.Apply(ops.Multiply, op.None{}, x, graph.NewConst("", w.rows))
		}
		var y *graph.Value
		if taken == "digits" {
			if a.TransposeA {
				x = turned(r, x)
			}
			if columns == 0 {
				w.numbers = w.numbers.Transpose()
			}
			y = c.digitProduct(r, n, x, graph.NewConst(n.In[1].Name, w.numbers))
		} else {
			y = r.Apply(n.Op, n.Attrs, x, graph.NewConst(n.In[1].Name, w.numbers))
			y.Def.Impl = n.Impl // what is decided later is decided for the product
		}
		if w.columns != nil {
			y = r.Apply(ops.Multiply, op.None{}, y, graph.NewConst("", w.columns))
		}
		r.Replace(n.Out[0], y)
	})
}

// A narrowWeight is a constant matrix: numbers, times scales of its rows, whose indices are summed over, or of its columns; nil is 1.
type narrowWeight struct{ numbers, rows, columns *tensor.Tensor }

// weightOf recognises what widens a constant matrix to float32.
func weightOf(v *graph.Value, columns int) (w narrowWeight, ok bool) {
	n := v.Def
	if n == nil || len(v.Type.Shape) != 2 || v.Type.DType != types.F32 {
		return w, false
	}
	switch n.Op {
	case ops.Transpose:
		if w, ok = weightOf(n.In[0], 1-columns); ok {
			w.numbers, ok = transposedBy(w.numbers, n)
		}
		return w, ok
	case ops.Cast:
		if t := numbersOf(n.In[0]); t != nil {
			return narrowWeight{numbers: t}, true
		}
	case ops.Dequantize:
		if t := numbersOf(n.In[0]); t != nil && constOperands(n.In[1:]) {
			return scaledWeight(n, t, columns)
		}
	}
	return w, false
}

// numbersOf is a constant matrix of numbers that are narrower than float32, or the transpose of one; nil for all else.
func numbersOf(v *graph.Value) (t *tensor.Tensor) {
	d := v.Type.DType
	switch {
	case d.Size() >= types.F32.Size() || d == types.Bool:
	case v.IsConst():
		return v.Const
	case v.Def != nil && v.Def.Op == ops.Transpose && v.Def.In[0].IsConst():
		t, _ = transposedBy(v.Def.In[0].Const, v.Def)
	}
	return t
}

// transposedBy is t as node n transposes it.
func transposedBy(t *tensor.Tensor, n *graph.Node) (*tensor.Tensor, bool) {
	y := tensor.New(t.DType, n.Out[0].Type.Shape...)
	if n.Op.Eval(n.Attrs, []*tensor.Tensor{t}, []*tensor.Tensor{y}) != nil {
		return nil, false
	}
	return y, true
}

// scaledWeight is the constant result of n, which scales numbers; ok is false where scales belong to parts of columns.
func scaledWeight(n *graph.Node, numbers *tensor.Tensor, columns int) (w narrowWeight, ok bool) {
	a, scale := n.Attrs.(ops.DequantizeAttrs), n.In[1].Const
	switch {
	case scale.Len() == 1 && len(scale.Shape) < 2:
		w.columns = scale.Reshape()
	case a.BlockSize > 0:
		return w, false
	case a.Axis == columns:
		w.columns = scale
	default:
		w.rows = scale
	}
	zero := tensor.New(types.I64, 1)
	if len(n.In) > 2 {
		zero = n.In[2].Const
	}
	w.numbers, ok = withoutZeroPoint(numbers, zero, a)
	return w, ok
}

// withoutZeroPoint is data less a zero point, of one element or of one for each index of an axis, in the narrowest type that holds
// all of it; ok is false where that is none.
func withoutZeroPoint(data, zero *tensor.Tensor, a ops.DequantizeAttrs) (t *tensor.Tensor, ok bool) {
	if zero.Len() > 1 && a.BlockSize > 0 {
		return nil, false
	}
	each, used := types.Count(data.Shape[a.Axis+1:]), false
	list, least, most := make([]int32, data.Len()), int64(0), int64(0)
	for i := range list {
		z := int64(0)
		if zero.Len() == 1 {
			z = zero.Int(0)
		} else {
			z = zero.Int(i / each % zero.Len())
		}
		used = used || z != 0
		x := data.Int(i) - z
		list[i], least, most = int32(x), min(least, x), max(most, x)
	}
	if !used {
		return data, true
	}
	for _, d := range []types.DType{types.I4, types.I8, types.U8, types.I16, types.U16} {
		if lo, hi := d.IntRange(); lo <= least && most <= hi && (data.DType.IsNibble() || !d.IsNibble()) {
			t = tensor.New(d, data.Shape...)
			for i, x := range list {
				t.SetInt(i, int64(x))
			}
			return t, true
		}
	}
	return nil, false
}
