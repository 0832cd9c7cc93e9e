package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// An exporter writes layers as exporters of PyTorch spell them for operator sets that lack them: of several nodes, and with shapes that
// are computed.
type exporter struct{ *model.Builder }

// exported builds a network with an exporter.
func exported(build func(b exporter)) func(b *model.Builder) {
	return func(b *model.Builder) { build(exporter{b}) }
}

// conv is a square convolution with a bias, into which the exporter has folded the normalisation.
func (b exporter) conv(x model.Value, in, out, k, stride, groups int) model.Value {
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{k, k}, Pad: k / 2, Stride: stride, Group: groups})
}

// relu, add and mul are nodes of that name.
func (b exporter) relu(x model.Value) model.Value { return b.Do("Relu", x) }

// leaky is a ReLU with a slope below zero.
func (b exporter) leaky(x model.Value, alpha float64) model.Value {
	return b.Op("LeakyRelu", []model.Value{x}, model.At("alpha", alpha))
}

// add is a sum.
func (b exporter) add(x, y model.Value) model.Value { return b.Do("Add", x, y) }

// mul is a product.
func (b exporter) mul(x, y model.Value) model.Value { return b.Do("Mul", x, y) }

// by is a product with a number.
func (b exporter) by(v float32) func(model.Value) model.Value {
	return func(x model.Value) model.Value { return b.mul(x, b.Number(v)) }
}

// mean is one over axes; keep is 1 or 0.
func (b exporter) mean(x model.Value, keep int, axes ...int) model.Value {
	return b.Op("ReduceMean", []model.Value{x}, model.At("axes", axes), model.At("keepdims", keep))
}

// hswish is the hard swish in its parts.
func (b exporter) hswish(x model.Value) model.Value {
	c := b.Do("Clip", b.add(x, b.Number(3)), b.Number(0), b.Number(6))
	return b.Do("Div", b.mul(x, c), b.Number(6))
}

// ln is layer normalisation over the last axis in its parts.
func (b exporter) ln(x model.Value, size int) model.Value {
	d := b.Do("Sub", x, b.mean(x, 1, -1))
	v := b.mean(b.Do("Pow", d, b.Number(2)), 1, -1)
	y := b.Do("Div", d, b.Do("Sqrt", b.add(v, b.Number(1e-5))))
	return b.add(b.mul(y, b.Scale(size)), b.Weight(0.1, size))
}

// rms is the normalisation of T5 and Llama, by the root of the mean square.
func (b exporter) rms(x model.Value, size int) model.Value {
	v := b.mean(b.Do("Pow", x, b.Number(2)), 1, -1)
	y := b.mul(x, b.Do("Reciprocal", b.Do("Sqrt", b.add(v, b.Number(1e-6)))))
	return b.mul(b.Scale(size), y)
}

// gn is group normalisation of an image, by instance normalisation of groups.
func (b exporter) gn(x model.Value, groups, channels int) model.Value {
	shape := b.Do("Shape", x)
	y := b.Reshape(x, 0, groups, -1)
	y = b.Op("InstanceNormalization", []model.Value{y, b.Constant(b.Uniform(1, 1, groups)), b.Constant(b.Uniform(0, 0, groups))}, model.At("epsilon", 1e-5))
	y = b.Do("Reshape", y, shape)
	return b.add(b.mul(y, b.Scale(channels, 1, 1)), b.Weight(0.1, channels, 1, 1))
}

// softmax is one along an axis.
func (b exporter) softmax(x model.Value, axis int) model.Value {
	return b.Op("Softmax", []model.Value{x}, model.At("axis", axis))
}

// take looks rows of a table up.
func (b exporter) take(table, ids model.Value) model.Value {
	return b.Op("Gather", []model.Value{table, ids})
}

// at is place i of an axis.
func (b exporter) at(x model.Value, axis, i int) model.Value {
	return b.Op("Gather", []model.Value{x, b.Constant(tensor.Scalar(int64(i)))}, model.At("axis", axis))
}

// dim is an extent as a list of one, by Shape, Gather and Unsqueeze.
func (b exporter) dim(x model.Value, axis int) model.Value {
	g := b.Op("Gather", []model.Value{b.Do("Shape", x), b.Constant(tensor.Scalar(int64(axis)))}, model.At("axis", 0))
	return b.Do("Unsqueeze", g, b.Ints(0))
}

// view reshapes as exporters of open batches do: an extent of -100-axis is that of x.
func (b exporter) view(x model.Value, dims ...int) model.Value {
	var parts []model.Value
	for _, d := range dims {
		if d <= -100 {
			parts = append(parts, b.dim(x, -100-d))
		} else {
			parts = append(parts, b.Ints(d))
		}
	}
	return b.Do("Reshape", x, b.Concat(0, parts...))
}

// mha is attention of x over y; norm scales the scores.
func (b exporter) mha(x, y model.Value, heads, size int, norm func(model.Value) model.Value) model.Value {
	wide := heads * size
	split := func(v model.Value, perm ...int) model.Value {
		return b.Transpose(b.view(v, -100, -1, heads, size), perm...)
	}
	q := split(b.Linear(x, wide, wide), 0, 2, 1, 3)
	k := split(b.Linear(y, wide, wide), 0, 2, 3, 1)
	v := split(b.Linear(y, wide, wide), 0, 2, 1, 3)
	s := b.Do("MatMul", q, k)
	s = norm(s)
	s = b.softmax(s, -1)
	z := b.Transpose(b.Do("MatMul", s, v), 0, 2, 1, 3)
	return b.Linear(b.view(z, -100, -1, wide), wide, wide)
}

// pool is the mean of an image.
func (b exporter) pool(x model.Value) model.Value { return b.Do("GlobalAveragePool", x) }

// head is pooling and a classifier.
func (b exporter) head(x model.Value, in, out int) {
	b.Output(b.Dense(b.Op("Flatten", []model.Value{b.pool(x)}, model.At("axis", 1)), in, out))
}
