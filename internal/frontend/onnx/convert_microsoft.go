package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// ONNX Runtime's fused operators in float.
var microsoftRows = []row{
	{"FusedConv", microsoft, 1, one(fusedConv)}, {"FusedGemm", microsoft, 1, one(fusedGemm)}, {"FusedMatMul", microsoft, 1, one(fusedMatMul)},
	{"Gelu", microsoft, 1, one(microsoftGelu)}, {"BiasGelu", microsoft, 1, one(biasGelu)}, {"FastGelu", microsoft, 1, one(fastGelu)},
	{"QuickGelu", microsoft, 1, one(quickGelu)}, {"LayerNormalization", "", 1, layerNorm},
	{"SimplifiedLayerNormalization", "", 1, one(rmsNorm)},
	{"SkipLayerNormalization", microsoft, 1, skipLayerNorm}, {"SkipSimplifiedLayerNormalization", microsoft, 1, skipRMSNorm},
	{"EmbedLayerNormalization", microsoft, 1, embedLayerNorm}, {"Attention", microsoft, 1, one(microsoftAttention)},
	{"MatMulNBits", microsoft, 1, one(matMulNBits)},
}

// activated applies the function that attribute activation names; parameters come by the attributes named.
func (c *call) activated(x *graph.Value, alpha, beta float64) *graph.Value {
	switch name := c.Str("activation", ""); name {
	case "":
		return x
	case "Relu":
		return c.Do(ops.Relu, x)
	case "Tanh":
		return c.Do(ops.Tanh, x)
	case "Sigmoid":
		return c.Do(ops.Sigmoid, x)
	case "LeakyRelu":
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: alpha}, x)
	case "Clip":
		return c.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, Min: alpha, HasMax: true, Max: beta}, x)
	case "HardSigmoid":
		return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: alpha, Beta: beta}, x)
	default:
		compose.Fail("activation %q is not supported", name)
		return nil
	}
}

// fusedConv is Conv, plus operand 3, and an activation.
func fusedConv(c *call) *graph.Value {
	y := conv(c)
	if c.Present(3) {
		y = c.Do(ops.Add, y, c.X(3))
	}
	p := append(c.Floats("activation_params"), 0, 0)
	return c.activated(y, p[0], p[1])
}

func fusedGemm(c *call) *graph.Value {
	c.Ignore("activation_gamma")
	return c.activated(gemm(c), c.Float("activation_alpha", 0), c.Float("activation_beta", 0))
}

// fusedMatMul is alpha*A*B. transBatch moves the batch axes of an operand between its matrix axes.
func fusedMatMul(c *call) *graph.Value {
	x, y := c.X(0), c.X(1)
	ta, tb := c.Bool("transA", false), c.Bool("transB", false)
	alpha := c.Float("alpha", 1)
	if c.Bool("transBatchA", false) || c.Bool("transBatchB", false) {
		compose.Fail("transBatchA and transBatchB are not supported")
	}
	if x.Type.Rank() < 2 || y.Type.Rank() < 2 {
		return c.Scaled(c.NumpyMatmul(x, y), alpha)
	}
	if tb && !ta && y.Type.Rank() == 2 {
		return c.Scaled(c.Do(ops.Dense, x, y), alpha)
	}
	return c.Scaled(c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: ta, TransposeB: tb}, x, y), alpha)
}

func microsoftGelu(c *call) *graph.Value { return c.Gelu(c.X(0)) }

func biasGelu(c *call) *graph.Value { return c.Gelu(c.Do(ops.Add, c.X(0), c.X(1))) }

func fastGelu(c *call) *graph.Value {
	x := c.X(0)
	if c.Present(1) {
		x = c.Do(ops.Add, x, c.X(1))
	}
	return c.GeluTanh(x)
}

func quickGelu(c *call) *graph.Value { return c.Swish(c.X(0), c.Float("alpha", 1.702)) }

// skipLayerNorm normalises input + skip + bias; output 3 is that sum.
func skipLayerNorm(c *call) values {
	sum := c.Do(ops.Add, c.X(0), c.X(1))
	if c.Present(4) {
		sum = c.Do(ops.Add, sum, c.X(4))
	}
	in := values{sum, c.X(2)}
	if c.Present(3) {
		in = append(in, c.X(3))
	}
	a := ops.LayerNormAttrs{Axis: sum.Type.Rank() - 1, Epsilon: c.Float("epsilon", float64(float32(1e-12)))}
	return values{c.Apply(ops.LayerNorm, a, in...), nil, nil, sum}
}

