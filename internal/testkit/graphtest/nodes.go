package graphtest

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A maker appends nodes that read x and returns their result, or nil when x does not suit it.
type maker func(n *network, x *graph.Value) *graph.Value

// images are the makers for values [N, C, H, W].
var images = []maker{conv, conv, conv, convBlock, depthwise, batchNorm, maxPool, avgPool, globalPool, concat}

// anyRank are the makers for all values.
var anyRank = []maker{activation, activation, scaled, residual, residual, repeated, constant, nothing, reshape, transpose, softmax, product, slice, pad, cast}

func conv(n *network, x *graph.Value) *graph.Value {
	c, out, k := x.Type.Shape[1], n.channels(), n.between(1, 3)
	p, s, d := n.between(0, k/2), n.between(1, 2), n.between(1, 2)
	a := ops.ConvAttrs{Strides: []int{s, s}, Padding: []int{p, p, p, n.between(0, k/2)}, Dilation: []int{d, d}, Groups: 1}
	in := []*graph.Value{x, n.weight(0, 0.3, out, c, k, k)}
	if n.coin(2) {
		in = append(in, n.weight(0, 1, out))
	}
	return n.apply(ops.Conv2d, a, in...)
}

// convBlock is convolution, normalisation and ReLU.
func convBlock(n *network, x *graph.Value) *graph.Value {
	for _, f := range []maker{conv, batchNorm, relu} {
		if x = f(n, x); x == nil {
			return nil
		}
	}
	return x
}

func depthwise(n *network, x *graph.Value) *graph.Value {
	c, k := x.Type.Shape[1], n.between(1, 3)
	a := ops.ConvAttrs{Strides: []int{1, n.between(1, 2)}, Padding: []int{k / 2, k / 2, k / 2, k / 2}, Dilation: []int{1, 1}, Groups: c}
	return n.apply(ops.Conv2d, a, x, n.weight(0, 0.5, c, 1, k, k))
}

func batchNorm(n *network, x *graph.Value) *graph.Value {
	c := x.Type.Shape[1]
	variance := n.weight(1.5, 0.1, c)
	return n.apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: 1e-5}, x, n.weight(1, 0.2, c), n.weight(0, 1, c), n.weight(0, 1, c), variance)
}

func relu(n *network, x *graph.Value) *graph.Value { return n.apply(ops.Relu, op.None{}, x) }

func activation(n *network, x *graph.Value) *graph.Value {
	d := []*op.Def{ops.Relu, ops.Relu, ops.Sigmoid, ops.Tanh, ops.Abs}[n.IntN(5)]
	return n.apply(d, op.None{}, x)
}

func maxPool(n *network, x *graph.Value) *graph.Value {
	k, s := n.between(2, 3), n.between(1, 2)
	p := n.between(0, 1)
	return n.apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{k, k}, Strides: []int{s, s}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}}, x)
}

func avgPool(n *network, x *graph.Value) *graph.Value {
	return n.apply(ops.AvgPool2d, ops.AvgPoolAttrs{
		PoolSize: []int{2, 2}, Strides: []int{2, 1}, Padding: []int{0, 1, 0, 0}, Dilation: []int{1, 1}, CountIncludePad: n.coin(2),
	}, x)
}

func globalPool(n *network, x *graph.Value) *graph.Value {
	return n.apply(ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}, KeepDims: n.coin(2)}, x)
}

// concat joins x with every value that fits along axis 1, x itself again where none does.
func concat(n *network, x *graph.Value) *graph.Value {
	in := []*graph.Value{x}
	for _, v := range n.vals {
		s, t := slices.Clone(v.Type.Shape), slices.Clone(x.Type.Shape)
		if len(s) == len(t) && len(in) < 3 {
			if s[1], t[1] = 0, 0; slices.Equal(s, t) {
				in = append(in, v)
			}
		}
	}
	n.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	return n.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, in...)
}

// scaled multiplies or adds a constant: of one element, or one per channel.
func scaled(n *network, x *graph.Value) *graph.Value {
	d := []*op.Def{ops.Add, ops.Multiply, ops.Subtract}[n.IntN(3)]
	shape := []int{1}
	if rank := len(x.Type.Shape); rank > 1 && n.coin(3) {
		shape = make([]int, rank)
		for i := range shape {
			shape[i] = 1
		}
		shape[1] = x.Type.Shape[1]
	}
	w := n.weight(1, 0.5, shape...)
	if n.IntN(3) == 0 {
		return n.apply(d, op.None{}, w, x)
	}
	return n.apply(d, op.None{}, x, w)
}

