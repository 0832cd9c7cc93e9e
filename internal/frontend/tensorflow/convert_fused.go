package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// fusedRows are what TensorFlow's own optimizer makes of operators that follow each other.
var fusedRows = []row{
	{"_FusedConv2D", fused(conv)}, {"_FusedConv3D", fused(conv)}, {"_FusedDepthwiseConv2dNative", fused(depthwiseConv)}, {"_FusedMatMul", fused(matMul)},
	{"ExtractImagePatches", one(imagePatches)},
}

// fused applies the operators that fused_ops names to the result of f, with the operands behind its two.
func fused(f func(c *call) *graph.Value) func(c *call) values {
	return one(func(c *call) *graph.Value {
		c.Ignore("num_args", "TArgs", "num_host_args", "filter_format", "host_args")
		epsilon, alpha := c.Float("epsilon", float64(float32(1e-4))), c.Float("leakyrelu_alpha", float64(float32(0.2)))
		y, next := f(c), 2
		operand := func() *graph.Value {
			next++
			return c.X(next - 1)
		}
		for _, name := range c.Strs("fused_ops") {
			switch name {
			case "BiasAdd":
				y = biasAdd(c.with(y, operand()))
			case "Add":
				y = c.Do(ops.Add, y, operand())
			case "FusedBatchNorm":
				scale, offset, mean, variance := operand(), operand(), operand(), operand()
				y = c.overChannels(y, func(x *graph.Value) *graph.Value {
					return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: epsilon}, x, scale, offset, mean, variance)
				})
			case "Relu":
				y = c.Do(ops.Relu, y)
			case "Relu6":
				y = c.Clipped(y, 0, 6)
			case "Elu":
				y = c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, y)
			case "LeakyRelu":
				y = c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: alpha}, y)
			case "Sigmoid":
				y = c.Do(ops.Sigmoid, y)
			case "Tanh":
				y = c.Do(ops.Tanh, y)
			case "GeluExact":
				y = c.Gelu(y)
			case "GeluApproximate":
				y = c.GeluTanh(y)
			default:
				compose.Fail("fused operator %q is not supported", name)
			}
		}
		return y
	})
}

// imagePatches are the pixels of windows [batch, rows, columns, height*width*channels].
func imagePatches(c *call) *graph.Value {
	x, size := c.X(0), c.spatial("ksizes", 2)
	if x.Type.Rank() != 4 || size[0]*size[1] > 1<<10 {
		compose.Fail("windows of %v of %s", size, x.Type)
	}
	w := c.padded(compose.Window{In: x.Type.Shape[1:3], Kernel: size, Strides: c.spatial("strides", 2), Dilation: c.spatial("rates", 2)})
	x = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, w.Padding[0], w.Padding[1], 0}, PadAfter: []int{0, w.Padding[2], w.Padding[3], 0}, Mode: "constant"}, x)
	return c.Concat(3, c.windows(x, w)...)
}

// windows are for each place in a window its pixels of a padded image, channels last.
func (c *call) windows(x *graph.Value, w compose.Window) (list values) {
	for i := range w.Kernel[0] {
		for j := range w.Kernel[1] {
			part := x
			for k, at := range []int{i, j} {
				last := (part.Type.Shape[1+k] - ((w.Kernel[k]-1)*w.Dilation[k] + 1)) / w.Strides[k]
				from := at * w.Dilation[k]
				part = c.Every(c.Slice(part, 1+k, from, from+last*w.Strides[k]+1), 1+k, w.Strides[k])
			}
			list = append(list, part)
		}
	}
	return list
}
