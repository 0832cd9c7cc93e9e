package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// An Attention describes softmax(Q K^T Scale + Bias) V with Q [batch, heads, words, width], K and V [batch, kvHeads,
// keys, width]; heads must be a multiple of kvHeads, which are repeated.
type Attention struct {
	Q, K, V *graph.Value
	Bias    *graph.Value // broadcasts to [batch, heads, words, keys]; nil for none
	Scale   float64      // 0: 1/sqrt(width)
	Causal  bool         // word i attends to keys up to i + Offset
	Offset  int
	Softcap float64     // bounds scores by softcap*tanh(score/softcap); 0 for none
	Wide    types.DType // type of the softmax; Invalid: that of Q
}

// Scores are the intermediate results of Attend.
type Scores struct{ Raw, Biased, Capped, Softmax *graph.Value }

// Attend adds the attention and returns its result [batch, heads, words, width of V].
func (b *Builder) Attend(a Attention) (*graph.Value, Scores) {
	q, k, v := a.Q, a.K, a.V
	heads, kv := q.Type.Shape[1], k.Type.Shape[1]
	if kv < 1 || heads%kv != 0 || v.Type.Shape[1] != kv {
		Fail("%d heads of queries, %d of keys and %d of values", heads, kv, v.Type.Shape[1])
	}
	if heads != kv {
		k = b.Apply(ops.Repeat, ops.RepeatAttrs{Axis: 1, Repeats: heads / kv}, k)
		v = b.Apply(ops.Repeat, ops.RepeatAttrs{Axis: 1, Repeats: heads / kv}, v)
	}
	scale := a.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Type.Shape[3]))
	}
	var s Scores
	s.Raw = b.Apply(ops.Matmul, ops.MatmulAttrs{TransposeB: true}, b.Scaled(q, scale), k)
	s.Capped = s.Raw
	if a.Softcap != 0 {
		s.Capped = b.Scaled(b.Do(ops.Tanh, b.Scaled(s.Raw, 1/a.Softcap)), a.Softcap)
	}
	s.Biased = s.Capped
	if a.Causal {
		s.Biased = b.Do(ops.Add, s.Biased, causalBias(q.Type.DType, q.Type.Shape[2], k.Type.Shape[2], a.Offset))
	}
	if a.Bias != nil {
		s.Biased = b.Do(ops.Add, s.Biased, a.Bias)
	}
	p := s.Biased
	if a.Wide != types.Invalid {
		p = b.Cast(p, a.Wide)
	}
	s.Softmax = b.Cast(b.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 3}, p), q.Type.DType)
	return b.Matmul(s.Softmax, v), s
}

// causalBias is 0 where a word may attend to a key and -Inf elsewhere.
func causalBias(d types.DType, words, keys, offset int) *graph.Value {
	t := tensor.New(d, words, keys)
	for i := range words {
		for j := max(i+offset+1, 0); j < keys; j++ {
			t.SetFloat(i*keys+j, math.Inf(-1))
		}
	}
	return Const(t)
}

// Heads makes [batch, words, heads*width] into [batch, heads, words, width].
func (b *Builder) Heads(x *graph.Value, heads int) *graph.Value {
	s := x.Type.Shape
	if len(s) != 3 || heads < 1 || s[2]%heads != 0 {
		Fail("%s does not divide into %d heads", x.Type, heads)
	}
	return b.Transpose(b.Reshape(x, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
}

// JoinHeads is the inverse of Heads.
func (b *Builder) JoinHeads(x *graph.Value) *graph.Value {
	s := x.Type.Shape
	return b.Reshape(b.Transpose(x, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
}
