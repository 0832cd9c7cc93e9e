package onnx

import (
	"bytes"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var quantRows = append([]row{
	{ops.Quantize, quantize}, {ops.Dequantize, dequantize}, {ops.Requantize, requantize}, {ops.QnnMatmul, qnnMatmul}, {ops.QnnLookup, lookup}, {ops.MatmulNBits, matmulNBits},
}, rows(family{[]*op.Def{ops.QnnConv1d, ops.QnnConv2d, ops.QnnConv3d}, qnnConv})...)

// granularity is the axis and size of blocks of scales, where there are several.
func (c *call) granularity(axis, block int) []Attr {
	if scale := c.shape(1); len(scale) == 0 || len(scale) == 1 && scale[0] == 1 {
		return nil
	}
	if block == 0 {
		return []Attr{{"axis", axis}}
	}
	c.need(21)
	return []Attr{{"axis", axis}, {"block_size", block}}
}

// wide raises the version of the operator set for quantised integers of 16 or of 4 bits.
func (c *call) wide(d types.DType) {
	if d.Size() > 1 || d.IsNibble() {
		c.need(21)
	}
}

func quantize(c *call) {
	a := c.n.Attrs.(ops.QuantizeAttrs)
	attrs := c.granularity(a.Axis, a.BlockSize)
	c.wide(a.OutDType)
	if a.Rounding != ops.HalfEven { // ONNX's operator knows no other: it gets integers, in steps of 1
		steps := c.step("DequantizeLinear", []string{c.do("Expand", c.number(types.I8, 1), c.intList(c.shape(0)...)), c.in(1)}, attrs...)
		in := c.scaled(c.rounded(a.Rounding, c.do("Div", c.cast(c.in(0), types.F32), c.cast(steps, types.F32))), a.OutDType)
		in[1] = c.do("Expand", c.number(types.F32, 1), c.intList(c.shape(1)...))
		c.opOf("QuantizeLinear", in, attrs...)
		return
	}
	if len(c.n.In) < 3 && (a.OutDType.Size() > 1 || a.OutDType.IsNibble()) {
		c.opOf("QuantizeLinear", []string{c.in(0), c.in(1)}, append(attrs, Attr{"output_dtype", ElemType(a.OutDType)})...)
		return
	}
	c.opOf("QuantizeLinear", c.scaled(c.in(0), a.OutDType), attrs...)
}

// scaled are x and the operands of a node with scales and zero points of type d, which ONNX wants to have one shape. A zero point is left out where it is the
// uint8 0 that ONNX takes it for. (Operator sets from 21 on, which wide integers need, can say the type without one.)
func (c *call) scaled(x string, d types.DType) []string {
	in := []string{x, c.in(1)}
	zero := tensor.New(d, c.shape(1)...)
	switch {
	case len(c.n.In) < 3 && d == types.U8:
		return in
	case len(c.n.In) < 3:
	case c.n.In[2].Const != nil && c.n.In[2].Type.Elements() == 1 && zero.Len() != 1:
		for i := range zero.Len() {
			zero.SetInt(i, c.n.In[2].Const.Int(0))
		}
	default:
		return append(in, c.in(2))
	}
	return append(in, c.constant(zero))
}

func lookup(c *call) {
	at := c.index(0, false)
	if least, _ := c.dtype(0).IntRange(); least != 0 {
		at = c.do("Sub", at, c.number(types.I64, float64(least)))
	}
	c.opOf("Gather", []string{c.in(1), at}, Attr{"axis", 0})
}

func dequantize(c *call) {
	a := c.n.Attrs.(ops.DequantizeAttrs)
	c.opOf("DequantizeLinear", c.dequantized(c.in(0)), c.granularity(a.Axis, a.BlockSize)...)
}

// dequantized are the operands of DequantizeLinear of the integers x.
func (c *call) dequantized(x string) []string {
	if c.dtype(0) != types.I32 {
		c.wide(c.dtype(0))
	}
	if len(c.n.In) < 3 {
		return []string{x, c.in(1)}
	}
	return c.scaled(x, c.dtype(0))
}

// dequantizedTransposed is the transposed result of a dequantize of a constant matrix whose scales stand for no blocks: its integers are
// written transposed.
func (c *call) dequantizedTransposed() string {
	axis := c.n.Attrs.(ops.DequantizeAttrs).Axis
	if axis < 0 {
		axis += 2
	}
	weights := c.name(graph.NewConst(c.n.In[0].Name, c.n.In[0].Const.Transpose()))
	return c.step("DequantizeLinear", c.dequantized(weights), c.granularity(1-axis, 0)...)
}

func qnnConv(c *call) {
	c.opOf("ConvInteger", []string{c.in(0), c.in(2), c.in(1), c.in(3)}, convAttrs(c.n.Attrs.(ops.ConvAttrs), c.shape(2)[2:])...)
}

func qnnMatmul(c *call) {
	c.opOf("MatMulInteger", []string{c.in(0), c.in(2), c.rowZero(c.n), c.in(3)})
}

// rowZero is the zero point of a product's first operand: a number, or a list with one for each row.
func (c *call) rowZero(n *graph.Node) string {
	zero := n.In[1]
	if zero.Type.Rank() != 2 {
		return c.name(zero)
	}
	if zero.Const != nil {
		return c.constant(zero.Const.Reshape(zero.Type.Shape[0]))
	}
	if list := rowList(zero); list != nil {
		return c.name(list)
	}
	return c.reshape(c.name(zero), zero.Type.Shape[0])
}

// rowList is the list that zero, of two axes, is a reshape of, or nil.
func rowList(zero *graph.Value) *graph.Value {
	if d := zero.Def; d != nil && d.Op == ops.Reshape && zero.Type.Rank() == 2 && d.In[0].Type.Rank() == 1 {
		return d.In[0]
	}
	return nil
}

// requantize of an integer convolution or product is QLinearConv or QLinearMatMul, with the nodes before it. ONNX has no
// operator for any other: it is written as the arithmetic that it is.
func requantize(c *call) {
	a := c.n.Attrs.(ops.RequantizeAttrs)
	if q := quantizedBefore(c.n, c.users); q != nil && c.absorbed[q.sum] {
		q.write(c)
		return
	}
	i32 := func(x string) string {
		if c.dtype(0) == types.I32 {
			return x
		}
		return c.cast(x, types.I32)
	}
	difference := c.do("Sub", i32(c.in(0)), i32(c.along(2, a.Axis)))
	scale := c.do("Div", c.along(1, a.Axis), c.along(3, a.Axis))
	x := c.rounded(a.Rounding, c.do("Mul", c.cast(difference, types.F32), scale))
	c.saturate(c.do("Add", x, c.cast(c.along(4, a.Axis), types.F32)), a.OutDType)
}

// along is operand i, a scale or zero point, with axes behind where it has an entry for each index of an axis.
func (c *call) along(i, axis int) string {
	p := c.n.In[i].Type
	if p.Elements() == 1 {
		return c.reshape(c.in(i))
	}
	shape := slices.Repeat([]int{1}, c.rank(0)-axis)
	shape[0] = p.Elements()
	return c.reshape(c.in(i), shape...)
}

// rounded is a float32 value rounded to integers as a quantisation says.
func (c *call) rounded(rounding, x string) string {
	if rounding == ops.HalfEven {
		return c.do("Round", x)
	}
	floor := c.do("Floor", x)
	up := c.do("Less", c.do("Sub", x, floor), c.number(types.F32, 0.5))
	return c.do("Add", floor, c.cast(c.do("Not", up), types.F32))
}

// saturate gives the node's result: a float32 value of integers, clamped to the range of a type.
func (c *call) saturate(x string, d types.DType) {
	lo, hi := d.IntRange()
	x = c.do("Clip", x, c.number(types.F32, float64(lo)), c.number(types.F32, float64(hi)))
	c.opOf("Cast", []string{x}, Attr{"to", ElemType(d)})
}

// A quantized is what becomes one quantised operator of ONNX together with the requantize behind it.
type quantized struct {
	sum     *graph.Node     // integer convolution or product
	bias    *graph.Node     // its addition, or nil
	product *graph.Node     // of both scales, or nil
	scales  [2]*graph.Value // of both operands; nil: 1
}

func (q *quantized) nodes() []*graph.Node {
	return slices.DeleteFunc([]*graph.Node{q.sum, q.bias, q.product}, func(n *graph.Node) bool { return n == nil })
}

// quantizedBefore finds what n requantizes, where nothing else reads it and all of it is one operator of ONNX.
func quantizedBefore(n *graph.Node, users map[*graph.Value][]*graph.Node) *quantized {
	only := func(v *graph.Value) *graph.Node { // v's node where nothing else reads v
		if len(users[v]) != 1 {
			return nil
		}
		return v.Def
	}
	q, a := &quantized{sum: only(n.In[0])}, n.Attrs.(ops.RequantizeAttrs)
	if q.sum != nil && q.sum.Op == ops.Add {
		if b := q.sum.In[1]; b.Const == nil || b.Type.Rank() != n.In[0].Type.Rank()-1 || b.Type.Shape[0] != b.Type.Elements() {
			return nil
		}
		q.bias, q.sum = q.sum, only(q.sum.In[0])
	}
	if q.sum == nil || a.Rounding != ops.HalfEven || !isZero(n.In[2]) || n.In[3].Type.Rank() != 0 || n.In[4].Type.Rank() != 0 {
		return nil
	}
	last := n.In[0].Type.Rank() - 1
	vector := -1 // the operand whose scale has several entries
	if n.In[1].Type.Rank() > 0 {
		vector = 1
	}
	switch {
	case slices.Contains([]*op.Def{ops.QnnConv1d, ops.QnnConv2d, ops.QnnConv3d}, q.sum.Op) && a.Axis == 1 && q.sum.In[1].Type.Rank() == 0:
	case q.sum.Op == ops.QnnMatmul && q.bias == nil && a.Axis == last:
	case q.sum.Op == ops.QnnMatmul && q.bias == nil && a.Axis == last-1 && vector == 1:
		vector = 0
	default:
		return nil
	}
	if n.In[1].Const != nil {
		q.scales[max(vector, 0)] = n.In[1]
		return q
	}
	q.product = only(n.In[1])
	if q.product == nil || q.product.Op != ops.Multiply {
		return nil
	}
	for i, v := range q.product.In {
		if q.scales[i] = v; v.Type.Rank() > 0 && i != vector {
			return nil
		}
	}
	return q
}

func (q *quantized) write(c *call) {
	scale := func(i int) string {
		if q.scales[i] == nil {
			return c.number(types.F32, 1)
		}
		return c.name(q.scales[i])
	}
	data, weight := q.sum.In[0], q.sum.In[2]
	zero := c.name(q.sum.In[1])
	if q.sum.Op == ops.QnnMatmul {
		zero = c.rowZero(q.sum)
	}
	in := []string{c.name(data), scale(0), zero, c.name(weight), scale(1), c.name(q.sum.In[3]), c.in(3), c.in(4)}
	if q.sum.Op == ops.QnnMatmul {
		c.opOf("QLinearMatMul", in)
		return
	}
	if q.bias != nil {
		in = append(in, c.constant(q.bias.In[1].Const.Reshape(q.bias.In[1].Type.Elements())))
	}
	c.opOf("QLinearConv", in, convAttrs(q.sum.Attrs.(ops.ConvAttrs), weight.Type.Shape[2:])...)
}

func isZero(v *graph.Value) bool {
	return v.Const != nil && !slices.ContainsFunc(v.Const.Bytes(), func(b byte) bool { return b != 0 })
}

// filled is a constant of a shape with one element everywhere.
func (c *call) filled(element []byte, d types.DType, shape []int) string {
	return c.constant(tensor.Over(d, slices.Clone(shape), bytes.Repeat(element, types.Count(shape))))
}
