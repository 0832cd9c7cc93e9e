package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var attentionRows = []row{
	{"MultiHeadAttention", multiHead}, {"GroupQueryAttention", multiHead}, {"Attention", plainAttention}, {"AdditiveAttention", plainAttention},
}

// operand is a data operand by name or, among those that the call does not name, by place; nil where it is not given.
func (c *call) operand(name string, at int) *graph.Value {
	if a, ok := c.named[name]; ok {
		return c.X(a.first)
	}
	if at >= 0 && at < c.positional {
		return c.X(at)
	}
	return nil
}

// multiHead is Keras's attention of a query and a value, and a key where it is not the value. Weights are the kernels [width, heads, size] and
// biases [heads, size] of query, key and value, and those of the output, [heads, size, ...out] and [...out]; with fewer heads of keys and values,
// each serves several of the query. What is attended along is attention_axes; other axes are parts of the batch.
func multiHead(c *call) values {
	c.Ignore("num_heads", "key_dim", "value_dim", "output_shape", "query_shape", "key_shape", "value_shape", "use_gate", "head_dim", "num_query_heads", "num_key_value_heads")
	if c.Has("use_gate") && c.Bool("use_gate", false) {
		compose.Fail("with a gate it is not supported")
	}
	query, value, key := c.operand("query", 0), c.operand("value", 1), c.operand("key", 2)
	if query == nil || value == nil {
		compose.Fail("it needs a query and a value")
	}
	if key == nil {
		key = value
	}
	rank := query.Type.Rank()
	along := frontend.Axes(c.Ints("attention_axes"), rank)
	if len(along) == 0 {
		along = through(1, rank-1)
	}
	if rank < 3 || value.Type.Rank() != rank || key.Type.Rank() != rank {
		compose.Fail("query %s, key %s and value %s", query.Type, key.Type, value.Type)
	}
	// The parts of the batch come first, then what is attended along, then features.
	var order []int
	for k := range rank - 1 {
		if !slices.Contains(along, k) {
			order = append(order, k)
		}
	}
	parts := len(order)
	order = append(append(order, along...), rank-1)
	flat := func(x *graph.Value) *graph.Value {
		x = c.Transpose(x, order...)
		s := x.Type.Shape
		return c.Reshape(x, types.Count(s[:parts]), types.Count(s[parts:rank-1]), s[rank-1])
	}
	bias := c.Bool("use_bias", true)
	next := 0
	take := func() *graph.Value { next++; return c.weight(next - 1) }
	project := func(x *graph.Value) *graph.Value { // [batch, heads, words, size]
		w := take()
		if w.Type.Rank() != 3 || w.Type.Shape[0] != x.Type.Shape[rank-1] {
			compose.Fail("a projection %s of %s", w.Type, x.Type)
		}
		heads, size := w.Type.Shape[1], w.Type.Shape[2]
		x = flat(x)
		y := c.Matmul(x, c.Reshape(w, w.Type.Shape[0], heads*size))
		if bias {
			y = c.Do(ops.Add, y, c.Reshape(take(), heads*size))
		}
		return c.Heads(y, heads)
	}
	a := compose.Attention{Q: project(query), K: project(key), V: project(value), Causal: c.Bool("use_causal_mask", false)}
	if m := c.attentionMask(query, value, key); m != nil {
		s := m.Type.Shape
		if len(s) != 3 {
			compose.Fail("a mask %s", m.Type)
		}
		if s[0] != a.Q.Type.Shape[0] && s[0] != 1 || s[1] != a.Q.Type.Shape[2] && s[1] != 1 || s[2] != a.K.Type.Shape[2] && s[2] != 1 {
			compose.Fail("a mask %s for queries %s and keys %s", m.Type, a.Q.Type, a.K.Type)
		}
		a.Bias = c.ExpandDims(c.forbidden(m, query.Type.DType), 1)
	}
	y, scores := c.Attend(a)
	w := take()
	if w.Type.Rank() < 3 {
		compose.Fail("a projection %s", w.Type)
	}
	out := w.Type.Shape[2:]
	y = c.Matmul(c.JoinHeads(y), c.Reshape(w, w.Type.Shape[0]*w.Type.Shape[1], types.Count(out)))
	if bias {
		y = c.Do(ops.Add, y, c.Reshape(take(), types.Count(out)))
	}
	s := c.Transpose(query, order...).Type.Shape
	y = c.Reshape(y, slices.Concat(s[:rank-1], out)...)
	back := make([]int, rank-1)
	for to, from := range order[:rank-1] {
		back[from] = to
	}
	y = c.Transpose(y, append(back, through(rank-1, y.Type.Rank())...)...)
	list := values{y}
	if c.Bool("return_attention_scores", false) {
		if parts != 1 || len(along) != 1 {
			compose.Fail("scores along axes %v of %s are not supported", along, query.Type)
		}
		list = append(list, scores.Softmax)
	}
	return list
}

