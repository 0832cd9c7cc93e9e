package onnx

import (
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// matmulNBits writes weights that are quantised in blocks as ONNX Runtime's MatMulNBits, or as DequantizeLinear in front of MatMul.
func matmulNBits(c *call) {
	a := c.n.Attrs.(ops.MatmulNBitsAttrs)
	if !c.options.QDQ {
		if in, bits := packedBlocks(c, a.BlockSize); in != nil {
			w := c.shape(1)
			c.opOf("com.microsoft.MatMulNBits", in, Attr{"K", w[1]}, Attr{"N", w[0]}, Attr{"bits", bits}, Attr{"block_size", a.BlockSize})
			return
		}
	}
	w := c.dequantizedBlocks(a.BlockSize)
	if d := c.dtype(0); d != types.F32 { // weights are not rounded to the type of data
		c.opOf("Cast", []string{c.do("MatMul", c.cast(c.in(0), types.F32), w)}, Attr{"to", ElemType(d)})
		return
	}
	c.result("MatMul", c.in(0), w)
}

// packedBlocks are the operands of MatMulNBits: bytes of blocks that are filled with zeros, scales, and zero points unless they are the middle of
// the range. They are nil where it has no such weights.
func packedBlocks(c *call, block int) (in []string, bits int) {
	w, scale := c.n.In[1].Value(), c.n.In[2].Value()
	if w == nil || scale == nil || block < 16 || block&(block-1) != 0 || scale.DType != c.dtype(0) {
		return nil, 0
	}
	bits = w.DType.Bits()
	middle := int64(1) << (bits - 1)
	shift, none := int64(0), int64(0) // what makes numbers unsigned
	if w.DType.IsSigned() {
		shift, none = middle, middle
	}
	rows, depth := w.Shape[0], w.Shape[1]
	blocks := (depth + block - 1) / block
	in = []string{c.in(0), c.constant(unsigned(w, shift, blocks, block*bits/8)), c.constant(scale.Reshape(rows * blocks))}
	if len(c.n.In) < 4 {
		if none == middle {
			return in, bits
		}
		return append(in, c.constant(tensor.New(types.U8, rows, (blocks*bits+7)/8))), bits
	}
	zero := c.n.In[3].Value()
	if zero == nil {
		return nil, 0
	}
	if zero.DType.IsFloat() {
		if zero.DType != scale.DType || shift != 0 {
			return nil, 0
		}
		return append(in, c.constant(zero.Reshape(rows*blocks))), bits
	}
	for i := range zero.Len() {
		if z := zero.Int(i) + shift; z < 0 || z >= 2*middle {
			return nil, 0
		}
	}
	return append(in, c.constant(unsigned(zero, shift, 1, (blocks*bits+7)/8))), bits
}

// unsigned are the rows of t, each in so many parts of so many bytes, of elements that something is added to; the rest is 0.
func unsigned(t *tensor.Tensor, add int64, parts, bytes int) *tensor.Tensor {
	d, rows, columns := types.U8, t.Shape[0], t.Shape[1]
	if t.DType.IsNibble() {
		d = types.U4
	}
	each := parts * bytes * 8 / d.Bits()
	full := tensor.New(d, rows, each)
	for i := range rows {
		for k := range columns {
			full.SetInt(i*each+k, t.Int(i*columns+k)+add)
		}
	}
	shape := []int{rows, parts, bytes}
	if parts == 1 {
		shape = []int{rows, bytes}
	}
	return tensor.Over(types.U8, shape, full.Bytes())
}

// dequantizedBlocks are the weights, [K, N], in float32. Constants are transposed here, so that readers find DequantizeLinear right in
// front of the product.
func (c *call) dequantizedBlocks(block int) string {
	in := c.n.In[1:]
	if len(in) > 2 && in[2].Type.DType != in[0].Type.DType {
		return c.transpose(c.expandedBlocks(block), []int{1, 0})
	}
	c.wide(c.dtype(1))
	c.need(21)
	var names []string
	constant := true
	for _, v := range in {
		constant = constant && v.Value() != nil
	}
	for i, v := range in {
		name := ""
		if constant {
			name = c.constant(v.Value().Transpose())
		} else {
			name = c.in(i + 1)
		}
		if i == 1 && v.Type.DType != types.F32 {
			name = c.cast(name, types.F32)
		}
		names = append(names, name)
	}
	if constant {
		return c.step("DequantizeLinear", names, Attr{"axis", 0}, Attr{"block_size", block})
	}
	return c.transpose(c.step("DequantizeLinear", names, Attr{"axis", 1}, Attr{"block_size", block}), []int{1, 0})
}

// expandedBlocks are the weights, [N, K], as the arithmetic that they are: DequantizeLinear has no zero points of another type.
func (c *call) expandedBlocks(block int) string {
	shape := c.shape(1)
	blocks := (shape[1] + block - 1) / block
	each := func(i int) string { // an entry for each weight, in float32
		x := c.in(i)
		if c.dtype(i) != types.F32 {
			x = c.cast(x, types.F32)
		}
		x = c.do("Expand", c.reshape(x, shape[0], blocks, 1), c.intList(shape[0], blocks, block))
		x = c.reshape(x, shape[0], blocks*block)
		return c.do("Slice", x, c.intList(0), c.intList(shape[1]), c.intList(1))
	}
	return c.do("Mul", c.do("Sub", c.cast(c.in(1), types.F32), each(3)), each(2))
}
