package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// foldScaleAxis moves a per-channel scale after a convolution into its weights and bias:
// multiply(conv(x, w, b), s) becomes conv(x, w*s, b*s). A scale before a convolution goes into its weights too.
func foldScaleAxis(c *Context) error {
	foldScaleForward(c.Graph)
	users := c.Graph.Users()
	outs := map[*graph.Value]bool{}
	for _, o := range c.Graph.Outputs {
		outs[o] = true
	}
	for _, n := range c.Graph.Nodes {
		if n.Op != ops.Multiply {
			continue
		}
		data, scale := constOperand(n)
		if scale == nil || data.Def == nil || outs[data] || len(users[data]) != 1 || !n.Out[0].Type.Equal(data.Type) {
			continue
		}
		conv := data.Def
		if _, ok := conv.Attrs.(ops.ConvAttrs); !ok || !conv.In[1].IsConst() || len(conv.In) == 3 && !conv.In[2].IsConst() || !isConv(conv.Op) {
			continue
		}
		s := perChannel(scale.Const, conv.Out[0].Type.Shape)
		if s == nil {
			continue
		}
		w := conv.In[1].Const
		shape := make([]int, len(w.Shape))
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = s.Shape[0]
		conv.In[1] = multiplied(conv.In[1], s.Reshape(shape...))
		if len(conv.In) == 3 {
			conv.In[2] = multiplied(conv.In[2], s)
		}
		conv.Origin = append(conv.Origin, n.Origin...)
		c.Graph.Replace(n.Out[0], conv.Out[0])
		users = c.Graph.Users()
	}
	c.Graph.DeadCode()
	return nil
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
			copy(v.Data[i*t.DType.Size():], t.Data)
		}
		return v
	case axis >= 0 && t.Len() == channels && t.Shape[axis] == channels:
		return t.Reshape(channels)
	}
	return nil
}

func multiplied(v *graph.Value, by *tensor.Tensor) *graph.Value {
	out := tensor.New(v.Const.DType, v.Const.Shape...)
	if err := ops.Multiply.Eval(op.None{}, []*tensor.Tensor{v.Const, by}, []*tensor.Tensor{out}); err != nil {
		panic(err)
	}
	return graph.NewConst(v.Name, out)
}
