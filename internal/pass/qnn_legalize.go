package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dotData is the type of the data of integer products: uint8, except where the target's dot products want int8.
func dotData(t *target.Target) types.DType {
	if t != nil && t.SignedDot {
		return types.I8
	}
	return types.U8
}

// productData is the type of the data of a product by weights. Where no instruction makes dot products of bytes, but one adds two products
// of int16, that takes data of int16 as they lie, and bytes only after they have been parted, in every kernel again and again. Weights of
// 7 bits have an instruction that adds products of bytes to an int16. Registers of matrices take bytes. A depthwise convolution adds no
// neighbours.
func productData(t *target.Target, weight weights, depthwise bool) types.DType {
	pairs := func(a, b types.DType) bool { return t.PairProduct(a.String(), b.String(), t.Lanes(32)) != "" }
	if t == nil || t.HasDot || t.Tiles() != nil || depthwise || !pairs(types.I16, types.I16) || pairs(types.U8, types.I8) && SevenBits(weight.Tensor) {
		return dotData(t)
	}
	return types.I16
}

// qnnLegalize brings integer convolutions and matrix products with constant weights into the form that dot products
// compute: data of type productData, weights int8, and no zero points.
//
//	sum over k of (x - zx) * (w - zw)  →  sum of x*(w - zw), less zx times the sum of w - zw, which is a constant
//
// Padding then holds zx. Where zx is computed, it is multiplied and subtracted behind the sum; where int8 does not hold w - zw,
// a product has w - 128 for weights, and what is left of zw times the sum of a row of x, or of a window, is subtracted too; groups have as many
// windows as half of a product takes, and there what is left is weights of a second one. Data of
// int16 hold x - zx. A constant stack of matrices is taken apart before, see separateStack.
func qnnLegalize(c *Context) error {
	return rewrite.Walk(c.Graph, separateStack, func(r *rewrite.Rewriter, n *graph.Node) {
		if y := legal(r, n, c.Target); y != nil {
			r.Replace(n.Out[0], y)
		}
	})
}

// legal is the result of n computed in that form; nil where n stays as it is.
func legal(r *rewrite.Rewriter, n *graph.Node, t *target.Target) *graph.Value {
	conv := slices.Contains(ops.QnnConv[1:], n.Op)
	if !conv && n.Op != ops.QnnMatmul {
		return nil
	}
	x, zero, w, wz := n.In[0], n.In[1], n.In[2].Value(), n.In[3].Value()
	if w == nil || wz == nil || w.DType.Size() > 1 || x.Type.DType.Size() > 1 || !conv && len(w.Shape) != 2 {
		return nil
	}
	axis := 0 // of the weights' output channels
	if !conv {
		axis = 1
	}
	weight := withoutZero(w, wz, axis)
	grouped := conv && n.Attrs.(ops.ConvAttrs).Groups > 1
	data := productData(t, weight, grouped && w.Shape[1] == 1)
	if isNumber(zero, 0) && x.Type.DType == data && w.DType == types.I8 && wz.Len() == 1 && wz.Int(0) == 0 {
		return nil
	}
	if grouped && weight.left != nil && w.Shape[1] == 1 {
		return nil // as many sums of windows as products
	}
	switch {
	case data == types.I16:
		x, zero = widenedMap(r, n, x, zero), graph.NewConst("", tensor.New(data))
	case x.Type.DType != data:
		x, zero = shiftedMap(r, n, x, data), shifted(r, zero, data)
	}
	attrs := n.Attrs
	if conv && !isNumber(zero, 0) {
		x, attrs = padded(r, x, n.Attrs.(ops.ConvAttrs), zero)
	}
	none := func(t types.DType) *graph.Value { return graph.NewConst("", tensor.New(t)) }
	product := func(w *graph.Value) *graph.Value { return r.Apply(n.Op, attrs, x, none(data), w, none(types.I8)) }
	y := product(graph.NewConst(n.In[2].Name, weight.Tensor))
	shape := []int{len(weight.sums)}
	if conv {
		shape = append(shape, slices.Repeat([]int{1}, len(y.Type.Shape)-2)...)
	}
	if grouped && weight.left != nil {
		y = r.Apply(ops.Subtract, op.None{}, y, product(graph.NewConst("", ofChannels(weight.left, w.Shape))))
	} else if weight.left != nil {
		sums := rowSums
		if conv {
			sums = windowSums(n.Op, attrs.(ops.ConvAttrs), w.Shape)
		}
		y = r.Apply(ops.Add, op.None{}, y, times(r, sums(r, x), weight.left, shape, -1))
	}
	if z := zero.Value(); z == nil || z.Len() > 1 {
		return r.Apply(ops.Add, op.None{}, y, times(r, r.Apply(ops.Cast, ops.CastAttrs{DType: types.I32}, zero), weight.sums, shape, -1))
	} else if z.Int(0) != 0 {
		correction := times(r, nil, weight.sums, shape, -int32(z.Int(0)))
		if weight.left == nil && addConstant(r, n, correction.Const) {
			return y
		}
		return r.Apply(ops.Add, op.None{}, y, correction)
	}
	return y
}