// attentionMask is what the masks of query, value and key and the call's own say together, bool [batch, words, keys] with extents of 1 where it is the
// same for all, or nil.
func (c *call) attentionMask(query, value, key *graph.Value) *graph.Value {
	var all values
	for i, x := range c.inputs() {
		m := c.mask(i)
		switch {
		case m == nil:
		case x == query && i == 0:
			all = append(all, c.ExpandDims(m, m.Type.Rank()))
		case x == value || x == key:
			all = append(all, c.ExpandDims(m, 1))
		}
	}
	if m := c.operand("attention_mask", 3); m != nil {
		for m.Type.Rank() < 3 {
			m = c.ExpandDims(m, 0)
		}
		all = append(all, c.truth(m))
	}
	for _, name := range []string{"query_mask", "value_mask", "key_mask"} {
		if m := c.operand(name, -1); m != nil {
			at := 1
			if name == "query_mask" {
				at = 2
			}
			all = append(all, c.ExpandDims(c.truth(m), at))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return c.Fold(ops.LogicalAnd, all...)
}

// plainAttention has a list of query [batch, words, width], value and key, and scores that are products (Luong et al., 2015) or sums of tanh of
// query and key (Bahdanau et al., 2015), with weights.
func plainAttention(c *call) values {
	in := c.inputs()
	if len(in) < 2 {
		compose.Fail("it needs a query and a value")
	}
	query, value, key := in[0], in[1], in[1]
	if len(in) > 2 {
		key = in[2]
	}
	if query.Type.Rank() != 3 || key.Type.Rank() != 3 || value.Type.Rank() != 3 {
		compose.Fail("query %s and value %s", query.Type, value.Type)
	}
	additive := c.Node.Op == "AdditiveAttention"
	scaled := c.Bool("use_scale", additive)
	var scores *graph.Value
	sums := func() *graph.Value {
		return c.Do(ops.Tanh, c.Do(ops.Add, c.ExpandDims(query, 2), c.ExpandDims(key, 1)))
	}
	concat := !additive && c.OneOf("score_mode", "dot", "dot", "concat") == "concat"
	switch {
	case additive:
		scores = sums()
		if scaled {
			scores = c.Do(ops.Multiply, scores, c.weight(0))
		}
		scores = c.Reduce(ops.Sum, scores, false, 3)
	case concat: // [scale,] concat_score_weight
		scores = c.Do(ops.Add, c.ExpandDims(query, 2), c.ExpandDims(key, 1))
		if scaled {
			scores = c.Do(ops.Multiply, scores, c.Scalar(c.weight(0)))
		}
		scores = c.Do(ops.Multiply, c.Reduce(ops.Sum, c.Do(ops.Tanh, scores), false, 3), c.Scalar(c.weight(c.weights()-1)))
	default:
		scores = c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, query, key)
		if scaled {
			scores = c.Do(ops.Multiply, scores, c.Scalar(c.weight(0)))
		}
	}
	causal := c.Bool("causal", false)
	if c.Bool("use_causal_mask", causal) {
		words, keys := query.Type.Shape[1], key.Type.Shape[1]
		t := c.Zeros(types.Bool, words, keys)
		for i := range words {
			for j := range min(i+1, keys) {
				t.SetInt(i*keys+j, 1)
			}
		}
		scores = c.Do(ops.Add, scores, c.forbidden(compose.Const(t), query.Type.DType))
	}
	if m := c.mask(1); m != nil {
		scores = c.Do(ops.Add, scores, c.ExpandDims(c.forbidden(m, query.Type.DType), 1))
	}
	p := c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 2}, scores)
	y := c.Matmul(p, value)
	if m := c.mask(0); m != nil {
		y = c.Do(ops.Where, c.ExpandDims(m, 2), y, compose.Like(y, 0))
	}
	if c.Bool("return_attention_scores", false) {
		return values{y, p}
	}
	return values{y}
}
