package pass

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// fakeQuantizationToInteger makes a convolution or dense layer between dequantize and quantize nodes compute on the
// integers themselves, as integer kernels do: scales leave the products and come back as one factor on the sum.
//
//	quantize(relu(conv((x-zx)*sx, w*sw) + b), sy)  →  quantize(relu((conv(x-zx, w) + b/(sx*sw)) * (sx*sw/sy)), 1)
//
// The integers are held in float32, where sums below 2^24 are exact, so that the exact ties of quantised arithmetic
// round as they do in integer kernels.
func fakeQuantizationToInteger(c *Context) error {
	q := &requantization{g: c.Graph, outs: map[*graph.Value]bool{}}
	for _, o := range c.Graph.Outputs {
		q.outs[o] = true
	}
	for _, n := range slices.Clone(c.Graph.Nodes) {
		q.nodes = append(q.nodes, n)
		if err := q.node(n); err != nil {
			return err
		}
	}
	c.Graph.Nodes = q.nodes
	c.Graph.DeadCode()
	return nil
}

type requantization struct {
	g     *graph.Graph
	nodes []*graph.Node
	outs  map[*graph.Value]bool
}

// node rewrites n when it is a convolution or dense layer of dequantized data and constant weights.
func (q *requantization) node(n *graph.Node) error {
	conv := isConv(n.Op)
	if !conv && n.Op != ops.Dense || n.Out[0].Type.DType != types.F32 {
		return nil
	}
	data, sx, ok := dequantized(n.In[0])
	if !ok || len(sx) != 1 {
		return nil
	}
	weight, sw, ok := dequantized(n.In[1])
	if !ok || weight.In[0].Value() == nil || weight.Attrs.(ops.DequantizeAttrs).Axis != 0 && len(sw) > 1 || weight.Attrs.(ops.DequantizeAttrs).BlockSize > 0 {
		return nil
	}
	channels := n.In[1].Type.Shape[0]
	factor := make([]float32, channels) // what the sum is multiplied by
	for i := range factor {
		factor[i] = sx[0] * sw[min(i, len(sw)-1)]
	}
	var bias []float32 // in units of the factor
	if len(n.In) == 3 {
		b := constant(n.In[2])
		if b == nil {
			return nil
		}
		for i := range channels {
			bias = append(bias, float32(math.RoundToEven(b.Float(i)/float64(factor[i]))))
			if math.Abs(float64(bias[i])*float64(factor[i])-b.Float(i)) > 1e-3*float64(factor[i]) {
				return nil // not a multiple: the model's bias is no quantised one
			}
		}
	}
	q.nodes = q.nodes[:len(q.nodes)-1]
	b := &builder{origin: n.Origin}
	shape := make([]int, len(n.Out[0].Type.Shape))
	for i := range shape {
		shape[i] = 1
	}
	axis := 1
	if !conv {
		axis = len(shape) - 1
	}
	shape[axis] = channels
	column := func(v []float32) *graph.Value { return graph.NewConst("", tensor.Of(shape, v)) }
	y := b.apply(n.Op, n.Attrs, b.unscaled(data), b.unscaled(weight))
	if bias != nil {
		y = b.apply(ops.Add, op.None{}, y, column(bias))
	}
	y = q.rescale(b, n, y, factor, column)
	if b.err != nil {
		return b.err
	}
	q.nodes = append(q.nodes, b.nodes...)
	y.Name = n.Out[0].Name
	q.g.Replace(n.Out[0], y)
	return nil
}

// rescale multiplies the sum by its factor. Where the only reader, through a relu, is a quantize with one scale, the
// factor takes that scale in, and the quantize is left with 1: one rounding instead of two.
func (q *requantization) rescale(b *builder, n *graph.Node, y *graph.Value, factor []float32, column func([]float32) *graph.Value) *graph.Value {
	users := q.g.Users()
	v := n.Out[0]
	for !q.outs[v] && len(users[v]) == 1 && users[v][0].Op == ops.Relu {
		v = users[v][0].Out[0]
	}
	if !q.outs[v] && len(users[v]) == 1 && users[v][0].Op == ops.Quantize && users[v][0].In[0] == v {
		quantize := users[v][0]
		if s := constant(quantize.In[1]); s != nil && s.Len() == 1 && s.DType == types.F32 {
			scaled := slices.Clone(factor)
			for i := range scaled {
				scaled[i] /= float32(s.Float(0))
			}
			quantize.In = slices.Clone(quantize.In)
			quantize.In[1] = graph.NewConst("", tensor.Scalar[float32](1))
			factor = scaled
		}
	}
	return b.apply(ops.Multiply, op.None{}, y, column(factor))
}

// dequantized returns the dequantize node that v comes from and its constant scales.
func dequantized(v *graph.Value) (*graph.Node, []float32, bool) {
	if v.Def == nil || v.Def.Op != ops.Dequantize || v.Type.DType != types.F32 {
		return nil, nil, false
	}
	s := constant(v.Def.In[1])
	if s == nil {
		return nil, nil, false
	}
	scales := make([]float32, s.Len())
	for i := range scales {
		scales[i] = float32(s.Float(i))
	}
	return v.Def, scales, true
}

// constant returns the elements of a value that does not depend on inputs: a constant, or one dequantized or cast.
func constant(v *graph.Value) *tensor.Tensor {
	if t := v.Value(); t != nil {
		return t
	}
	n := v.Def
	if n == nil || n.Op != ops.Dequantize && n.Op != ops.Cast && n.Op != ops.Copy && n.Op != ops.Reshape {
		return nil
	}
	in := make([]*tensor.Tensor, len(n.In))
	for i, x := range n.In {
		if in[i] = constant(x); in[i] == nil {
			return nil
		}
	}
	out := tensor.NewOf(v.Type.With(""))
	if n.Op.Eval(n.Attrs, in, []*tensor.Tensor{out}) != nil {
		return nil
	}
	return out
}

// A builder applies operators, keeping the first error.
type builder struct {
	nodes  []*graph.Node
	origin []string
	err    error
}

func (b *builder) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n := &graph.Node{Op: d, Attrs: attrs, In: in, Origin: b.origin}
	if b.err == nil {
		b.err = n.Infer()
	}
	if b.err != nil {
		return in[0]
	}
	b.nodes = append(b.nodes, n)
	return n.Out[0]
}

// unscaled is the dequantize node's result divided by its scale: the integers less their zero point.
func (b *builder) unscaled(n *graph.Node) *graph.Value {
	in := slices.Clone(n.In)
	one := tensor.NewOf(n.In[1].Type.With(""))
	for i := range one.Len() {
		one.SetFloat(i, 1)
	}
	in[1] = graph.NewConst("", one)
	return b.apply(n.Op, n.Attrs, in...)
}
