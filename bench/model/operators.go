package model

import (
	"slices"

	"lathe/internal/export/onnx"
)

// operators writes operators on bytes (QOperator), and floats around nodes that have none.
func (p *plan) operators(ranges map[string][2]float64) {
	w := p.writer(ranges)
	nodes := p.graph.Nodes
	p.graph.Nodes = nil
	for _, n := range nodes {
		if !w.quantised(n) || !w.operator(n) {
			w.between(n)
		}
	}
	for _, v := range p.graph.Outputs {
		if _, ok := w.parts[v.Name]; ok && w.done[v.Name] == "" {
			w.inFloat(v.Name)
			w.rename(v.Name)
		}
	}
}

// quantised reports whether a node's data are.
func (w *writer) quantised(n *onnx.Node) bool { return w.of[n.In[0]] != "" && w.of[n.Out[0]] != "" }

// between writes a node on floats.
func (w *writer) between(n *onnx.Node) {
	for i, v := range n.In {
		n.In[i] = string(w.inFloat(v))
	}
	w.graph.Nodes = append(w.graph.Nodes, n)
}

// inFloat is a value in float32.
func (w *writer) inFloat(v string) Value {
	p, bytes := w.parts[v]
	if _, ok := w.done[v]; !ok && bytes {
		w.done[v] = w.Do("DequantizeLinear", p[:]...)
	}
	if y, ok := w.done[v]; ok {
		return y
	}
	return Value(v)
}

// inBytes is a value's bytes, scale and zero point, which follow its result in float32 if there are none.
func (w *writer) inBytes(v string) []Value {
	p, ok := w.parts[v]
	if !ok {
		scale, zero := w.units(v)
		p = [3]Value{"", scale, zero}
		if w.isConstant(v) {
			p[0] = w.Constant(w.constant(v, w.Data, -1).bytes)
		} else {
			p[0] = w.Do("QuantizeLinear", Value(v), scale, zero)
		}
		w.parts[v] = p
	}
	return p[:]
}

// give says that the last node's result is a value's bytes.
func (w *writer) give(v string, bytes, scale, zero Value) { w.parts[v] = [3]Value{bytes, scale, zero} }

// operator writes a node by one on bytes, if there is one.
func (w *writer) operator(n *onnx.Node) bool {
	x, y := n.In[0], n.Out[0]
	switch n.Op {
	case "Conv", "Gemm":
		w.sums(n)
	case "Add", "Mul":
		scale, zero := w.units(y)
		w.give(y, w.Microsoft("QLinear"+n.Op, slices.Concat(w.inBytes(x), w.inBytes(n.In[1]), []Value{scale, zero})), scale, zero)
	case "Sigmoid", "LeakyRelu", "GlobalAveragePool", "AveragePool":
		scale, zero := w.units(y)
		w.give(y, w.Microsoft("QLinear"+n.Op, append(w.inBytes(x), scale, zero), n.Attrs...), scale, zero)
	case "Concat":
		scale, zero := w.units(y)
		operands := []Value{scale, zero}
		for _, v := range n.In {
			operands = append(operands, w.inBytes(v)...)
		}
		w.give(y, w.Microsoft("QLinearConcat", operands, n.Attrs...), scale, zero)
	case "MaxPool", "Reshape", "Transpose", "Resize":
		p := w.inBytes(x)
		operands := []Value{p[0]}
		for _, v := range n.In[1:] {
			operands = append(operands, Value(v))
		}
		w.give(y, w.Op(n.Op, operands, n.Attrs...), p[1], p[2])
	default:
		return false
	}
	return true
}

// sums writes QLinearConv or QGemm, whose biases are int32.
func (w *writer) sums(n *onnx.Node) {
	scale, zero := w.units(n.Out[0])
	weight := w.weight(n.In[1])
	operands := slices.Concat(w.inBytes(n.In[0]), weight[:])
	bias := Absent
	if len(n.In) > 2 {
		r := w.constant(n.In[1], w.Weights, w.axes[n.In[1]])
		bias = w.Constant(r.sums(w.initialiser(n.In[2]), w.grid(n.In[0]).scale))
	}
	y := Absent
	if n.Op == "Conv" {
		operands = append(operands, scale, zero)
		if bias != Absent {
			operands = append(operands, bias)
		}
		y = w.Op("QLinearConv", operands, n.Attrs...)
	} else {
		y = w.Microsoft("QGemm", append(operands, bias, scale, zero), n.Attrs...)
	}
	w.give(n.Out[0], y, scale, zero)
}
