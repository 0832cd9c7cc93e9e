package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var nnRows = []row{
	{"Convolution", conv}, {"Convolution_v1", conv}, {"_contrib_DeformableConvolution", deformable(false)}, {"_contrib_ModulatedDeformableConvolution", deformable(true)}, {"Deconvolution", deconvolution}, {"Pooling", pool}, {"Pooling_v1", pool}, {"FullyConnected", fullyConnected},
	{"BatchNorm", batchNorm}, {"BatchNorm_v1", batchNorm}, {"Activation", activation}, {"LeakyReLU", leakyRelu},
	{"softmax", softmax(ops.Softmax)}, {"softmin", softmax(ops.Softmax)}, {"GroupNorm", groupNorm}, {"log_softmax", softmax(ops.LogSoftmax)}, {"SoftmaxActivation", softmaxActivation}, {"SoftmaxOutput", softmaxOutput}, {"Softmax", softmaxOutput},
	{"LRN", lrn}, {"L2Normalization", l2Normalization}, {"InstanceNorm", instanceNorm}, {"LayerNorm", layerNorm}, {"Embedding", embedding}, {"UpSampling", upSampling},
}

// channelsFirst refuses other layouts.
func (c *call) channelsFirst(n int) {
	c.OneOf("layout", "NCHW", []string{"NCW", "NCHW", "NCDHW"}[n-1])
}

// window reads the attributes of a convolution, with its data, its weight, which is operand at, and, unless no_bias says that there is none, the bias behind it.
func (c *call) window(transposed, noBias bool, at int) (compose.Window, values) {
	c.WantRank(0, 3)
	n := c.Rank(0) - 2
	from, to, groups := c.Shape(0)[1], c.Int("num_filter", 1), c.Int("num_group", 1)
	if groups < 1 {
		compose.Fail("%d groups", groups)
	}
	shape := []int{to, from / groups}
	if transposed {
		shape = []int{from, to / groups}
	}
	in := values{c.X(0), c.weight(at, append(shape, c.Ints("kernel")...)...)}
	if in[1].Type.Rank() != n+2 {
		compose.Fail("data %s and weight %s differ in rank", c.X(0).Type, in[1].Type)
	}
	if !c.Bool("no_bias", noBias) {
		in = append(in, c.weight(at+1, to))
	}
	if c.Has("layout") {
		c.channelsFirst(n)
	}
	kernel := in[1].Type.Shape[2:]
	if k := c.Ints("kernel"); !slices.Equal(k, kernel) {
		compose.Fail("kernel %v, but the weight's is %v", k, kernel)
	}
	pad := c.IntsOr("pad", n, 0)
	return compose.Window{In: c.Shape(0)[2:], Kernel: kernel, Strides: c.IntsOr("stride", n, 1), Dilation: c.IntsOr("dilate", n, 1), Padding: slices.Concat(pad, pad)}, in
}

func conv(c *call) *graph.Value {
	w, in := c.window(false, false, 1)
	return c.Conv(w, c.Int("num_group", 1), in...)
}

// deformable has offsets behind the data, and with a mask that; taps beyond the edges differ between the two.
func deformable(masked bool) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("workspace", "im2col_step", "num_deformable_group") // as many as the offsets have channels for
		at := 2
		var mask *graph.Value
		if masked {
			mask, at = c.X(2), 3
		}
		w, in := c.window(false, false, at)
		d := compose.Deformable{Window: w, Groups: c.Int("num_group", 1), Offset: c.X(1), Mask: mask, Edges: !masked}
		return c.DeformableConv(d, in[0], in[1], append(in, nil)[2])
	}
}

// deconvolution takes its padding from target_shape where that is given.
func deconvolution(c *call) *graph.Value {
	w, in := c.window(true, true, 1)
	extra := c.IntsOr("adj", len(w.In), 0)
	if target := c.Ints("target_shape"); len(target) == len(w.In) && slices.Max(target) > 0 {
		w.Padding, extra = w.Transposed(target, extra, false)
	}
	return c.ConvTranspose(w, extra, c.Int("num_group", 1), in...)
}

