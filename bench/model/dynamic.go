package model

import (
	"slices"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Dynamic is how a quantiser writes a network whose data are quantised by their range in the run.
type Dynamic struct {
	Weights  types.DType // U8 by their range, or I8 around zero
	Channels bool        // a scale for each column of weights
	Reduced  bool        // weights of 7 bits
	Tables   bool        // tables that Gather reads are bytes too
	Convs    bool        // ConvInteger, whose weights have one scale
}

// A dynamic writes the nodes of one.
type dynamic struct {
	*Builder
	Dynamic
	data   map[string][]Value  // what DynamicQuantizeLinear gave for a value
	tables map[string][3]Value // bytes, scale and zero point of constants
	turned map[string]string   // the constant that is transposed, by the result
}

// Dynamic quantises the products with constants in what was built, as ONNX Runtime's quantize_dynamic writes them.
func (b *Builder) Dynamic(s Dynamic) {
	b.Fold()
	d := dynamic{b, s, map[string][]Value{}, map[string][3]Value{}, map[string]string{}}
	nodes := b.graph.Nodes
	b.graph.Nodes = nil
	for _, n := range nodes {
		if !d.replaced(n) {
			b.graph.Nodes = append(b.graph.Nodes, n)
		}
	}
	b.prune()
}

// replaced writes what a node becomes, if anything.
func (d *dynamic) replaced(n *onnx.Node) bool {
	weights := func(i int) bool {
		t := d.initialiser(n.In[i])
		return t != nil && t.DType == types.F32
	}
	switch {
	case n.Op == "Transpose" && weights(0):
		d.turned[n.Out[0]] = n.In[0]
		return false
	case n.Op == "MatMul" && d.turned[n.In[1]] != "":
		d.call(d.product(n.In[0], d.turned[n.In[1]], true), n)
	case n.Op == "MatMul" && weights(1):
		d.call(d.product(n.In[0], n.In[1], false), n)
	case n.Op == "Gemm" && weights(1):
		y := d.product(n.In[0], n.In[1], number(n, "transB") == 1)
		if len(n.In) > 2 {
			y = d.Do("Add", y, Value(n.In[2]))
		}
		d.call(y, n)
	case n.Op == "Gather" && weights(0) && d.Tables:
		p := d.bytes(n.In[0], -1, false)
		d.call(d.Do("DequantizeLinear", d.Op("Gather", []Value{p[0], Value(n.In[1])}, n.Attrs...), p[1], p[2]), n)
	case n.Op == "Conv" && weights(1) && d.Convs:
		d.call(d.convolution(n), n)
	default:
		return false
	}
	return true
}

// call gives the last node's result, y, the name of a node's.
func (d *dynamic) call(_ Value, n *onnx.Node) {
	d.graph.Nodes[len(d.graph.Nodes)-1].Out[0] = n.Out[0]
}

// bytes are those of a constant, transposed if asked for.
func (d *dynamic) bytes(v string, axis int, transpose bool) [3]Value {
	key := v
	if transpose {
		key += " transposed"
	}
	if _, ok := d.tables[key]; !ok {
		t := d.initialiser(v)
		if transpose {
			t = transposed(t)
		}
		r := round(t, d.Weights, axis, d.Reduced)
		d.tables[key] = [3]Value{d.Constant(r.bytes), d.Constant(r.scales(1)), d.Constant(r.zeros())}
	}
	return d.tables[key]
}

// transposed is a matrix turned over.
func transposed(t *tensor.Tensor) *tensor.Tensor {
	rows, columns := t.Shape[0], t.Shape[1]
	v, out := tensor.As[float32](t), make([]float32, t.Len())
	for i := range rows {
		for k := range columns {
			out[k*rows+i] = v[i*columns+k]
		}
	}
	return tensor.Of([]int{columns, rows}, out)
}

// quantise gives bytes, scale and zero point of a value, once.
func (d *dynamic) quantise(v string) []Value {
	if _, ok := d.data[v]; !ok {
		d.data[v] = d.Ops("DynamicQuantizeLinear", 3, []Value{Value(v)})
	}
	return d.data[v]
}

// product is that of data and a constant, which may have to be transposed.
func (d *dynamic) product(x, weights string, transpose bool) Value {
	axis := -1
	if d.Channels {
		axis = len(d.initialiser(weights).Shape) - 1
	}
	q, w := d.quantise(x), d.bytes(weights, axis, transpose)
	return d.scaled(d.Do("MatMulInteger", q[0], w[0], q[2], w[2]), q[1], w[1])
}

// scaled is sums of int32 in units of both scales.
func (d *dynamic) scaled(sums, x, w Value) Value {
	return d.Do("Mul", d.Op("Cast", []Value{sums}, At("to", 1)), d.Do("Mul", x, w))
}

// convolution is ConvInteger, with the bias behind it.
func (d *dynamic) convolution(n *onnx.Node) Value {
	q, w := d.quantise(n.In[0]), d.bytes(n.In[1], -1, false)
	y := d.scaled(d.Op("ConvInteger", []Value{q[0], w[0], q[2], w[2]}, n.Attrs...), q[1], w[1])
	if len(n.In) < 3 {
		return y
	}
	shape := slices.Repeat([]int{1}, len(d.initialiser(n.In[1]).Shape))
	shape[1] = -1
	return d.Do("Add", y, d.Reshape(Value(n.In[2]), shape...))
}

// prune drops nodes whose results nothing reads, and constants.
func (b *Builder) prune() {
	for before := -1; before != len(b.graph.Nodes); {
		before = len(b.graph.Nodes)
		readers := b.readers()
		b.graph.Nodes = slices.DeleteFunc(b.graph.Nodes, func(n *onnx.Node) bool {
			return !slices.ContainsFunc(n.Out, func(v string) bool { return len(readers[v]) > 0 })
		})
	}
	b.sweep()
}
