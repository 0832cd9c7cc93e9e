package quant

import (
	"context"
	"errors"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// DynamicOptions say how a network is quantised whose activations have the ranges that they have in each run.
type DynamicOptions struct {
	Target   *target.Target
	Workers  int
	Least    int // weights of a layer that is taken; 0: all
	Progress func(phase string, done, total int)
}

// Dynamic makes the dense layers and matrix products of g with constant weights products of integers: weights of int8 with a scale for each column,
// data of uint8 by their own range, as ONNX's DynamicQuantizeLinear and MatMulInteger have it. It changes g. No samples are needed.
//
//	nn.matmul(x, w)   →   cast(qnn.matmul(quantize(x, s, z), z, W, 0)) * (s * scale of columns)
func Dynamic(ctx context.Context, g *graph.Graph, o DynamicOptions) (*Result, error) {
	if err := simplify(ctx, g, o.Target, o.Workers, "FoldConstant", "SimplifyExpr"); err != nil {
		return nil, err
	}
	res := &Result{Graph: g}
	r := rewrite.New(g)
	list, done := layers(g), map[*graph.Value]dynamicData{}
	taken := 0
	for i, l := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress("quantising", i, len(list))
		}
		switch {
		case isConv(l.node):
			l.why = "it is a convolution"
		case l.why == "" && len(l.node.In[0].Type.Shape) < 2:
			l.why = "its data are a vector"
		case l.why == "" && l.node.In[1].Type.Elements() < o.Least:
			l.why = "it has few weights"
		}
		row := LayerReport{Name: l.name(), Operator: l.node.Op.Name, Bits: 32, Why: l.why}
		if l.why == "" {
			taken++
			row.Bits = 8
			row.SQNR = dynamicLayer(r, g, l, done)
		}
		res.Layers = append(res.Layers, row)
	}
	if taken == 0 {
		return nil, errors.New("the network has no dense layer or matrix product with constant weights")
	}
	if err := r.Finish(); err != nil {
		return nil, err
	}
	if err := graph.Verify(g); err != nil {
		return nil, err
	}
	return res, nil
}

// dynamicData are integers that stand for data, with the scale and the zero point that they have in a run. Several layers share them.
type dynamicData struct{ integers, scale, zero *graph.Value }

// dynamicLayer replaces a layer by a product of integers, and returns how far its weights are from the quantised ones, in dB.
func dynamicLayer(r *rewrite.Rewriter, g *graph.Graph, l *layer, done map[*graph.Value]dynamicData) float64 {
	n, x := l.node, l.node.In[0]
	q := quantiseWeights(l.weight, nil, l.axis, 1, weightNumbers{most: 127})
	var signal, noise float64
	for i, y := range tensor.As[float32](q.floats(l.axis)) {
		w := l.weight.Float(i)
		signal, noise = signal+w*w, noise+(w-float64(y))*(w-float64(y))
	}
	d, ok := done[x]
	if !ok {
		if x.Def != nil {
			r.Behind(x.Def)
		} else {
			r.Before(g.Nodes[0])
		}
		r.From(n)
		b := compose.NewBuilder("")
		d.integers, d.scale, d.zero = b.DynamicQuantize(x)
		for _, m := range b.Graph.Nodes {
			m.Origin = n.Origin
			r.Insert(m)
		}
		done[x] = d
	}
	r.Before(n)
	w := q.weight
	if l.axis == 0 {
		w = w.Transpose()
	}
	name := n.In[1].Name
	none := graph.NewConst(name+"_zero_point", tensor.New(types.I8))
	none.Const.Shape = []int{}
	sums := r.Apply(ops.QnnMatmul, op.None{}, d.integers, d.zero, graph.NewConst(name, w), none)
	scale := r.Apply(ops.Multiply, op.None{}, graph.NewConst(name+"_scale", tensor.Of([]int{len(q.scale)}, q.scale)), d.scale)
	r.Change(n, ops.Multiply, op.None{}, r.Apply(ops.Cast, ops.CastAttrs{DType: types.F32}, sums), scale)
	return decibels(signal, noise)
}
