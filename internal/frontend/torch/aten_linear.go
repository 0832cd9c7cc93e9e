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
	sig("einsum", "equation:s tensors:L path", func(c *call) any { return c.Einsum(c.str("equation", ""), c.values("tensors")...) }),
	sig("einsum", "equation:s operand:T", func(c *call) any { return c.Einsum(c.str("equation", ""), c.x("operand")) }),
	sig("tensordot", "self other dims_self:I dims_other:I", tensordot),
	sig("scaled_dot_product_attention", "query key value attn_mask dropout_p:n is_causal:b scale enable_gqa:b", attention),
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
