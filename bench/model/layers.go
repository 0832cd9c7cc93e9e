package model

import (
	"math"

	"lathe/internal/tensor"
)

// A Window says how a convolution or a pooling moves over its operand. The zero value of a field is that field's default.
type Window struct {
	Kernel []int
	Stride int
	Pad    int   // on all sides
	Pads   []int // in the order of ONNX, instead of Pad
	Dilate int
	Group  int
	Out    []int // output padding of a transposed convolution
}

// Attrs are the attributes of ONNX.
func (w Window) Attrs() []Attr {
	all := func(v, n int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = v
		}
		return list
	}
	rank := len(w.Kernel)
	pads := w.Pads
	if pads == nil {
		pads = all(w.Pad, 2*rank)
	}
	attrs := []Attr{At("kernel_shape", w.Kernel), At("strides", all(max(1, w.Stride), rank)), At("pads", pads)}
	if w.Dilate > 1 {
		attrs = append(attrs, At("dilations", all(w.Dilate, rank)))
	}
	if w.Group > 1 {
		attrs = append(attrs, At("group", w.Group))
	}
	if w.Out != nil {
		attrs = append(attrs, At("output_padding", w.Out))
	}
	return attrs
}

// Square is a two-dimensional window that keeps sizes at stride 1.
func Square(kernel int) Window { return Window{Kernel: []int{kernel, kernel}, Pad: kernel / 2} }

// By returns the window with a stride.
func (w Window) By(stride int) Window { w.Stride = stride; return w }

// Grouped returns the window with groups.
func (w Window) Grouped(n int) Window { w.Group = n; return w }

// kernels is the shape of a convolution's weights behind the first axis, and their deviation that keeps the size of values.
func (w Window) kernels(in int) ([]int, float64) {
	shape := append([]int{in}, w.Kernel...)
	fan := 1
	for _, n := range shape {
		fan *= n
	}
	return shape, math.Sqrt(2 / float64(fan))
}

// Conv is a convolution from in to out channels without a bias.
func (b *Builder) Conv(x Value, in, out int, w Window) Value {
	shape, deviation := w.kernels(in / max(1, w.Group))
	return b.Op("Conv", []Value{x, b.Weight(deviation, append([]int{out}, shape...)...)}, w.Attrs()...)
}

// ConvBias is a convolution with a bias.
func (b *Builder) ConvBias(x Value, in, out int, w Window) Value {
	shape, deviation := w.kernels(in / max(1, w.Group))
	return b.Op("Conv", []Value{x, b.Weight(deviation, append([]int{out}, shape...)...), b.Weight(0.1, out)}, w.Attrs()...)
}

// ConvTranspose is a transposed convolution; bias is optional.
func (b *Builder) ConvTranspose(x Value, in, out int, w Window, bias bool) Value {
	shape, _ := w.kernels(out / max(1, w.Group))
	_, deviation := w.kernels(in / max(1, w.Group))
	operands := []Value{x, b.Weight(deviation*float64(max(1, w.Stride)), append([]int{in}, shape...)...)}
	if bias {
		operands = append(operands, b.Weight(0.1, out))
	}
	return b.Op("ConvTranspose", operands, w.Attrs()...)
}

// BatchNorm normalises by constants, of which scale and bias are trained.
func (b *Builder) BatchNorm(x Value, channels int) Value {
	scale, bias := b.Scale(channels), b.Weight(0.1, channels)
	mean, variance := b.Constant(b.Normal(0.1, channels)), b.Constant(b.Uniform(0.9, 1.1, channels))
	return b.Op("BatchNormalization", []Value{x, scale, bias, mean, variance}, At("epsilon", 1e-5))
}

// ConvBN is a convolution with its normalisation.
func (b *Builder) ConvBN(x Value, in, out int, w Window) Value {
	return b.BatchNorm(b.Conv(x, in, out, w), out)
}

