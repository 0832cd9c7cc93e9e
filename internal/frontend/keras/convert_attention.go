package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var attentionRows = []row{{"MultiHeadAttention", one(multiHead)}}

// multiHead is Keras's MultiHeadAttention of a query and a value, and a key where it is not the value. Weights are the kernels
// [width, heads, size] and biases [heads, size] of query, key and value, and those of the output, [heads, size, width] and [width].
func multiHead(c *call) *graph.Value {
	c.Ignore("num_heads", "key_dim", "value_dim", "return_attention_scores", "training")
	if c.Bool("return_attention_scores", false) || c.Has("output_shape") || c.Has("attention_axes") && len(c.Ints("attention_axes")) != 1 {
		compose.Fail("with scores, an output shape or several axes it is not supported")
	}
	c.Ignore("query_shape", "key_shape", "value_shape", "attention_axes", "use_gate")
	operand := func(name string, at int) *graph.Value {
		if i, ok := c.named[name]; ok {
			return c.X(i)
		}
		if at < c.data && at < c.data-len(c.named) {
			return c.X(at)
		}
		return nil
	}
	query, value, key := operand("query", 0), operand("value", 1), operand("key", 2)
	if query == nil || value == nil || c.named["attention_mask"] > 0 {
		compose.Fail("it needs a query and a value, and no mask")
	}
	if key == nil {
		key = value
	}
	next := 0
	bias := c.Bool("use_bias", true)
	take := func() *graph.Value { next++; return c.weight(next - 1) }
	project := func(x *graph.Value) *graph.Value { // [batch, heads, words, size]
		w := take()
		if w.Type.Rank() != 3 || x.Type.Rank() != 3 {
			compose.Fail("a projection %s of %s", w.Type, x.Type)
		}
		heads, size := w.Type.Shape[1], w.Type.Shape[2]
		y := c.Matmul(x, c.Reshape(w, w.Type.Shape[0], heads*size))
		if bias {
			y = c.Do(ops.Add, y, c.Reshape(take(), heads*size))
		}
		return c.Transpose(c.Reshape(y, x.Type.Shape[0], x.Type.Shape[1], heads, size), 0, 2, 1, 3)
	}
	q, k, v := project(query), project(key), project(value)
	y, _ := c.Attend(compose.Attention{Q: q, K: k, V: v, Causal: c.Bool("use_causal_mask", false)})
	s := y.Type.Shape
	out := take()
	y = c.Matmul(c.Reshape(c.Transpose(y, 0, 2, 1, 3), s[0], s[2], s[1]*s[3]), c.Reshape(out, s[1]*s[3], out.Type.Shape[2]))
	if bias {
		y = c.Do(ops.Add, y, take())
	}
	return y
}