// pool is maximum, average or sum. The convention full rounds the number of windows up, also where the last one starts
// beyond the padding, which no operator of ours does.
func pool(c *call) *graph.Value {
	c.WantRank(0, 3)
	x := c.X(0)
	n := x.Type.Rank() - 2
	if c.Has("layout") {
		c.channelsFirst(n)
	}
	kind := c.OneOf("pool_type", "max", "max", "avg", "sum")
	if c.Bool("global_pool", false) {
		c.Ignore("kernel", "pad", "stride", "pooling_convention", "count_include_pad")
		return c.Reduce(map[string]*op.Def{"max": ops.Max, "avg": ops.Mean, "sum": ops.Sum}[kind], x, true, compose.LastAxes(x, 2)...)
	}
	pad := c.IntsOr("pad", n, 0)
	w := compose.Window{In: x.Type.Shape[2:], Kernel: c.IntsOr("kernel", n, 1), Strides: c.IntsOr("stride", n, 1), Dilation: slices.Repeat([]int{1}, n), Padding: slices.Concat(pad, pad)}
	full := c.OneOf("pooling_convention", "valid", "valid", "full") == "full"
	if full {
		w.CheckCeil("pooling_convention full")
	}
	if kind == "max" {
		c.Ignore("count_include_pad")
		return c.MaxPool(x, w, full)
	}
	include := c.Bool("count_include_pad", true)
	y := c.AvgPool(x, w, full, include)
	if kind == "sum" {
		if full || !include && slices.Max(pad) > 0 {
			compose.Fail("pool_type sum with windows that are cut is not supported")
		}
		return c.Scaled(y, float64(types.Count(w.Kernel)))
	}
	return y
}

func fullyConnected(c *call) *graph.Value {
	c.WantRank(0, 1)
	x, n := c.X(0), c.Int("num_hidden", 1)
	if c.Bool("flatten", true) {
		x = c.Reshape(x, x.Type.Shape[0], types.Count(x.Type.Shape[1:]))
	}
	y := c.Do(ops.Dense, x, c.weight(1, n, x.Type.Shape[x.Type.Rank()-1]))
	if !c.Bool("no_bias", false) {
		y = c.Do(ops.Add, y, c.weight(2, n))
	}
	return y
}

// batchNorm has an epsilon of 1e-3 unless it says otherwise, and a gamma of 1 unless fix_gamma is false.
func batchNorm(c *call) *graph.Value {
	c.Ignore("use_global_stats", "output_mean_var")
	c.WantRank(0, 2)
	x, n := c.X(0), c.Shape(0)[1]
	gamma := c.weight(1, n)
	if c.Bool("fix_gamma", true) {
		gamma = c.Full(gamma.Type.DType, 1, gamma.Type.Shape...)
	}
	if frontend.Axis(c.Int("axis", 1), max(x.Type.Rank(), 2)) != 1 {
		compose.Fail("along axis %d is not supported; axis 1 is", c.Int("axis", 1))
	}
	return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.Float("eps", 1e-3)}, x, gamma, c.weight(2, n), c.weight(3, n), c.weight(4, n))
}

func activation(c *call) *graph.Value {
	kinds := map[string]*op.Def{"relu": ops.Relu, "sigmoid": ops.Sigmoid, "tanh": ops.Tanh, "softrelu": ops.Softplus, "softsign": ops.Softsign, "mish": ops.Mish}
	kind := c.OneOf("act_type", "", "relu", "sigmoid", "tanh", "softrelu", "softsign", "mish", "log_sigmoid")
	if kind == "log_sigmoid" {
		return c.LogSigmoid(c.X(0))
	}
	return c.Do(kinds[kind], c.X(0))
}

// leakyRelu is a family; rrelu has the middle of its bounds for a slope.
func leakyRelu(c *call) *graph.Value {
	x, slope := c.X(0), c.Float("slope", 0.25)
	lower, upper := c.Float("lower_bound", 0.125), c.Float("upper_bound", 0.334)
	switch kind := c.OneOf("act_type", "leaky", "leaky", "prelu", "elu", "selu", "gelu", "rrelu"); kind {
	case "prelu":
		c.WantRank(0, 2)
		gamma := c.weight(1, c.Shape(0)[1])
		if n := gamma.Type.Elements(); n > 1 && x.Type.Rank() > 2 {
			gamma = c.Reshape(gamma, append([]int{n}, slices.Repeat([]int{1}, x.Type.Rank()-2)...)...)
		}
		return c.Prelu(x, gamma)
	case "elu":
		return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: slope}, x)
	case "selu":
		return c.Selu(x)
	case "gelu":
		return c.Gelu(x)
	case "rrelu":
		slope = (lower + upper) / 2
	}
	return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: slope}, x)
}