// ConvBNReLU is ConvBN with a ReLU.
func (b *Builder) ConvBNReLU(x Value, in, out int, w Window) Value {
	return b.Do("Relu", b.ConvBN(x, in, out, w))
}

// MaxPool and AveragePool are poolings.
func (b *Builder) MaxPool(x Value, w Window) Value { return b.Op("MaxPool", []Value{x}, w.Attrs()...) }

// AveragePool counts the padding.
func (b *Builder) AveragePool(x Value, w Window) Value {
	return b.Op("AveragePool", []Value{x}, append(w.Attrs(), At("count_include_pad", 1))...)
}

// Dense is a fully connected layer over rows, as Gemm with transposed weights.
func (b *Builder) Dense(x Value, in, out int) Value {
	return b.Op("Gemm", []Value{x, b.Weight(1/math.Sqrt(float64(in)), out, in), b.Weight(0.1, out)}, At("transB", 1))
}

// Linear is a fully connected layer over the last of any number of axes, as MatMul and Add.
func (b *Builder) Linear(x Value, in, out int) Value {
	return b.Do("Add", b.Do("MatMul", x, b.Weight(1/math.Sqrt(float64(in)), in, out)), b.Weight(0.1, out))
}

// LayerNorm normalises the last axis.
func (b *Builder) LayerNorm(x Value, size int) Value {
	return b.Op("LayerNormalization", []Value{x, b.Scale(size), b.Weight(0.1, size)}, At("axis", -1), At("epsilon", 1e-6))
}

// GELU is the exact one, as PyTorch exports it.
func (b *Builder) GELU(x Value) Value {
	erf := b.Do("Erf", b.Do("Div", x, b.Number(1.4142135)))
	return b.Do("Mul", b.Do("Mul", x, b.Do("Add", erf, b.Number(1))), b.Number(0.5))
}

// SiLU is x · sigmoid(x).
func (b *Builder) SiLU(x Value) Value { return b.Do("Mul", x, b.Do("Sigmoid", x)) }

// Reshape gives x a shape.
func (b *Builder) Reshape(x Value, shape ...int) Value { return b.Do("Reshape", x, b.Ints(shape...)) }

// Transpose permutes axes.
func (b *Builder) Transpose(x Value, perm ...int) Value {
	return b.Op("Transpose", []Value{x}, At("perm", perm))
}

// Slice takes [from, to) of an axis with a step.
func (b *Builder) Slice(x Value, axis, from, to, step int) Value {
	return b.Do("Slice", x, b.Ints(from), b.Ints(to), b.Ints(axis), b.Ints(step))
}

// Concat joins along an axis.
func (b *Builder) Concat(axis int, x ...Value) Value { return b.Op("Concat", x, At("axis", axis)) }

// Split cuts an axis into parts.
func (b *Builder) Split(x Value, axis int, sizes ...int) []Value {
	return b.Ops("Split", len(sizes), []Value{x, b.Ints(sizes...)}, At("axis", axis))
}

// Shuffle mixes the channels of groups.
func (b *Builder) Shuffle(x Value, groups, channels, height, width int) Value {
	x = b.Reshape(x, 1, groups, channels/groups, height, width)
	return b.Reshape(b.Transpose(x, 0, 2, 1, 3, 4), 1, channels, height, width)
}

// Double is the size of an image times two, by the nearest or by linear interpolation.
func (b *Builder) Double(x Value, mode string) Value {
	attrs := []Attr{At("mode", mode), At("coordinate_transformation_mode", "asymmetric"), At("nearest_mode", "floor")}
	if mode == "linear" {
		attrs = []Attr{At("mode", mode), At("coordinate_transformation_mode", "half_pixel")}
	}
	scales := tensor.Of([]int{4}, []float32{1, 1, 2, 2})
	return b.Op("Resize", []Value{x, Absent, b.Constant(scales)}, attrs...)
}
