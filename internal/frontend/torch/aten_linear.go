package torch

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var linearRows = []row{
	sig("linear", "input weight bias", func(c *call) any {
		x := c.x("input")
		if c.x("weight").Type.Rank() == 1 {
			return c.plusBias(c.NumpyMatmul(x, c.x("weight")), "bias")
		}
		return c.plusBias(c.dense(x, c.x("weight")), "bias")
	}),
	sig("matmul mm bmm mv dot inner vdot", "self other", func(c *call) any { x, y := c.both("self", "other"); return c.NumpyMatmul(x, y) }),
	sig("mm bmm", "self mat2", func(c *call) any { return c.NumpyMatmul(c.x("self"), c.x("mat2")) }), sig("mv", "self vec", func(c *call) any { return c.NumpyMatmul(c.x("self"), c.x("vec")) }),
	sig("dot", "self tensor", func(c *call) any { return c.NumpyMatmul(c.x("self"), c.x("tensor")) }),
	sig("addmm", "self mat1 mat2 beta:n alpha:n", func(c *call) any { return c.added(c.Matmul(c.x("mat1"), c.x("mat2"))) }),
	sig("addmv", "self mat vec beta:n alpha:n", func(c *call) any { return c.added(c.NumpyMatmul(c.x("mat"), c.x("vec"))) }),
	sig("baddbmm", "self batch1 batch2 beta:n alpha:n", func(c *call) any { return c.added(c.Matmul(c.x("batch1"), c.x("batch2"))) }),
	sig("addbmm", "self batch1 batch2 beta:n alpha:n", func(c *call) any { return c.added(c.Reduce(ops.Sum, c.Matmul(c.x("batch1"), c.x("batch2")), false, 0)) }),
	sig("outer ger", "self vec2", func(c *call) any { return c.Do(ops.Multiply, c.ExpandDims(c.x("self"), 1), c.x("vec2")) }),
	sig("einsum", "equation:s tensors:L path", func(c *call) any { return c.Einsum(c.str("equation", ""), c.values("tensors")...) }),
	sig("einsum", "equation:s operand:T", func(c *call) any { return c.Einsum(c.str("equation", ""), c.x("operand")) }),
	sig("tensordot", "self other dims_self:I dims_other:I", tensordot),
	sig("bilinear", "input1 input2 weight bias", func(c *call) any {
		return c.plusBias(c.Einsum("...i,oij,...j->...o", c.x("input1"), c.x("weight"), c.x("input2")), "bias")
	}),
	sig("cdist", "x1 x2 p:n compute_mode", cdist),
	sig("chain_matmul linalg_multi_dot", "matrices:L", func(c *call) any {
		list := c.values("matrices")
		y := list[0]
		for _, x := range list[1:] {
			y = c.Matmul(y, x)
		}
		return y
	}),
	sig("scaled_dot_product_attention", "query key value attn_mask dropout_p:n is_causal:b scale enable_gqa:b", attention),
	sig("_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention", "query key value dropout_p:n is_causal:b return_debug_mask:b attn_mask scale", func(c *call) any {
		return tuple{c.fresh(attention(c).(*graph.Value)), nil}
	}),
	sig("_native_multi_head_attention", "query key value embed_dim:i num_head:i qkv_weight qkv_bias proj_weight proj_bias mask need_weights:b average_attn_weights:b mask_type", nativeAttention),
	sig("_transformer_encoder_layer_fwd", "src embed_dim:i num_heads:i qkv_weight qkv_bias proj_weight proj_bias use_gelu:b norm_first:b eps:n norm_weight_1 norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 ffn_bias_2 mask mask_type", encoderLayer),
	sig("prepacked.linear_clamp_run", "input packed", func(c *call) any {
		p := c.packed("packed")
		return c.clamped(p, c.plus(c.dense(c.x("input"), p.weight.v), p.bias))
	}),
	sig("prepacked.conv2d_clamp_run prepacked.conv2d_transpose_clamp_run", "input packed", func(c *call) any { p := c.packed("packed"); return c.clamped(p, c.packedConv(p, c.x("input"))) }),
}

// dense is x times the transpose of a weight.
func (m *machine) dense(x, w *graph.Value) *graph.Value {
	d := promoteTypes(x.Type.DType, w.Type.DType)
	if x.Type.Rank() == 0 {
		fail("data without axes")
	}
	if x.Type.Rank() == 1 {
		return m.Squeeze(m.Do(ops.Dense, m.Cast(m.ExpandDims(x, 0), d), m.Cast(w, d)), 0)
	}
	return m.Do(ops.Dense, m.Cast(x, d), m.Cast(w, d))
}

// plusBias is y plus an argument, if it is given.
func (c *call) plusBias(y *graph.Value, name string) *graph.Value { return c.plus(y, c.opt(name)) }

func (m *machine) plus(y, bias *graph.Value) *graph.Value {
	if bias == nil {
		return y
	}
	return m.Do(ops.Add, y, m.Cast(bias, y.Type.DType))
}

// added is beta*self + alpha*product.
func (c *call) added(product *graph.Value) any {
	y := c.Scaled(product, c.num("alpha", 1))
	if beta := c.num("beta", 1); beta != 0 {
		y = c.Do(ops.Add, y, c.Cast(c.Scaled(c.x("self"), beta), y.Type.DType))
	}
	return y
}

