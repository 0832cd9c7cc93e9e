package tensorflow

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// TensorFlow has no convolutions with a bias: it is added by a node behind them. Such a sum becomes an operand of the convolution, as other
// formats have it, so that a network has the same kernels whatever format it comes from.

// convolutions are the operators that take a bias for each channel.
var convolutions = []*op.Def{ops.Conv2d, ops.Conv3d, ops.Conv2dTranspose, ops.Conv3dTranspose}

// sum is x + b, of which b may be the bias of the convolution that x is.
func (c *call) sum(x, b *graph.Value) *graph.Value {
	for i, pair := range [][2]*graph.Value{{x, b}, {b, x}} {
		if y := c.biased(i, pair[0], pair[1]); y != nil {
			return y
		}
	}
	return c.Do(ops.Add, x, b)
}

// biased is the convolution that operand i is with a bias, or nil where it is none, b is no number for each of its channels, or something else reads
// it as well, for which it would be computed twice.
func (c *call) biased(i int, x, b *graph.Value) *graph.Value {
	if x.Def == nil || b.Value() == nil || !c.Node.Attrs.(attributes).sole(i) {
		return nil
	}
	n, channel := x.Def, 1
	var moved *graph.Node
	if n.Op == ops.Transpose && n.In[0].Def != nil {
		moved, n, channel = n, n.In[0].Def, x.Type.Rank()-1
	}
	if !slices.Contains(convolutions, n.Op) || len(n.In) != 2 || b.Type.DType != x.Type.DType {
		return nil
	}
	if moved != nil && !channelsToLast(moved) {
		return nil
	}
	from := x.Type.Rank() - b.Type.Rank() // the axis of x that b begins with
	if channel < from {
		return nil
	}
	for k, d := range b.Type.Shape {
		if want := x.Type.Shape[from+k]; from+k == channel && d != want || from+k != channel && d != 1 {
			return nil
		}
	}
	y := c.Apply(n.Op, n.Attrs, n.In[0], n.In[1], c.Reshape(b, b.Type.Elements()))
	if moved != nil {
		y = c.Apply(moved.Op, moved.Attrs, y)
	}
	return y
}

// channelsToLast reports whether a transpose brings channels from behind the batch to the end.
func channelsToLast(n *graph.Node) bool {
	axes := n.Attrs.(ops.TransposeAttrs).Axes
	for k, a := range axes {
		want := k + 1
		switch k {
		case 0:
			want = 0
		case len(axes) - 1:
			want = 1
		}
		if a != want {
			return false
		}
	}
	return len(axes) > 2
}
