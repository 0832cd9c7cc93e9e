package pass

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// fakeQuantizationToInteger makes convolutions, dense layers and matrix products between dequantize and quantize nodes
// compute on the integers themselves: scales leave the products and come back as one factor on the sum, with which it
// is requantized. What only moves or compares elements runs on the integers too.
//
//	quantize(relu(conv((x-zx)*sx, w*sw) + b), sy)  →  max(requantize(qnn.conv(x, zx, w) + b/(sx*sw), sx*sw, sy), zy)
func fakeQuantizationToInteger(c *Context) error {
	data := dotData(c.Target)
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) { oneDataType(r, n, data) }, onIntegers)
}

// onIntegers computes n on integers where it can.
func onIntegers(r *rewrite.Rewriter, n *graph.Node) {
	for _, rule := range []func(*rewrite.Rewriter, *graph.Node) *graph.Value{integerProduct, integerMove, integerAverage} {
		y := rule(r, n)
		if y == nil {
			continue
		}
		old := n.Out[0]
		if y.Type.DType != old.Type.DType { // the sums took in the quantize behind them
			old = quantizeBehind(r, old).Out[0]
		}
		r.Replace(old, y)
		return
	}
}

// integerProduct is a convolution, dense layer or matrix product of dequantized data and constant weights on the integers: the
// result of the quantize behind it, or its sums dequantized where there is none. It is nil for other nodes.
func integerProduct(r *rewrite.Rewriter, n *graph.Node) *graph.Value {
	conv := slices.Index(ops.Conv[:], n.Op)
	matrix := n.Op == ops.Dense || n.Op == ops.Matmul && !n.Attrs.(ops.MatmulAttrs).TransposeA
	if conv < 1 && !matrix || n.Out[0].Type.DType != types.F32 {
		return nil
	}
	data, sx, ok := dequantized(n.In[0])
	if !ok || len(sx) != 1 || data.In[0].Type.DType.Size() > 1 {
		return nil
	}
	weight, sw, ok := dequantized(n.In[1])
	if !ok || weight.In[0].Value() == nil || weight.In[0].Type.DType.Size() > 1 || weight.Attrs.(ops.DequantizeAttrs).BlockSize > 0 {
		return nil
	}
	w, wz := weight.In[0].Value(), zeroOf(weight)
	channels := 0 // the axis of the weights that counts output channels
	if matrix {
		if _, stack := stackAxis(w.Shape); len(w.Shape) > 2 && !stack {
			return nil
		}
		channels = len(w.Shape) - 2 + ops.ColumnsOf(n.Attrs)
	}
	if len(sw) > 1 && weight.Attrs.(ops.DequantizeAttrs).Axis != channels || wz == nil || zeroOf(data) == nil {
		return nil
	}
	each := w.Len()
	if matrix {
		each = types.Count(w.Shape[len(w.Shape)-2:]) // elements of a matrix of a stack
	}
	if depth := each / max(w.Shape[channels], 1); depth > maxDotDepth {
		return nil
	}
	factor := make([]float32, w.Shape[channels]) // what the sum is multiplied by
	for i := range factor {
		factor[i] = sx[0] * sw[min(i, len(sw)-1)]
	}
	shape := slices.Clone(n.Out[0].Type.Shape)
	axis := len(shape) - 1
	if conv > 0 {
		axis = 1
	}
	for i := range shape {
		if i != axis {
			shape[i] = 1
		}
	}
	var bias *tensor.Tensor
	if len(n.In) == 3 {
		if bias = biasSteps(n.In[2], factor, shape); bias == nil {
			return nil
		}
	}
	var y *graph.Value
	if conv > 0 {
		y = r.Apply(ops.QnnConv[conv], n.Attrs, data.In[0], zeroOf(data), weight.In[0], wz)
	} else {
		if ops.ColumnsOf(n.Attrs) == 0 {
			w = transposed(w)
		}
		y = r.Apply(ops.QnnMatmul, op.None{}, data.In[0], zeroOf(data), graph.NewConst(weight.In[0].Name, w), wz)
	}
	if bias != nil {
		y = r.Apply(ops.Add, op.None{}, y, graph.NewConst("", bias))
	}
	return rescaled(r, n, y, factor, axis)
}

// maxDotDepth is the number of products of 8-bit integers whose sum int32 surely holds.
const maxDotDepth = 1 << 15

