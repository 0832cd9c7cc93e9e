package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// integers are the operators with integer arithmetic of their own, which the option for real numbers leaves out.
var integers = []string{
	"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED", "BATCH_MATMUL", "ADD", "SUB", "MUL", "AVERAGE_POOL_2D", "MEAN", "SOFTMAX",
	"LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ELU", "GELU", "RESIZE_BILINEAR",
}

// between computes with real numbers between the scales of operands and results.
func between(f func(c *call) values) func(c *call) values {
	return func(c *call) values {
		if !c.options().real || len(c.op.in) == 0 || !slices.ContainsFunc(c.op.in, (*tensorInfo).quantized) || !slices.ContainsFunc(c.op.out, (*tensorInfo).quantized) {
			return f(c)
		}
		in, op := slices.Clone(c.In), *c.op
		op.in, op.out = slices.Clone(op.in), slices.Clone(op.out)
		for i, v := range in {
			if x := op.in[i]; v != nil && len(x.quant.scale) > 0 && (x.quantized() || x.elem == elemInt32) {
				in[i], op.in[i] = c.dequantized(v, x), x.plain()
			}
		}
		for i, x := range op.out {
			if x.quantized() {
				op.out[i] = x.plain()
			}
		}
		inner := c.with(in...)
		inner.op = &op
		out := f(inner)
		for i := range out {
			if i < len(c.op.out) && c.op.out[i].quantized() && out[i] != nil {
				out[i] = c.quantize(out[i], c.op.out[i])
			}
		}
		return out
	}
}

// plain is a tensor of real numbers of the same form.
func (x *tensorInfo) plain() *tensorInfo {
	y := *x
	y.quant, y.elem = quantization{}, 0
	return &y
}

// permutedDequantized is the transpose of a dequantised constant as one that is dequantised behind: what makes integer products looks for those.
func (c *call) permutedDequantized(w *graph.Value, axes []int) *graph.Value {
	d := w.Def
	if d == nil || d.Op != ops.Dequantize || d.In[0].Const == nil || d.In[0].Type.DType.Size() != 1 || len(axes) != w.Type.Rank() {
		return nil
	}
	a, ok := d.Attrs.(ops.DequantizeAttrs)
	if !ok {
		return nil
	}
	if d.In[1].Type.Elements() > 1 {
		a.Axis = slices.Index(axes, a.Axis)
	}
	zero := d.In[2]
	if zero.Type.DType != types.I8 && zero.Type.DType != types.U8 {
		compose.Fail("a zero point %s", zero.Type)
	}
	return c.Apply(ops.Dequantize, a, c.permuted(d.In[0], axes...), d.In[1], zero)
}
