package ops

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Reference evaluation of the operators that take nearly all the time of a network: sums of products over plain slices.
// Operands are widened first, so that floats are summed in float64 and integers in int64, wrapping, in the order of the
// definition: channel by channel, tap by tap.

// summand lists the types sums are made in.
type summand interface{ ~float64 | ~int64 | ~int32 }

func widenedFloats(t *tensor.Tensor) []float64 {
	v := make([]float64, t.Len())
	for i := range v {
		v[i] = t.Float(i)
	}
	return v
}

func widenedInts(t *tensor.Tensor) []int64 {
	v := make([]int64, t.Len())
	for i := range v {
		v[i] = t.Int(i)
	}
	return v
}

// storeSum stores a sum as element i of t.
func storeSum[T summand](t *tensor.Tensor, i int, sum T) {
	if t.DType.IsFloat() {
		t.SetFloat(i, float64(sum))
	} else {
		t.SetInt(i, int64(sum))
	}
}

// convEval evaluates a convolution with an optional bias.
func convEval(ws []window, groups int, in []*tensor.Tensor, out *tensor.Tensor) {
	c := convolution{ws, groups, in[0].Shape, in[1].Shape}
	if out.DType.IsFloat() {
		bias := make([]float64, out.Shape[1])
		if len(in) == 3 {
			bias = widenedFloats(in[2])
		}
		correlate(c, widenedFloats(in[0]), widenedFloats(in[1]), bias, out)
		return
	}
	bias := make([]int64, out.Shape[1])
	if len(in) == 3 {
		bias = widenedInts(in[2])
	}
	correlate(c, widenedInts(in[0]), widenedInts(in[1]), bias, out)
}

// A convolution has data [N, C, spatial...] and weight [O, C/groups, kernel...].
type convolution struct {
	ws           []window
	groups       int
	data, weight []int // shapes
}

// correlate sums the products of data x and weight w and adds the bias of the output channel.
func correlate[T summand](c convolution, x, w, bias []T, out *tensor.Tensor) {
	channels, outChannels, perIn := c.data[1], c.weight[0], c.weight[1]
	perOut := outChannels / c.groups
	plane, taps := types.Count(c.data[2:]), types.Count(c.weight[2:])
	sums := make([]T, types.Count(out.Shape[2:]))
	for n := range out.Shape[0] {
		for o := range outChannels {
			clear(sums)
			for i := range perIn {
				from := x[(n*channels+o/perOut*perIn+i)*plane:][:plane]
				kernel := w[(o*perIn+i)*taps:][:taps]
				at := 0
				eachIndex(c.weight[2:], func(tap []int) {
					addTap(c.ws, tap, sums, from, kernel[at])
					at++
				})
			}
			for i, s := range sums {
				storeSum(out, (n*outChannels+o)*len(sums)+i, s+bias[o])
			}
		}
	}
}

// addTap adds x times weight to the sums whose windows read the input with this tap. Both slices have the spatial axes
// of ws.
func addTap[T summand](ws []window, tap []int, sums, x []T, weight T) {
	w := ws[0]
	lo, hi := 0, w.out
	for lo < hi && w.at(lo, tap[0]) < 0 {
		lo++
	}
	for hi > lo && w.at(hi-1, tap[0]) >= w.in {
		hi--
	}
	if len(ws) == 1 {
		row := x[min(max(0, w.at(lo, tap[0])), len(x)):]
		for o := range sums[lo:hi] {
			sums[lo+o] += row[o*w.stride] * weight
		}
		return
	}
	outRow, inRow := len(sums)/w.out, len(x)/max(1, w.in)
	for o := lo; o < hi; o++ {
		i := w.at(o, tap[0])
		addTap(ws[1:], tap[1:], sums[o*outRow:][:outRow], x[i*inRow:][:inRow], weight)
	}
}

// products stores the product of a [M, K] and the transpose of b [N, K] as the elements of out from the given one on.
func products[T summand](a, b []T, depth int, out *tensor.Tensor, from int) {
	if depth == 0 {
		return // out is zero
	}
	for ; len(a) > 0; a = a[depth:] {
		rows := b
		for ; len(rows) >= 4*depth; rows, from = rows[4*depth:], from+4 {
			for k, sum := range fourDots(a[:depth], rows) {
				storeSum(out, from+k, sum)
			}
		}
		for ; len(rows) > 0; rows, from = rows[depth:], from+1 {
			storeSum(out, from, dot(a[:depth], rows[:depth]))
		}
	}
}

// fourDots is dot for the four rows that b begins with, whose sums do not wait for each other.
func fourDots[T summand](a, b []T) (sums [4]T) {
	n := len(a)
	b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
	var s0, s1, s2, s3 T
	for i, x := range a {
		s0 += x * b0[i]
		s1 += x * b1[i]
		s2 += x * b2[i]
		s3 += x * b3[i]
	}
	return [4]T{s0, s1, s2, s3}
}

func dot[T summand](a, b []T) T {
	var sum T
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
