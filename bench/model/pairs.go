package model

import (
	"fmt"
	"slices"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A writer writes the nodes of a plan.
type writer struct {
	*plan
	ranges map[string][2]float64
	bytes  map[string]rounded  // of constants, by name
	parts  map[string][3]Value // bytes, scale and zero point of values
	done   map[string]Value    // what stands for a value in float32
}

func (p *plan) writer(ranges map[string][2]float64) *writer {
	return &writer{p, ranges, map[string]rounded{}, map[string][3]Value{}, map[string]Value{}}
}

// grid is that of a value; probabilities have 1/256, whatever their range.
func (w *writer) grid(v string) grid {
	of := w.of[v]
	if t := w.initialiser(of); t != nil {
		return w.constant(of, w.Data, -1).grids[0]
	}
	if n := w.makers[of]; n != nil && (n.Op == "Sigmoid" || n.Op == "Softmax") && w.Data == types.U8 {
		return grid{1.0 / 256, 0}
	}
	r, ok := w.ranges[of]
	if !ok && w.Range > 0 {
		r = [2]float64{-w.Range, w.Range}
	} else if !ok {
		panic(fmt.Sprintf("%s: the ranges have none of %s: run bench.sh onnxruntime calibrate %s", w.graph.Name, of, w.graph.Name))
	}
	return gridOf(w.Data, r[0], r[1], false)
}

// units are the scale and the zero point of a value as constants.
func (w *writer) units(v string) (scale, zero Value) {
	g := w.grid(v)
	z := tensor.New(w.Data)
	z.SetInt(0, int64(g.zero))
	return w.Number(g.scale), w.Constant(z)
}

// constant gives the bytes of a constant.
func (w *writer) constant(v string, d types.DType, axis int) rounded {
	if _, ok := w.bytes[v]; !ok {
		w.bytes[v] = round(w.initialiser(v), d, axis, w.Reduced && d == w.Weights)
	}
	return w.bytes[v]
}

// weight gives a weight's bytes as constants.
func (w *writer) weight(v string) [3]Value {
	if _, ok := w.parts[v]; !ok {
		r := w.constant(v, w.Weights, w.axes[v])
		w.parts[v] = [3]Value{w.Constant(r.bytes), w.Constant(r.scales(1)), w.Constant(r.zeros())}
	}
	return w.parts[v]
}

// pairs writes QuantizeLinear and DequantizeLinear behind each quantised value, which all that read it read instead.
func (p *plan) pairs(ranges map[string][2]float64) {
	w := p.writer(ranges)
	nodes := p.graph.Nodes
	p.graph.Nodes = nil
	for _, v := range p.graph.Inputs {
		w.pair(v.Name, v.Name)
	}
	for _, n := range nodes {
		in := slices.Clone(n.In)
		for i := range in {
			n.In[i] = string(w.operand(in, i))
		}
		p.graph.Nodes = append(p.graph.Nodes, n)
		for i, v := range n.Out {
			w.result(n, i, v)
		}
	}
}

// operand is what a node reads for its operand i.
func (w *writer) operand(in []string, i int) Value {
	v := in[i]
	if _, ok := w.done[v]; !ok && w.isConstant(v) {
		w.dequantise(in, v)
	}
	if y, ok := w.done[v]; ok {
		return y
	}
	return Value(v)
}

// dequantise gives a constant as bytes, or as int32 if it is a bias, in float32 again.
func (w *writer) dequantise(in []string, v string) {
	axis, weight := w.axes[v]
	switch {
	case w.biases[v] != nil:
		r, scale := w.constant(in[1], w.Weights, w.axes[in[1]]), w.grid(in[0]).scale
		w.done[v] = w.dequantised(r.sums(w.initialiser(v), scale), min(r.axis, 0), r.scales(scale))
	case weight:
		p := w.weight(v)
		w.done[v] = w.Op("DequantizeLinear", p[:], At("axis", max(0, axis)))
	case w.of[v] != "":
		scale, zero := w.units(v)
		w.done[v] = w.Do("DequantizeLinear", w.Constant(w.constant(v, w.Data, -1).bytes), scale, zero)
	}
}

// result writes the pair behind result i of a node; the network's outputs keep their names.
func (w *writer) result(n *onnx.Node, i int, v string) {
	if slices.ContainsFunc(w.graph.Outputs, func(o onnx.Value) bool { return o.Name == v }) && w.of[v] != "" {
		n.Out[i] = v + "_raw"
		w.pair(v, n.Out[i])
		w.rename(v)
		return
	}
	w.pair(v, v)
}

// rename gives the last node's result a name.
func (w *writer) rename(v string) {
	w.graph.Nodes[len(w.graph.Nodes)-1].Out[0] = v
	w.done[v] = Value(v)
}

// pair writes that of a value, if it is quantised, behind the name that it has now.
func (w *writer) pair(v, now string) {
	if w.of[v] == "" {
		return
	}
	scale, zero := w.units(v)
	w.done[v] = w.Do("DequantizeLinear", w.Do("QuantizeLinear", Value(now), scale, zero), scale, zero)
}