// isNumber reports whether v is one constant number.
func isNumber(v *graph.Value, number int64) bool {
	c := v.Value()
	return c != nil && c.Len() == 1 && c.Int(0) == number
}

// times is x, or 1 where it is nil, times numbers, each multiplied by factor, of the given shape.
func times(r *rewrite.Rewriter, x *graph.Value, numbers []int32, shape []int, factor int32) *graph.Value {
	scaled := make([]int32, len(numbers))
	for i, n := range numbers {
		scaled[i] = n * factor
	}
	c := graph.NewConst("", tensor.Of(shape, scaled))
	if x == nil {
		return c
	}
	return r.Apply(ops.Multiply, op.None{}, x, c)
}

// rowSums are the sums along the last axis of a matrix of bytes.
func rowSums(r *rewrite.Rewriter, x *graph.Value) *graph.Value {
	wide := r.Apply(ops.Cast, ops.CastAttrs{DType: types.I32}, x)
	return r.Apply(ops.Sum, ops.ReduceAttrs{Axis: []int{x.Type.Rank() - 1}, KeepDims: true}, wide)
}

// windowSums gives the sums of what a convolution in one group by weights of the given shape multiplies, for all output channels: those of
// the channels of each pixel, by a convolution of ones, and of these along one axis of the window after the other.
func windowSums(d *op.Def, a ops.ConvAttrs, weight []int) func(r *rewrite.Rewriter, x *graph.Value) *graph.Value {
	return func(r *rewrite.Rewriter, x *graph.Value) *graph.Value {
		axes := len(weight) - 2
		one := ops.ConvAttrs{Strides: slices.Repeat([]int{1}, axes), Padding: make([]int, 2*axes), Dilation: slices.Repeat([]int{1}, axes), Groups: 1}
		ones := ofChannels([]int32{1}, append([]int{1, weight[1]}, one.Strides...))
		none := func(t types.DType) *graph.Value { return graph.NewConst("", tensor.New(t)) }
		y := r.Apply(d, one, x, none(x.Type.DType), graph.NewConst("", ones), none(types.I8))
		y, a = padded(r, y, a, none(types.I32))
		for k := range axes {
			y = sumsAlong(r, y, 2+k, weight[2+k], a.Dilation[k], a.Strides[k])
		}
		return y
	}
}

// sumsAlong are the sums of so many elements of an axis, each so many steps behind the one before, at every stride.
func sumsAlong(r *rewrite.Rewriter, x *graph.Value, axis, taps, dilation, stride int) (sum *graph.Value) {
	if taps == 1 && stride == 1 {
		return x
	}
	span := x.Type.Shape[axis] - (taps-1)*dilation
	for tap := range taps {
		a := ops.StridedSliceAttrs{Begin: make([]int, len(x.Type.Shape)), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, len(x.Type.Shape))}
		a.Begin[axis], a.End[axis], a.Strides[axis] = tap*dilation, tap*dilation+span, stride
		if y := r.Apply(ops.StridedSlice, a, x); sum == nil {
			sum = y
		} else {
			sum = r.Apply(ops.Add, op.None{}, sum, y)
		}
	}
	return sum
}

// ofChannels are weights of bytes of the given shape that are one number for each output channel.
func ofChannels(numbers []int32, shape []int) *tensor.Tensor {
	t := tensor.New(types.I8, shape...)
	each := types.Count(shape[1:])
	for i := range t.Len() {
		t.SetInt(i, int64(numbers[i/each]))
	}
	return t
}

// addConstant adds t to the constant of an addition right behind n, and reports whether there is one.
func addConstant(r *rewrite.Rewriter, n *graph.Node, t *tensor.Tensor) bool {
	add := r.Reader(n.Out[0])
	if add == nil || add.Op != ops.Add {
		return false
	}
	other := slices.IndexFunc(add.In, func(v *graph.Value) bool { return v.IsConst() })
	if other < 0 || add.In[other].Const.Len() != t.Len() {
		return false
	}
	c := add.In[other].Const
	if a, b := slices.Index(c.Shape, c.Len()), slices.Index(t.Shape, t.Len()); len(c.Shape)-a != len(t.Shape)-b {
		return false // along another axis
	}
	sum := tensor.New(types.I32, c.Shape...)
	for i := range sum.Len() {
		sum.SetInt(i, int64(int32(c.Int(i))+int32(t.Int(i))))
	}
	r.SetOperand(add, other, graph.NewConst("", sum))
	return true
}
