package mxnet

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// attentionRows are the products of attention whose projections lie beside each other.
var attentionRows = []row{
	{"_contrib_interleaved_matmul_selfatt_qk", selfAttentionScores}, {"_contrib_interleaved_matmul_selfatt_valatt", selfAttentionValues},
}

// interleaved cuts projections [words, batch, heads * 3 * width] into those of query, key and value, [batch*heads, words, width].
func (c *call) interleaved(i int) values {
	heads, s := c.Int("heads", 1), c.Shape(i)
	if len(s) != 3 || heads < 1 || s[2]%(3*heads) != 0 {
		compose.Fail("projections %s of %d heads", c.X(i).Type, heads)
	}
	width := s[2] / (3 * heads)
	x := c.Transpose(c.Reshape(c.X(i), s[0], s[1]*heads, 3, width), 2, 1, 0, 3)
	return values{c.At(x, 0, 0), c.At(x, 0, 1), c.At(x, 0, 2)}
}

// selfAttentionScores are the scaled products of queries and keys.
func selfAttentionScores(c *call) *graph.Value {
	p := c.interleaved(0)
	q := c.Apply(ops.Multiply, op.None{}, p[0], compose.Like(p[0], 1/math.Sqrt(float64(p[0].Type.Shape[2]))))
	return c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, q, p[1])
}

// selfAttentionValues are the values weighted by probabilities: [words, batch, heads*width].
func selfAttentionValues(c *call) *graph.Value {
	v, s := c.interleaved(0)[2], c.Shape(0)
	y := c.Matmul(c.X(1), v)
	return c.Reshape(c.Transpose(y, 1, 0, 2), s[0], s[1], s[2]/3)
}
