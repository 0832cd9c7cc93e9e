package onnx

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var attentionRows = []row{
	{"Attention", "", 23, attention}, {"RotaryEmbedding", "", 23, one(rotaryEmbedding)},
	{"SwiGLU", "", 27, one(swiGLU)}, {"CausalConvWithState", "", 27, causalConvWithState},
}

// attention takes [batch, heads, words, width], or [batch, words, heads*width] with the numbers of heads as attributes.
func attention(c *call) values {
	a := compose.Attention{Scale: c.Float("scale", 0), Softcap: c.Float("softcap", 0), Causal: c.Bool("is_causal", false)}
	qHeads, kvHeads := c.Int("q_num_heads", 0), c.Int("kv_num_heads", 0)
	flat := c.Rank(0) == 3
	for i, v := range []**graph.Value{&a.Q, &a.K, &a.V} {
		*v = c.X(i)
		if heads := []int{qHeads, kvHeads, kvHeads}[i]; flat {
			*v = c.Heads(*v, heads)
		}
		if (*v).Type.Rank() != 4 {
			compose.Fail("operand %d is %s", i, (*v).Type)
		}
	}
	past := 0
	if c.Present(4) && c.Present(5) {
		if c.Rank(4) != 4 || c.Rank(5) != 4 {
			compose.Fail("past keys %s and values %s", c.X(4).Type, c.X(5).Type)
		}
		past = c.X(4).Type.Shape[2]
		a.K, a.V = c.Concat(2, c.X(4), a.K), c.Concat(2, c.X(5), a.V)
	}
	if n := c.Int("softmax_precision", 0); n != 0 {
		a.Wide = c.DType("softmax_precision", 0)
	}
	a.Offset = past
	presentKey, presentValue := a.K, a.V
	c.attentionBias(&a)
	y, s := c.Attend(a)
	if flat {
		y = c.JoinHeads(y)
	}
	mode := c.Int("qk_matmul_output_mode", 0)
	if mode < 0 || mode > 3 {
		compose.Fail("qk_matmul_output_mode is %d", mode)
	}
	return values{y, presentKey, presentValue, []*graph.Value{s.Raw, s.Capped, s.Biased, s.Softmax}[mode]}
}

// attentionBias joins the mask, which may be bool and shorter than the keys, the lengths of the keys that are no padding,
// and the causal mask that these lengths shift.
func (c *call) attentionBias(a *compose.Attention) {
	like, keys := a.Q, a.K.Type.Shape[2]
	never := compose.Like(like, math.Inf(-1))
	if m := c.Opt(3); m != nil {
		c.WantRank(3, 1)
		if m.Type.DType == types.Bool {
			m = c.Do(ops.Where, m, compose.Like(like, 0), never)
		}
		if short := keys - m.Type.Shape[m.Type.Rank()-1]; short > 0 && m.Type.Shape[m.Type.Rank()-1] > 0 {
			after := make([]int, m.Type.Rank())
			after[len(after)-1] = short
			m = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: make([]int, len(after)), PadAfter: after, Mode: "constant"}, m, compose.Like(m, math.Inf(-1)))
		}
		a.Bias = c.Cast(m, like.Type.DType)
	}
	lens := c.Opt(6)
	if lens == nil {
		return
	}
	batch, words := a.Q.Type.Shape[0], a.Q.Type.Shape[2]
	lens = c.Reshape(c.Cast(lens, types.I64), batch, 1, 1, 1)
	column := c.Reshape(c.Arange(keys), 1, 1, 1, keys)
	keep := c.Do(ops.Less, column, lens)
	if a.Causal {
		row := c.Reshape(c.Arange(words), 1, 1, words, 1)
		last := c.Do(ops.Add, row, c.Do(ops.Subtract, lens, compose.Number(types.I64, float64(words))))
		keep = c.Do(ops.LogicalAnd, keep, c.Do(ops.LessEqual, column, last))
		a.Causal = false
	}
	bias := c.Do(ops.Where, keep, compose.Like(like, 0), never)
	if a.Bias != nil {
		bias = c.Do(ops.Add, a.Bias, bias)
	}
	a.Bias = bias
}

// rotaryEmbedding rotates pairs of the first elements of each head by angles whose cosine and sine stand in caches, by
// position.
func rotaryEmbedding(c *call) *graph.Value {
	in := c.X(0)
	x, heads := in, c.Int("num_heads", 0)
	if in.Type.Rank() == 3 {
		x = c.Heads(in, heads)
	}
	if x.Type.Rank() != 4 {
		compose.Fail("operand %s", in.Type)
	}
	width, words := x.Type.Shape[3], x.Type.Shape[2]
	rotated := c.Int("rotary_embedding_dim", 0)
	if rotated == 0 {
		rotated = width
	}
	if rotated%2 != 0 || rotated < 2 || rotated > width {
		compose.Fail("rotary_embedding_dim is %d, heads are %d wide", rotated, width)
	}
	table := func(i int) *graph.Value {
		t := c.X(i)
		if c.Present(3) {
			t = c.Apply(ops.Take, ops.TakeAttrs{}, t, c.X(3))
		}
		if t.Type.Rank() != 3 || t.Type.Shape[1] != words {
			compose.Fail("cache %s for %s", t.Type, spelling.Count(words, "word"))
		}
		return c.ExpandDims(c.Slice(t, 2, 0, rotated/2), 1) // [batch, 1, words, rotated/2]
	}
	parts := values{x}
	if rotated < width {
		parts = c.Split(x, 3, rotated, width-rotated)
	}
	turned := c.Rotate(parts[0], table(1), table(2), c.Bool("interleaved", false))
	y := c.Concat(3, append(values{turned}, parts[1:]...)...)
	if in.Type.Rank() == 3 {
		return c.JoinHeads(y)
	}
	return y
}

func swiGLU(c *call) *graph.Value {
	return c.Do(ops.Multiply, c.Swish(c.X(0), c.Float("alpha", 1)), c.X(1))
}

// causalConvWithState is a depthwise convolution along the words that sees the past only: the state holds the last
// inputs of the call before.
func causalConvWithState(c *call) values {
	x, w := c.X(0), c.X(1)
	if x.Type.Rank() != 3 || w.Type.Rank() != 3 || w.Type.Shape[2] < 1 {
		compose.Fail("input %s and weight %s", x.Type, w.Type)
	}
	before := w.Type.Shape[2] - 1
	state := c.Opt(3)
	if state == nil {
		state = c.Full(x.Type.DType, 0, x.Type.Shape[0], x.Type.Shape[1], before)
	}
	padded := x
	if before > 0 {
		padded = c.Concat(2, state, x)
	}
	in := values{padded, w}
	if c.Present(2) {
		in = append(in, c.X(2))
	}
	y := c.Apply(ops.Conv1d, ops.ConvAttrs{Strides: []int{1}, Padding: []int{0, 0}, Dilation: []int{1}, Groups: x.Type.Shape[1]}, in...)
	if slices.Contains([]string{"silu", "swish"}, c.OneOf("activation", "none", "none", "silu", "swish")) {
		y = c.Swish(y, 1)
	}
	n := padded.Type.Shape[2]
	return values{y, c.Slice(padded, 2, n-before, n)}
}
