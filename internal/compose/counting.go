package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// maxSeries bounds the numbers of a series: a few bytes of a file can ask for any, and no network counts so far.
const maxSeries = 1 << 24

// Range is start, start+step and so on before limit, in d.
func (b *Builder) Range(d types.DType, start, limit, step float64) *graph.Value {
	return b.Series(d, start, step, Steps(start, limit, step))
}

// Steps is how many numbers of start, start+step and so on stand before limit.
func Steps(start, limit, step float64) int {
	n := math.Ceil((limit - start) / step)
	if math.IsNaN(n) || step == 0 {
		Fail("a range from %v to %v by %v", start, limit, step)
	}
	if n > maxSeries {
		Fail("the range from %v to %v by %v has too many elements, more than %d", start, limit, step, maxSeries)
	}
	return max(int(n), 0)
}

// Series is n numbers from start on, each greater by step than the one before.
func (b *Builder) Series(d types.DType, start, step float64, n int) *graph.Value {
	if n > maxSeries {
		Fail("a series of length %d has too many elements, more than %d", n, maxSeries)
	}
	t := b.Zeros(d, n)
	for i := range n {
		t.SetFloat(i, start+float64(i)*step)
	}
	return Const(t)
}

// RangeOf is the range of three numbers in the type of the first, exact where that is of integers.
func (b *Builder) RangeOf(start, limit, step *tensor.Tensor) *graph.Value {
	if start.Len() != 1 || limit.Len() != 1 || step.Len() != 1 {
		Fail("start %s, limit %s and step %s are not numbers", start.Type(), limit.Type(), step.Type())
	}
	if !start.DType.IsInt() {
		return b.Range(start.DType, start.Float(0), limit.Float(0), step.Float(0))
	}
	t := b.Zeros(start.DType, Steps(start.Float(0), limit.Float(0), step.Float(0)))
	for i := range t.Len() {
		t.SetInt(i, start.Int(0)+int64(i)*step.Int(0))
	}
	return Const(t)
}

// BroadcastShape is the shape that tensors of two shapes broadcast to.
func BroadcastShape(p, q []int) []int {
	out := make([]int, max(len(p), len(q)))
	for i := range out {
		a, b := 1, 1
		if k := i - (len(out) - len(p)); k >= 0 {
			a = p[k]
		}
		if k := i - (len(out) - len(q)); k >= 0 {
			b = q[k]
		}
		if a != b && a != 1 && b != 1 {
			Fail("shapes %v and %v do not broadcast", p, q)
		}
		if out[i] = a; a == 1 {
			out[i] = b
		}
	}
	return out
}