func skipRMSNorm(c *call) values {
	sum := c.Do(ops.Add, c.X(0), c.X(1))
	if c.Present(3) {
		sum = c.Do(ops.Add, sum, c.X(3))
	}
	a := ops.LayerNormAttrs{Axis: sum.Type.Rank() - 1, Epsilon: c.Float("epsilon", float64(float32(1e-12)))}
	return values{c.Apply(ops.RMSNorm, a, sum, c.X(2)), nil, nil, sum}
}

// embedLayerNorm adds the embeddings of words, positions and segments and normalises the sum. Output 1 is the number of
// unmasked words of each batch entry, output 2 the sum.
func embedLayerNorm(c *call) values {
	ids := c.X(0)
	if ids.Type.Rank() != 2 {
		compose.Fail("input_ids are %s, not [batch, words]", ids.Type)
	}
	c.Ignore("mask_index_type")
	batch, words := ids.Type.Shape[0], ids.Type.Shape[1]
	sum := c.Apply(ops.Take, ops.TakeAttrs{}, c.X(2), ids)
	positions := c.Arange(words)
	if c.Present(8) {
		positions = c.X(8)
	}
	sum = c.Do(ops.Add, sum, c.Apply(ops.Take, ops.TakeAttrs{}, c.X(3), positions))
	if c.Present(1) && c.Present(4) {
		sum = c.Do(ops.Add, sum, c.Apply(ops.Take, ops.TakeAttrs{}, c.X(4), c.X(1)))
	}
	a := ops.LayerNormAttrs{Axis: 2, Epsilon: c.Float("epsilon", float64(float32(1e-12)))}
	count := c.Full(types.I32, 0, batch)
	if c.Present(7) {
		count = c.Reduce(ops.Sum, c.Cast(c.X(7), types.I32), false, 1)
	}
	return values{c.Apply(ops.LayerNorm, a, sum, c.X(5), c.X(6)), count, sum}
}

// microsoftAttention is self-attention of input [batch, words, width] by joined weights of query, key and value. The
// mask holds 0 for what must not be attended to ([batch, words], with further axes up to [batch, words, words]), or the
// number of words of each batch entry.
func microsoftAttention(c *call) *graph.Value {
	for i, what := range map[int]string{4: "past", 5: "attention_bias", 6: "past_sequence_length"} {
		if c.Present(i) {
			compose.Fail("operand %q is not supported", what)
		}
	}
	if c.Bool("do_rotary", false) {
		compose.Fail("do_rotary is not supported")
	}
	c.Ignore("past_present_share_buffer", "rotary_embedding_dim")
	x, w := c.X(0), c.X(1)
	if x.Type.Rank() != 3 || w.Type.Rank() != 2 || w.Type.Shape[1]%3 != 0 {
		compose.Fail("input %s and weights %s", x.Type, w.Type)
	}
	width := slices.Repeat([]int{w.Type.Shape[1] / 3}, 3)
	if s := c.Ints("qkv_hidden_sizes"); len(s) == 3 {
		width = s
	}
	qkv := c.Matmul(x, w)
	if c.Present(2) {
		qkv = c.Do(ops.Add, qkv, c.X(2))
	}
	parts := c.Split(qkv, 2, width...)
	heads := c.Int("num_heads", 0)
	if heads < 1 || width[0]%heads != 0 || width[2]%heads != 0 {
		compose.Fail("%s of widths %v", spelling.Count(heads, "head"), width)
	}
	a := compose.Attention{Scale: c.Float("scale", 0), Causal: c.Bool("unidirectional", false)}
	for i, v := range []**graph.Value{&a.Q, &a.K, &a.V} {
		*v = c.Heads(parts[i], heads)
	}
	a.Bias = c.maskBias(x, c.Float("mask_filter_value", -10000))
	y, _ := c.Attend(a)
	return c.JoinHeads(y)
}

// maskBias is what operand 3 adds to scores, of a shape that broadcasts to [batch, heads, words, words]; nil without it.
func (c *call) maskBias(x *graph.Value, masked float64) *graph.Value {
	m := c.Opt(3)
	if m == nil {
		return nil
	}
	batch, words := x.Type.Shape[0], x.Type.Shape[1]
	var keep *graph.Value
	switch shape := m.Type.Shape; {
	case slices.Equal(shape, []int{batch}):
		keep = c.Do(ops.Less, c.Reshape(c.Arange(words), 1, 1, 1, words), c.Reshape(c.Cast(m, types.I64), batch, 1, 1, 1))
	case slices.Equal(shape, []int{batch, words}):
		keep = c.Cast(c.Reshape(m, batch, 1, 1, words), types.Bool)
	case slices.Equal(shape, []int{batch, words, words}):
		keep = c.Cast(c.Reshape(m, batch, 1, words, words), types.Bool)
	default:
		compose.Fail("a mask of shape %v is not supported", shape)
	}
	return c.Do(ops.Where, keep, compose.Like(x, 0), compose.Like(x, masked))
}