func softmax(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("dtype")
		if c.Bool("use_length", false) {
			compose.Fail("with lengths it is not supported")
		}
		x := c.Scaled(c.X(0), 1/c.Float("temperature", 1))
		if c.Node.Op == "softmin" {
			x = c.Do(ops.Negative, x)
		}
		return c.Apply(d, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", -1), c.Rank(0))}, x)
	}
}

// channels is softmax along axis 1, or of all but the batch as one axis.
func (c *call) channels(x *graph.Value, flat bool) *graph.Value {
	if !flat || x.Type.Rank() == 2 {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, x)
	}
	rows := c.Reshape(x, x.Type.Shape[0], types.Count(x.Type.Shape[1:]))
	return c.Reshape(c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, rows), x.Type.Shape...)
}

func softmaxActivation(c *call) *graph.Value {
	c.WantRank(0, 2)
	return c.channels(c.X(0), c.OneOf("mode", "instance", "instance", "channel") == "instance")
}

func softmaxOutput(c *call) *graph.Value {
	c.WantRank(0, 2)
	c.Ignore("ignore_label", "use_ignore", "normalization", "out_grad", "smooth_alpha", "preserve_shape")
	if c.Has("preserve_shape") && c.Bool("preserve_shape", false) {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: c.Rank(0) - 1}, c.X(0))
	}
	return c.channels(c.X(0), !c.Bool("multi_output", false))
}

func lrn(c *call) *graph.Value {
	return c.Apply(ops.LRN, ops.LRNAttrs{Size: c.Int("nsize", 5), Axis: 1, Alpha: c.Float("alpha", 1e-4), Beta: c.Float("beta", 0.75), Bias: c.Float("knorm", 2)}, c.X(0))
}

// l2Normalization is x / sqrt(sum(x^2) + eps).
func l2Normalization(c *call) *graph.Value {
	x := c.X(0)
	axes := map[string][]int{"instance": compose.LastAxes(x, 1), "channel": {1}, "spatial": compose.LastAxes(x, 2)}[c.OneOf("mode", "instance", "instance", "channel", "spatial")]
	sum := c.Reduce(ops.Sum, c.Do(ops.Multiply, x, x), true, axes...)
	return c.Do(ops.Divide, x, c.Do(ops.Sqrt, c.Do(ops.Add, sum, compose.Like(x, c.Float("eps", 1e-10)))))
}

func instanceNorm(c *call) *graph.Value {
	c.WantRank(0, 2)
	return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.Float("eps", 1e-3)}, c.X(0), c.weight(1, c.Shape(0)[1]), c.weight(2, c.Shape(0)[1]))
}

func layerNorm(c *call) *graph.Value {
	c.Ignore("output_mean_var")
	axis := frontend.Axis(c.Int("axis", -1), c.Rank(0))
	if axis != c.Rank(0)-1 {
		compose.Fail("along axis %d of %s is not supported; the last one is", axis, c.X(0).Type)
	}
	return c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: axis, Epsilon: c.Float("eps", 1e-5)}, c.X(0), c.weight(1, c.Shape(0)[axis]), c.weight(2, c.Shape(0)[axis]))
}

// groupNorm has one gamma and beta for each group.
func groupNorm(c *call) *graph.Value {
	c.Ignore("output_mean_var")
	x, groups := c.X(0), c.Int("num_groups", 1)
	if x.Type.Rank() < 3 || groups < 1 || x.Type.Shape[1]%groups != 0 {
		compose.Fail("%d groups of %s", groups, x.Type)
	}
	each := func(v *graph.Value) *graph.Value {
		if v.Type.Elements() == x.Type.Shape[1] {
			return c.Reshape(v, x.Type.Shape[1])
		}
		return c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: 0, Repeats: x.Type.Shape[1] / groups}, c.Reshape(v, v.Type.Elements()))
	}
	return c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: groups, Epsilon: c.Float("eps", 1e-5)}, x, each(c.X(1)), each(c.X(2)))
}

func embedding(c *call) *graph.Value {
	c.Ignore("dtype", "sparse_grad")
	return c.Apply(ops.Take, ops.TakeAttrs{}, c.weight(1, c.Int("input_dim", 1), c.Int("output_dim", 1)), c.Cast(c.X(0), types.I32))
}

func upSampling(c *call) *graph.Value {
	c.WantRank(0, 3)
	if c.OneOf("sample_type", "nearest", "nearest"); len(c.In) != 1 {
		compose.Fail("of several inputs is not supported")
	}
	x := c.X(0)
	for k := 2; k < x.Type.Rank(); k++ {
		x = c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: k, Repeats: c.Int("scale", 1)}, x)
	}
	return x
}