func tensordot(c *call) any {
	x, y := c.both("self", "other")
	p, q := c.ints("dims_self"), c.ints("dims_other")
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if x.Type.Rank()+y.Type.Rank() > len(letters) || len(p) != len(q) {
		fail("tensordot of %s and %s", x.Type, y.Type)
	}
	left, right, out := []byte(letters[:x.Type.Rank()]), []byte(letters[x.Type.Rank():x.Type.Rank()+y.Type.Rank()]), []byte{}
	for i := range p {
		a, b := (p[i]+len(left))%len(left), (q[i]+len(right))%len(right)
		right[b] = left[a]
	}
	for _, l := range left {
		if !slices.Contains(right, l) {
			out = append(out, l)
		}
	}
	for _, r := range right {
		if !slices.Contains(left, r) {
			out = append(out, r)
		}
	}
	return c.Einsum(string(left)+","+string(right)+"->"+string(out), x, y)
}

// cdist is the distance of each row of x1 to each of x2.
func cdist(c *call) any {
	x, y := c.both("x1", "x2")
	d := c.Do(ops.Subtract, c.ExpandDims(x, x.Type.Rank()-1), c.ExpandDims(y, y.Type.Rank()-2))
	return c.LpNorm(d, c.num("p", 2), false, d.Type.Rank()-1)
}

// attention is softmax(Q K^T scale + mask) V over the last two axes.
func attention(c *call) any {
	q, k, v := c.x("query"), c.x("key"), c.x("value")
	rank := q.Type.Rank()
	if rank < 2 || k.Type.Rank() != rank || v.Type.Rank() != rank {
		fail("attention of %s, %s and %s", q.Type, k.Type, v.Type)
	}
	shape := q.Type.Shape
	four := func(x *graph.Value) *graph.Value { // [batch, heads, words, width]
		for x.Type.Rank() < 4 {
			x = c.ExpandDims(x, 0)
		}
		if n := x.Type.Rank(); n > 4 {
			return c.Reshape(x, types.Count(x.Type.Shape[:n-3]), x.Type.Shape[n-3], x.Type.Shape[n-2], x.Type.Shape[n-1])
		}
		return x
	}
	a := compose.Attention{Q: four(q), K: four(k), V: four(v), Causal: c.bool("is_causal", false), Scale: c.num("scale", 0)}
	if mask := c.opt("attn_mask"); mask != nil {
		a.Bias = c.maskBias(mask, q.Type.DType)
		if rank > 4 {
			a.Bias = four(c.BroadcastTo(a.Bias, append(slices.Clone(shape[:rank-1]), k.Type.Shape[rank-2])...))
		}
	}
	y, _ := c.Attend(a)
	return c.Reshape(y, append(slices.Clone(shape[:rank-1]), v.Type.Shape[rank-1])...)
}

// maskBias is a mask as what is added to scores: truth values say where to attend.
func (m *machine) maskBias(mask *graph.Value, d types.DType) *graph.Value {
	if mask.Type.DType != types.Bool {
		return m.Cast(mask, d)
	}
	return m.Do(ops.Where, mask, compose.Number(d, 0), compose.Number(d, math.Inf(-1)))
}

// nativeAttention is the fused self attention of nn.MultiheadAttention.
func nativeAttention(c *call) any {
	if c.args["query"] != c.args["key"] || c.given("mask") {
		fail("attention to other words, or with a mask, is not supported in this form")
	}
	return tuple{c.fresh(c.selfAttention(c.x("query"), c.int("num_head", 1))), nil}
}

// selfAttention projects x to queries, keys and values with one weight, attends, and projects back.
func (c *call) selfAttention(x *graph.Value, heads int) *graph.Value {
	width := x.Type.Shape[x.Type.Rank()-1]
	qkv := c.Split(c.plusBias(c.dense(x, c.x("qkv_weight")), "qkv_bias"), x.Type.Rank()-1, width, width, width)
	y, _ := c.Attend(compose.Attention{Q: c.Heads(qkv[0], heads), K: c.Heads(qkv[1], heads), V: c.Heads(qkv[2], heads)})
	return c.plusBias(c.dense(c.JoinHeads(y), c.x("proj_weight")), "proj_bias")
}

// encoderLayer is the fused form of nn.TransformerEncoderLayer.
func encoderLayer(c *call) any {
	if c.given("mask") {
		fail("a mask is not supported in this form")
	}
	x := c.x("src")
	norm := func(x *graph.Value, i string) *graph.Value {
		return c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: x.Type.Rank() - 1, Epsilon: c.num("eps", 1e-5)}, x, c.x("norm_weight_"+i), c.x("norm_bias_"+i))
	}
	forward := func(x *graph.Value) *graph.Value {
		h := c.plusBias(c.dense(x, c.x("ffn_weight_1")), "ffn_bias_1")
		if c.bool("use_gelu", false) {
			h = c.Gelu(h)
		} else {
			h = c.Do(ops.Relu, h)
		}
		return c.plusBias(c.dense(h, c.x("ffn_weight_2")), "ffn_bias_2")
	}
	if c.bool("norm_first", false) {
		x = c.Do(ops.Add, x, c.selfAttention(norm(x, "1"), c.int("num_heads", 1)))
		return c.Do(ops.Add, x, forward(norm(x, "2")))
	}
	x = norm(c.Do(ops.Add, x, c.selfAttention(x, c.int("num_heads", 1))), "1")
	return norm(c.Do(ops.Add, x, forward(x)), "2")
}
