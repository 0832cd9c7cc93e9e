package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var nnRows = append([]row{
	{ops.Dense, dense}, {ops.Matmul, matmul}, {ops.LpPool, lpPool}, {ops.MaxPoolIndices, maxPoolIndices},
	{ops.Softmax, softmax("Softmax")}, {ops.LogSoftmax, softmax("LogSoftmax")},
	{ops.BatchNorm, batchNorm}, {ops.InstanceNorm, instanceNorm}, {ops.GroupNorm, groupNorm}, {ops.LayerNorm, layerNorm("LayerNormalization")},
	{ops.RMSNorm, layerNorm("RMSNormalization")}, {ops.L2Normalize, l2Normalize}, {ops.LRN, lrn},
}, rows(
	family{[]*op.Def{ops.Conv1d, ops.Conv2d, ops.Conv3d}, conv},
	family{[]*op.Def{ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose}, convTranspose},
	family{[]*op.Def{ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d}, avgPool},
	family{[]*op.Def{ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d}, maxPool},
)...)

// A family is one operator of ONNX that the graph has by number of spatial axes.
type family struct {
	ops   []*op.Def
	write func(c *call)
}

func rows(families ...family) (list []row) {
	for _, f := range families {
		for _, d := range f.ops {
			list = append(list, row{d, f.write})
		}
	}
	return list
}

func conv(c *call) {
	a := c.n.Attrs.(ops.ConvAttrs)
	c.op("Conv", convAttrs(a, c.shape(1)[2:])...)
}

func convAttrs(a ops.ConvAttrs, kernel []int) []Attr {
	return []Attr{{"kernel_shape", kernel}, {"strides", a.Strides}, {"pads", a.Padding}, {"dilations", a.Dilation}, {"group", a.Groups}}
}

func convTranspose(c *call) {
	a := c.n.Attrs.(ops.ConvTransposeAttrs)
	c.op("ConvTranspose", Attr{"kernel_shape", c.shape(1)[2:]}, Attr{"strides", a.Strides}, Attr{"pads", a.Padding},
		Attr{"dilations", a.Dilation}, Attr{"output_padding", a.OutputPadding}, Attr{"group", a.Groups})
}

func poolAttrs(a ops.PoolAttrs) []Attr {
	return []Attr{{"kernel_shape", a.PoolSize}, {"strides", a.Strides}, {"pads", a.Padding}, {"dilations", a.Dilation}, flag("ceil_mode", a.CeilMode, false)}
}

func maxPool(c *call) { c.op("MaxPool", poolAttrs(c.n.Attrs.(ops.PoolAttrs))...) }

func maxPoolIndices(c *call) {
	a := c.n.Attrs.(ops.MaxPoolIndicesAttrs)
	list := poolAttrs(ops.PoolAttrs{PoolSize: a.PoolSize, Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, CeilMode: a.CeilMode})
	c.op("MaxPool", append(list, flag("storage_order", a.ColumnMajor, false))...)
}

func avgPool(c *call) {
	a := c.n.Attrs.(ops.AvgPoolAttrs)
	list := poolAttrs(ops.PoolAttrs{PoolSize: a.PoolSize, Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, CeilMode: a.CeilMode})
	for i, d := range a.Dilation {
		if d != 1 {
			c.need(19)
			break
		}
		if i == len(a.Dilation)-1 { // before opset 19 there are none
			list[3] = Attr{}
		}
	}
	c.op("AveragePool", append(list, flag("count_include_pad", a.CountIncludePad, false))...)
}

func lpPool(c *call) {
	a := c.n.Attrs.(ops.LpPoolAttrs)
	list := poolAttrs(ops.PoolAttrs{PoolSize: a.PoolSize, Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, CeilMode: a.CeilMode})
	c.op("LpPool", append(list, Attr{"p", a.P})...)
}

// dense is a Gemm, or where data is no matrix a product with the transposed weight.
func dense(c *call) {
	if c.rank(0) == 2 {
		c.opOf("Gemm", c.factors(), Attr{"transB", 1})
		return
	}
	if d := c.dequantisedWeights(c.n); d != nil {
		c.opOf("MatMul", []string{c.in(0), (&call{c.writer, d}).dequantizedTransposed()})
		return
	}
	c.product(false, true)
}

