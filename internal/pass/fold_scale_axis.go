package pass

import (
	"encoding/binary"
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// foldScaleAxis moves a per-channel scale after a convolution into its weights and bias:
// multiply(conv(x, w, b), s) becomes conv(x, w*s, b*s). A scale before a convolution goes into its weights too.
func foldScaleAxis(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) { foldScaleForward(r, n, c.ConstantWeights) }, foldScaleBackward)
}

func foldScaleBackward(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Multiply {
		return
	}
	data, scale := constOperand(n)
	if scale == nil || data.Def == nil || r.Reader(data) == nil || !n.Out[0].Type.Equal(data.Type) {
		return
	}
	conv := data.Def
	if !isConv(conv.Op) || !constOperands(conv.In[1:]) {
		return
	}
	s := perChannel(scale.Const, data.Type.Shape)
	if s == nil {
		return
	}
	in := slices.Clone(conv.In)
	shape := slices.Repeat([]int{1}, in[1].Type.Rank())
	shape[0] = s.Shape[0]
	in[1] = multiplied(in[1], s.Reshape(shape...))
	if len(in) == 3 {
		in[2] = multiplied(in[2], s)
	}
	r.Change(conv, conv.Op, conv.Attrs, in...)
	r.Merge(n, conv)
}

func isConv(d *op.Def) bool { return slices.Contains(ops.Conv[:], d) }

// constOperand returns the two operands of a commutative node when one is a constant.
func constOperand(n *graph.Node) (data, constant *graph.Value) {
	switch {
	case n.In[1].IsConst():
		return n.In[0], n.In[1]
	case n.In[0].IsConst():
		return n.In[1], n.In[0]
	}
	return nil, nil
}

// perChannel returns the vector of axis-1 values of a constant that broadcasts over a tensor of the given shape and
// varies along axis 1 at most, or nil.
func perChannel(t *tensor.Tensor, shape []int) *tensor.Tensor {
	channels := shape[1]
	switch axis := len(t.Shape) - (len(shape) - 1); {
	case t.Len() == 1:
		v := tensor.New(t.DType, channels)
		for i := range channels {
			copy(v.Bytes()[i*t.DType.Size():], t.Bytes())
		}
		return v
	case axis >= 0 && t.Len() == channels && t.Shape[axis] == channels:
		return t.Reshape(channels)
	}
	return nil
}

func multiplied(v *graph.Value, by *tensor.Tensor) *graph.Value {
	out := tensor.New(v.Const.DType, v.Const.Shape...)
	if !scaled(out, v.Const, by) {
		if err := ops.Multiply.Eval(op.None{}, []*tensor.Tensor{v.Const, by}, []*tensor.Tensor{out}); err != nil {
			panic(err)
		}
	}
	return graph.NewConst(v.Name, out)
}

// scaled writes x times by, which varies along the first axis of x only, to out, and reports whether it could: the definition of the
// operator finds the place of each of many millions of elements anew.
func scaled(out, x, by *tensor.Tensor) bool {
	if x.DType != types.F32 || by.DType != types.F32 || len(x.Shape) == 0 || len(by.Shape) != len(x.Shape) || by.Shape[0] != x.Shape[0] || by.Len() != x.Shape[0] {
		return false
	}
	each := 4 * types.Count(x.Shape[1:])
	for c := range by.Len() {
		scale := float32(by.Float(c))
		from, to := x.Bytes()[c*each:(c+1)*each], out.Bytes()[c*each:(c+1)*each]
		for i := 0; i < each; i += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(from[i:]))
			binary.LittleEndian.PutUint32(to[i:], math.Float32bits(v*scale))
		}
	}
	return true
}
