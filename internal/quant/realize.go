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

// realize makes g, which it changes, the network that choices describe: a pair of quantize and dequantize behind every point, and
// dequantized integers for the weights and biases of layers. Outputs and what is no point stay float.
func realize(g *graph.Graph, list []*point, quantised []*layer, c *choices, n numbers, weights int) error {
	if len(g.Nodes) == 0 {
		return nil
	}
	r := rewrite.New(g)
	at := map[*graph.Value]Params{}
	for i, p := range list {
		at[p.value] = c.params[i]
	}
	data := make([]Params, len(quantised))
	for i, l := range quantised {
		p, ok := at[l.node.In[0]]
		if !ok {
			return fmt.Errorf("layer %q: its data are no point", l.name())
		}
		data[i] = p
	}
	for _, p := range list {
		realizePoint(r, g, p.value, at[p.value], n)
	}
	for i, l := range quantised {
		realizeLayer(r, l, c.weights[i], c.biases[i], data[i], weights)
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
	scale, zero := graph.NewConst(v.Name+"_scale", tensor.Scalar(p.Scale)), tensor.New(n.dtype)
	zero.SetInt(0, int64(p.Zero))
	z := graph.NewConst(v.Name+"_zero_point", zero)
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

// realizeLayer makes the operands of a layer integers that are dequantized. The bias of a convolution is one of int32; that of other
// layers, which is an addition of its own, stays float in the kernel's registers.
func realizeLayer(r *rewrite.Rewriter, l *layer, weight, bias *tensor.Tensor, data Params, most int) {
	n := l.node
	if l.bias == nil && allZero(bias) {
		bias = nil
	}
	inside := bias
	if !isConv(n) {
		inside = nil
	}
	q := quantiseWeights(weight, inside, l.axis, data.Scale, most)
	r.Before(n)
	name := n.In[1].Name
	scale := graph.NewConst(name+"_scale", tensor.Of([]int{len(q.scale)}, q.scale))
	w := r.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: l.axis}, graph.NewConst(name, q.weight), scale, zeros(types.I8, name+"_zero_point", len(q.scale)))
	w.Name = name + "_dequantized"
	if inside != nil {
		name := n.Out[0].Name + "_bias"
		if len(n.In) == 3 && n.In[2].Name != "" {
			name = n.In[2].Name
		}
		b := r.Apply(ops.Dequantize, ops.DequantizeAttrs{}, graph.NewConst(name, q.bias), graph.NewConst(name+"_scale", tensor.Of([]int{len(q.biasScale)}, q.biasScale)), zeros(types.I32, name+"_zero_point", len(q.biasScale)))
		b.Name = name + "_dequantized"
		r.Change(n, n.Op, n.Attrs, n.In[0], w, b)
		return
	}
	if isConv(n) {
		r.Change(n, n.Op, n.Attrs, n.In[0], w)
		return
	}
	r.SetOperand(n, 1, w)
	switch {
	case bias == nil:
	case l.add != nil:
		for k, x := range l.add.In {
			if x.IsConst() {
				r.SetOperand(l.add, k, graph.NewConst(x.Name, bias))
			}
		}
	default:
		v := n.Out[0]
		readers := slices.Clone(r.Users(v))
		r.Behind(n)
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