// biasSteps is a bias in units of the factor as int32, or nil when it is no multiple: the model's bias is then no
// quantised one.
func biasSteps(v *graph.Value, factor []float32, shape []int) *tensor.Tensor {
	b := constant(v)
	if b == nil || b.Len() != len(factor) {
		return nil
	}
	steps := tensor.New(types.I32, shape...)
	for i, f := range factor {
		n := math.RoundToEven(b.Float(i) / float64(f))
		if off := math.Abs(b.Float(i)/float64(f) - n); off > 1e-3+math.Abs(n)*0x1p-22 || math.Abs(n) > 1<<30 {
			return nil
		}
		steps.SetInt(i, int64(n))
	}
	return steps
}

// rescaled multiplies the sums y of node n by their factor. Where the only reader, through relus and clips, is a
// quantize with one scale, the integers go straight to that scale, and the relus and clips follow there.
func rescaled(r *rewrite.Rewriter, n *graph.Node, y *graph.Value, factor []float32, axis int) *graph.Value {
	column := func() *graph.Value { return graph.NewConst("", tensor.Of([]int{len(factor)}, factor)) }
	quantize := quantizeBehind(r, n.Out[0])
	if quantize == nil {
		return r.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: axis}, y, column())
	}
	a := quantize.Attrs.(ops.QuantizeAttrs)
	scale, zero := quantize.In[1], zeroOf(quantize)
	for i := range factor {
		factor[i] /= float32(constant(scale).Float(0))
	}
	r.From(n, quantize)
	none, one := graph.NewConst("", tensor.Scalar[int32](0)), graph.NewConst("", tensor.Scalar[float32](1))
	y = r.Apply(ops.Requantize, ops.RequantizeAttrs{Axis: axis, OutDType: a.OutDType, Rounding: a.Rounding}, y, column(), none, one, zero)
	step := func(x float64) *tensor.Tensor { // the integer that stands for x
		v, t := graph.NewConst("", tensor.Scalar(float32(x))), tensor.New(a.OutDType)
		in := []*tensor.Tensor{v.Const, constant(scale).Reshape(), constant(zero).Reshape()}
		if err := ops.Quantize.Eval(a, in, []*tensor.Tensor{t}); err != nil {
			r.Fail(err)
		}
		return t
	}
	lo, hi := a.OutDType.IntRange()
	for v := n.Out[0]; v != quantize.In[0]; {
		user := r.Reader(v)
		bounds := ops.ClipAttrs{HasMin: true}
		r.From(user)
		if user.Op == ops.Clip {
			bounds = user.Attrs.(ops.ClipAttrs)
		}
		if t := step(bounds.Min); bounds.HasMin && t.Int(0) > lo {
			y = r.Apply(ops.Maximum, op.None{}, y, graph.NewConst("", t))
		}
		if t := step(bounds.Max); bounds.HasMax && t.Int(0) < hi {
			y = r.Apply(ops.Minimum, op.None{}, y, graph.NewConst("", t))
		}
		v = user.Out[0]
	}
	return y
}

// quantizeBehind is the node with one constant scale that is the only reader of v, through relus and clips; or nil.
func quantizeBehind(r *rewrite.Rewriter, v *graph.Value) *graph.Node {
	n := r.Reader(v)
	for n != nil && (n.Op == ops.Relu || n.Op == ops.Clip) {
		v = n.Out[0]
		n = r.Reader(v)
	}
	if n == nil || n.Op != ops.Quantize || n.In[0] != v || n.Attrs.(ops.QuantizeAttrs).OutDType.Size() > 1 {
		return nil
	}
	if s, z := constant(n.In[1]), zeroOf(n); s != nil && s.Len() == 1 && s.DType == types.F32 && z != nil && z.Type.Elements() == 1 {
		return n
	}
	return nil
}

// zeroOf is the constant zero point of a quantize or dequantize node, or nil when it is not constant.
func zeroOf(n *graph.Node) *graph.Value {
	if len(n.In) < 3 {
		t := n.In[0].Type.DType
		if n.Op == ops.Quantize {
			t = n.Attrs.(ops.QuantizeAttrs).OutDType
		}
		return graph.NewConst("", tensor.New(t))
	}
	if t := constant(n.In[2]); t != nil {
		return graph.NewConst("", t)
	}
	return nil
}

// transposed swaps the last two axes of a matrix of bytes, or of a stack of them.
func transposed(t *tensor.Tensor) *tensor.Tensor {
	n := len(t.Shape)
	rows, columns := t.Shape[n-2], t.Shape[n-1]
	r := tensor.New(t.DType, append(slices.Clone(t.Shape[:n-2]), columns, rows)...)
	for at := 0; at < t.Size(); at += rows * columns {
		for i := range rows {
			for j := range columns {
				r.Bytes()[at+j*rows+i] = t.Bytes()[at+i*columns+j]
			}
		}
	}
	return r
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