// dequantisedWeights is the node that makes the weights of a dense of rows in more than two axes of integers, where it makes nothing else: nil
// if there is none. Engines know a product of integers by weights that are dequantised and not transposed behind that.
func (w *writer) dequantisedWeights(n *graph.Node) *graph.Node {
	d := n.In[1].Def
	if !w.options.Standard || len(n.In[0].Type.Shape) == 2 || d == nil || d.Op != ops.Dequantize || len(w.users[n.In[1]]) != 1 || n.In[1].Type.DType != n.In[0].Type.DType {
		return nil
	}
	if x := d.In[0]; !x.IsConst() || len(x.Type.Shape) != 2 || d.Attrs.(ops.DequantizeAttrs).BlockSize != 0 {
		return nil
	}
	return d
}

// matmul is a Gemm where that has no other meaning than a transposed first operand.
func matmul(c *call) {
	a := c.n.Attrs.(ops.MatmulAttrs)
	if c.rank(0) == 2 && c.rank(1) == 2 && a.TransposeA {
		c.opOf("Gemm", c.factors(), flag("transA", a.TransposeA, false), flag("transB", a.TransposeB, false))
		return
	}
	c.product(a.TransposeA, a.TransposeB)
}

// factors are the operands of a product in the type of the first: ONNX widens no weights.
func (c *call) factors() []string {
	in := c.all()
	if c.dtype(1) != c.dtype(0) {
		in[1] = c.cast(in[1], c.dtype(0))
	}
	return in
}

// product multiplies matrices, of which some are transposed.
func (c *call) product(ta, tb bool) {
	// An importer takes FusedMatMul of a matrix behind for dense.
	if (ta || tb) && !c.options.Standard && c.rank(0) > 1 && (c.n.Op == ops.Dense || ta || c.rank(1) != 2) {
		c.opOf("com.microsoft.FusedMatMul", c.factors(), flag("transA", ta, false), flag("transB", tb, false))
		return
	}
	in := c.factors()
	for i, t := range []bool{ta, tb} {
		if t {
			perm, _ := moved(c.rank(i), c.rank(i)-1, c.rank(i)-2)
			in[i] = c.transpose(in[i], perm)
		}
	}
	c.opOf("MatMul", in)
}

func softmax(op string) func(c *call) {
	return func(c *call) { c.op(op, Attr{"axis", c.n.Attrs.(ops.SoftmaxAttrs).Axis}) }
}

// batchNorm has channels on axis 1.
func batchNorm(c *call) {
	a := c.n.Attrs.(ops.BatchNormAttrs)
	epsilon := float("epsilon", a.Epsilon, 1e-5)
	c.at1(a.Axis, func(x string, result func(string, []string, ...Attr)) {
		result("BatchNormalization", append([]string{x}, c.all()[1:]...), epsilon)
	})
}

func instanceNorm(c *call) {
	c.op("InstanceNormalization", float("epsilon", c.n.Attrs.(ops.InstanceNormAttrs).Epsilon, 1e-5))
}

func groupNorm(c *call) {
	a := c.n.Attrs.(ops.GroupNormAttrs)
	c.op("GroupNormalization", Attr{"num_groups", a.Groups}, float("epsilon", a.Epsilon, 1e-5))
}

// layerNorm has a scale in ONNX, of ones where the graph has none.
func layerNorm(op string) func(c *call) {
	return func(c *call) {
		a := c.n.Attrs.(ops.LayerNormAttrs)
		in := c.all()
		if len(in) == 1 {
			one := compose.Number(c.dtype(0), 1).Const.Bytes()
			in = append(in, c.filled(one, c.dtype(0), c.shape(0)[a.Axis:]))
		}
		c.opOf(op, in, Attr{"axis", a.Axis}, float("epsilon", a.Epsilon, 1e-5))
	}
}

// l2Normalize computes in float32 where data is narrower, as the operator does.
func l2Normalize(c *call) {
	a := c.n.Attrs.(ops.L2NormalizeAttrs)
	x, d := c.in(0), c.dtype(0).Compute()
	if d != c.dtype(0) {
		x = c.cast(x, d)
	}
	in := []string{c.do("Mul", x, x)}
	if len(a.Axis) > 0 {
		in = append(in, c.intList(a.Axis...))
	}
	sum := c.step("ReduceSum", in)
	y := []string{x, c.do("Sqrt", c.do("Max", sum, c.number(d, a.Epsilon)))}
	if d == c.dtype(0) {
		c.opOf("Div", y)
		return
	}
	c.opOf("Cast", []string{c.do("Div", y...)}, Attr{"to", ElemType(c.dtype(0))})
}

func lrn(c *call) {
	a := c.n.Attrs.(ops.LRNAttrs)
	c.at1(a.Axis, func(x string, result func(string, []string, ...Attr)) {
		result("LRN", []string{x}, Attr{"size", a.Size}, float("alpha", a.Alpha, 1e-4), float("beta", a.Beta, 0.75), float("bias", a.Bias, 1))
	})
}
