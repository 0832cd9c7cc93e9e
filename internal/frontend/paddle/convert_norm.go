package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var normRows = []row{
	{"batch_norm", one(batchNorm)}, {"sync_batch_norm", one(batchNorm)}, {"inplace_abn", one(batchNorm)}, {"layer_norm", one(layerNorm)}, {"group_norm", one(groupNorm)},
	{"instance_norm", one(instanceNorm)}, {"lrn", one(lrn)}, {"norm", one(l2Norm)}, {"affine_channel", one(affineChannel)},
}

func batchNorm(c *call) *graph.Value {
	c.Ignore("use_global_stats", "activation", "alpha")
	if f := c.Str("activation", ""); c.Node.Op == "inplace_abn" && f != "" && f != "identity" {
		compose.Fail("with the activation %s is not supported", f)
	}
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.Float("epsilon", 1e-5)}, x, c.operand("Scale"), c.operand("Bias"), c.operand("Mean"), c.operand("Variance")))
}

// layerNorm takes the axes from begin_norm_axis on as one.
func layerNorm(c *call) *graph.Value {
	x := c.x()
	axis := c.axis("begin_norm_axis", 1)
	s := x.Type.Shape
	n := types.Count(s[axis:])
	flat := c.Reshape(x, append(slices.Clone(s[:axis]), n)...)
	in := values{flat}
	for i, slot := range []string{"Scale", "Bias"} {
		v := c.optional(slot)
		if v == nil {
			v = c.Full(x.Type.DType, float64(1-i), n)
		}
		in = append(in, c.Reshape(v, n))
	}
	return c.Reshape(c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: axis, Epsilon: c.Float("epsilon", 1e-5)}, in...), s...)
}

// affine are scale and bias of n channels, 1 and 0 where they are absent.
func (c *call) affine(x *graph.Value) values {
	n := x.Type.Shape[1]
	in := values{x, c.optional("Scale"), c.optional("Bias")}
	for i, v := range in[1:] {
		if v == nil {
			in[1+i] = c.Full(x.Type.DType, float64(1-i), n)
		}
	}
	return in
}

func groupNorm(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: c.Int("groups", 1), Epsilon: c.Float("epsilon", 1e-5)}, c.affine(x)...))
}

func instanceNorm(c *call) *graph.Value {
	c.WantRankOf(c.x(), 3)
	return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.Float("epsilon", 1e-5)}, c.affine(c.x())...)
}

// lrn has an alpha that is not divided by the number of channels.
func lrn(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	n := c.Int("n", 5)
	return back(c.Apply(ops.LRN, ops.LRNAttrs{Size: n, Axis: 1, Alpha: c.Float("alpha", 1e-4) * float64(n), Beta: c.Float("beta", 0.75), Bias: c.Float("k", 2)}, x))
}

// l2Norm is x / sqrt(sum(x^2) + epsilon) along an axis.
func l2Norm(c *call) *graph.Value {
	x := c.x()
	sum := c.SumSquare(x, true, c.axis("axis", -1))
	return c.Do(ops.Divide, x, c.Do(ops.Sqrt, c.Do(ops.Add, sum, compose.Like(x, c.Float("epsilon", 1e-10)))))
}

func affineChannel(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Do(ops.Add, c.Do(ops.Multiply, x, c.along(c.operand("Scale"), x, 1)), c.along(c.operand("Bias"), x, 1)))
}