// residual adds a value of the same shape.
func residual(n *network, x *graph.Value) *graph.Value {
	for _, i := range n.Perm(len(n.vals)) {
		if v := n.vals[i]; v.Type.Equal(x.Type) {
			return n.apply([]*op.Def{ops.Add, ops.Multiply, ops.Maximum}[n.IntN(3)], op.None{}, x, v)
		}
	}
	return nil
}

// repeated computes something twice.
func repeated(n *network, x *graph.Value) *graph.Value {
	a, b := n.apply(ops.Tanh, op.None{}, x), n.apply(ops.Tanh, op.None{}, x)
	return n.apply(ops.Add, op.None{}, a, b)
}

// constant adds what depends on constants only.
func constant(n *network, x *graph.Value) *graph.Value {
	w := n.apply(ops.Exp, op.None{}, n.weight(0, 0.3, 1))
	return n.apply(ops.Multiply, op.None{}, x, w)
}

// nothing adds a node without effect.
func nothing(n *network, x *graph.Value) *graph.Value {
	rank := len(x.Type.Shape)
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	switch n.IntN(4) {
	case 0:
		return n.apply(ops.Copy, op.None{}, x)
	case 1:
		return n.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: x.Type.Shape}, x)
	case 2:
		return n.apply(ops.Transpose, ops.TransposeAttrs{Axes: axes}, x)
	}
	return n.apply(ops.Cast, ops.CastAttrs{DType: types.F32}, x)
}

// reshape flattens all axes but the first, or splits the last one.
func reshape(n *network, x *graph.Value) *graph.Value {
	s := slices.Clone(x.Type.Shape)
	last := len(s) - 1
	switch {
	case len(s) == 4 && n.coin(2):
		s = []int{s[0], s[1], s[2] * s[3]}
	case len(s) > 2:
		s = []int{s[0], x.Type.Elements() / s[0]}
	case len(s) == 2 && s[last]%4 == 0:
		s = []int{s[0], s[last] / 4, 2, 2}
	default:
		return nil
	}
	return n.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: s}, x)
}

func transpose(n *network, x *graph.Value) *graph.Value {
	return n.apply(ops.Transpose, ops.TransposeAttrs{Axes: n.Perm(len(x.Type.Shape))}, x)
}

func softmax(n *network, x *graph.Value) *graph.Value {
	return n.apply(ops.Softmax, ops.SoftmaxAttrs{Axis: n.IntN(len(x.Type.Shape))}, x)
}

// product multiplies by a matrix: a constant, or a transposed copy of x.
func product(n *network, x *graph.Value) *graph.Value {
	rank := len(x.Type.Shape)
	if rank < 2 {
		return nil
	}
	k := x.Type.Shape[rank-1]
	switch n.IntN(3) {
	case 0:
		return n.apply(ops.Matmul, ops.MatmulAttrs{}, x, n.weight(0, 0.3, k, n.channels()))
	case 1:
		return n.apply(ops.Dense, op.None{}, x, n.weight(0, 0.3, n.channels(), k))
	}
	return n.apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, x, x)
}

// slice drops the first or last element of an axis, or every second one.
func slice(n *network, x *graph.Value) *graph.Value {
	s := x.Type.Shape
	a := ops.StridedSliceAttrs{Begin: make([]int, len(s)), End: slices.Clone(s), Strides: make([]int, len(s))}
	for i := range s {
		a.Strides[i] = 1
	}
	switch i := n.IntN(len(s)); n.IntN(3) {
	case 0:
		a.Begin[i] = min(1, s[i]-1)
	case 1:
		a.End[i] = max(1, s[i]-1)
	case 2:
		a.Strides[i] = 2
	}
	return n.apply(ops.StridedSlice, a, x)
}

func pad(n *network, x *graph.Value) *graph.Value {
	rank := len(x.Type.Shape)
	a := ops.PadAttrs{PadBefore: make([]int, rank), PadAfter: make([]int, rank), Mode: "constant", Value: float64(n.IntN(2))}
	a.PadBefore[n.IntN(rank)] = n.between(0, 2)
	a.PadAfter[n.IntN(rank)] = n.between(0, 2)
	return n.apply(ops.Pad, a, x)
}

// cast computes in float64 and goes back, or clips.
func cast(n *network, x *graph.Value) *graph.Value {
	by := graph.NewConst("ten", tensor.Of([]int{1}, []float32{10}))
	if n.coin(2) {
		y := n.apply(ops.Cast, ops.CastAttrs{DType: types.F64}, x)
		return n.apply(ops.Cast, ops.CastAttrs{DType: types.F32}, n.apply(ops.Sqrt, op.None{}, n.apply(ops.Abs, op.None{}, y)))
	}
	return n.apply(ops.Clip, ops.ClipAttrs{Min: -1, Max: 1, HasMin: true, HasMax: true}, n.apply(ops.Divide, op.None{}, x, by))
}
