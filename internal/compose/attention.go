package compose

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
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
		Fail("%s of queries, %d of keys and %d of values", spelling.Count(heads, "head"), kv, v.Type.Shape[1])
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
	bias := a.Bias
	if a.Causal {
		mask := b.causalBias(q.Type.DType, q.Type.Shape[2], k.Type.Shape[2], a.Offset)
		if bias == nil {
			bias = mask
		} else {
			bias = b.Do(ops.Add, bias, mask)
		}
	}
	s.Biased = s.Capped
	if bias != nil {
		s.Biased = b.Do(ops.Add, s.Capped, bias)
	}
	p := s.Biased
	if a.Wide != types.Invalid {
		p = b.Cast(p, a.Wide)
	}
	s.Softmax = b.Cast(b.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 3}, p), q.Type.DType)
	if bias != nil && mayMaskRows(bias) {
		// A word that may attend to nothing has probabilities 0, not the NaN of its softmax.
		none := b.Do(ops.Equal, b.Reduce(ops.Max, bias, true, bias.Type.Rank()-1), Like(bias, math.Inf(-1)))
		s.Softmax = b.Do(ops.Where, none, Like(s.Softmax, 0), s.Softmax)
	}
	return b.Matmul(s.Softmax, v), s
}

// mayMaskRows reports whether some row of a bias may be -Inf throughout.
func mayMaskRows(bias *graph.Value) bool {
	t := bias.Value()
	if t == nil {
		return true
	}
	columns := t.Shape[len(t.Shape)-1]
	for row := 0; row < t.Len(); row += max(columns, 1) {
		masked := true
		for j := range columns {
			masked = masked && math.IsInf(t.Float(row+j), -1)
		}
		if masked {
			return true
		}
	}
	return false
}

// causalBias is 0 where a word may attend to a key and -Inf elsewhere.
func (b *Builder) causalBias(d types.DType, words, keys, offset int) *graph.Value {
	t := b.Zeros(d, words, keys)
	for i := range words {
		for j := max(i+offset+1, 0); j < keys; j++ {
			t.SetFloat(i*keys+j, math.Inf(-1))
		}
	}
	return Const(t)
}

// Rotate turns pairs of elements of the last axis of x by the angles whose cosine and sine are given: element i with
// element i + n/2, or neighbours when interleaved.
func (b *Builder) Rotate(x, cos, sin *graph.Value, interleaved bool) *graph.Value {
	last := x.Type.Rank() - 1
	n := x.Type.Shape[last]
	var p, q *graph.Value
	if interleaved {
		pairs := b.Reshape(x, append(slices.Clone(x.Type.Shape[:last]), n/2, 2)...)
		p, q = b.At(pairs, last+1, 0), b.At(pairs, last+1, 1)
	} else {
		halves := b.Split(x, last, n/2, n/2)
		p, q = halves[0], halves[1]
	}
	re := b.Do(ops.Subtract, b.Do(ops.Multiply, cos, p), b.Do(ops.Multiply, sin, q))
	im := b.Do(ops.Add, b.Do(ops.Multiply, sin, p), b.Do(ops.Multiply, cos, q))
	if interleaved {
		return b.Reshape(b.Stack(last+1, re, im), x.Type.Shape...)
	}
	return b.Concat(last, re, im)
}

// Heads makes [batch, words, heads*width] into [batch, heads, words, width].
func (b *Builder) Heads(x *graph.Value, heads int) *graph.Value {
	s := x.Type.Shape
	if len(s) != 3 || heads < 1 || s[2]%heads != 0 {
		Fail("%s does not divide into %s", x.Type, spelling.Count(heads, "head"))
	}
	return b.Transpose(b.Reshape(x, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
}

// JoinHeads is the inverse of Heads.
func (b *Builder) JoinHeads(x *graph.Value) *graph.Value {
	s := x.Type.Shape
	return b.Reshape(b.Transpose(x, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
}
