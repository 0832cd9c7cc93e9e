package quant

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// realize makes g, a copy of the network whose values to has, what choices describe: a pair of quantize and dequantize behind every
// point, and dequantized integers for the weights and biases of layers. Outputs and what is no point stay float.
func (s *static) realize(g *graph.Graph, to map[*graph.Value]*graph.Value, c *choices) error {
	r := rewrite.New(g)
	at := map[*graph.Value]Params{}
	for i, p := range s.points {
		if c.params[i].Scale != 0 {
			at[p.value] = c.params[i]
		}
	}
	for _, p := range s.points {
		if params, ok := at[p.value]; ok {
			realizePoint(r, g, to[p.value], params, s.numbers)
		}
	}
	for i, l := range s.layers {
		copied := *l
		copied.node = to[l.node.Out[0]].Def
		if l.add != nil {
			copied.add = to[l.add.Out[0]].Def
		}
		data, ok := at[l.node.In[0]]
		if !ok && !c.off[i] {
			return fmt.Errorf("layer %q: its data are no point", l.name())
		}
		if c.off[i] {
			leaveLayer(r, &copied, c.weights[i], c.biases[i])
			continue
		}
		inside, behind := biasesOf(&copied, c.biases[i])
		realizeLayer(r, &copied, s.rounded(c, i, inside, data.Scale), behind)
	}
	return r.Finish()
}

func realizePoint(r *rewrite.Rewriter, g *graph.Graph, v *graph.Value, p Params, n numbers) {
	readers := slices.Clone(r.Users(v))
	if len(readers) == 0 {
		return
	}
	if v.Def == nil {
		r.Before(g.Nodes[0])
		r.From()
	} else {
		r.Behind(v.Def)
	}
	scale, z := p.constants(v.Name, n.dtype)
	q := r.Apply(ops.Quantize, ops.QuantizeAttrs{OutDType: n.dtype, Rounding: ops.HalfEven}, v, scale, z)
	q.Name = v.Name + "_quantized"
	y := r.Apply(ops.Dequantize, ops.DequantizeAttrs{}, q, scale, z)
	y.Name = v.Name + "_dequantized"
	replaceReaders(r, readers, v, y)
}

// replaceReaders makes nodes read y where they read v.
func replaceReaders(r *rewrite.Rewriter, readers []*graph.Node, v, y *graph.Value) {
	for _, u := range readers {
		for k, x := range u.In {
			if x == v {
				r.SetOperand(u, k, y)
			}
		}
	}
}

// biasesOf divides a layer's bias into that of a convolution, which is an operand, and that of other layers, which is an addition of its
// own; nil for none.
func biasesOf(l *layer, bias *tensor.Tensor) (inside, behind *tensor.Tensor) {
	switch {
	case l.bias == nil && allZero(bias):
		return nil, nil
	case isConv(l.node):
		return bias, nil
	}
	return nil, bias
}

// leaveLayer gives a layer that stays float the weights and the bias that it has by now.
func leaveLayer(r *rewrite.Rewriter, l *layer, weight, bias *tensor.Tensor) {
	n := l.node
	inside, behind := biasesOf(l, bias)
	in := []*graph.Value{n.In[0], graph.NewConst(n.In[1].Name, weight)}
	if inside != nil {
		in = append(in, graph.NewConst(biasName(n), inside))
	}
	r.Change(n, n.Op, n.Attrs, in...)
	realizeSum(r, l, behind)
}

// realizeLayer makes the operands of a layer integers that are dequantized. The bias of a convolution is one of int32; that of other
// layers, which is behind them, stays float in the kernel's registers.
func realizeLayer(r *rewrite.Rewriter, l *layer, q *quantisedWeights, behind *tensor.Tensor) {
	n := l.node
	r.Before(n)
	name := n.In[1].Name
	scale := graph.NewConst(name+"_scale", tensor.Of([]int{len(q.scale)}, q.scale))
	w := r.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: l.axis}, graph.NewConst(name, q.weight), scale, zeros(types.I8, name+"_zero_point", len(q.scale)))
	w.Name = name + "_dequantized"
	if q.bias != nil {
		name := biasName(n)
		b := r.Apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst(name, q.bias), graph.NewConst(name+"_scale", tensor.Of([]int{len(q.biasScale)}, q.biasScale)))
		b.Name = name + "_dequantized"
		r.Change(n, n.Op, n.Attrs, n.In[0], w, b)
		return
	}
	if isConv(n) {
		r.Change(n, n.Op, n.Attrs, n.In[0], w)
		return
	}
	r.SetOperand(n, 1, w)
	realizeSum(r, l, behind)
}

// biasName is what the bias of a convolution is called.
func biasName(n *graph.Node) string {
	if len(n.In) == 3 && n.In[2].Name != "" {
		return n.In[2].Name
	}
	return n.Out[0].Name + "_bias"
}

// realizeSum gives a dense layer its bias; nil for none.
func realizeSum(r *rewrite.Rewriter, l *layer, bias *tensor.Tensor) {
	switch {
	case bias == nil:
	case l.add != nil:
		for k, x := range l.add.In {
			if x.IsConst() {
				r.SetOperand(l.add, k, graph.NewConst(x.Name, bias))
			}
		}
	default:
		v := l.node.Out[0]
		readers := slices.Clone(r.Users(v))
		r.Behind(l.node)
		y := r.Apply(ops.Add, op.None{}, v, graph.NewConst(v.Name+"_bias", bias))
		replaceReaders(r, readers, v, y)
		if r.IsOutput(v) {
			r.ReplaceOutput(v, y)
		} else {
			y.Name = v.Name + "_corrected"
		}
	}
}

func zeros(d types.DType, name string, n int) *graph.Value {
	return graph.NewConst(name, tensor.New(d, n))
}

func allZero(t *tensor.Tensor) bool {
	for i := range t.Len() {
		if t.Float(i) != 0 {
			return false
		}
	}
	return true
}
