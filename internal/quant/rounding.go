package quant

import (
	"cmp"
	"math"
	"slices"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A rounding says which sums of weights keep their value, within half a step, when the weights become integers (Guo et al., SQuant, 2022). Each
// weight by itself is rounded to nearest first; then those that were nearest to the other integer take that, as many as a sum needs. What a
// layer reads is alike in the taps of one kernel, and mostly of one sign behind a relu: the errors of weights then add up, and
// cancel where these sums are kept. All errors stay below a step.
type rounding struct {
	kernels  bool // the taps that one channel of a result has for one of the data
	channels bool // all weights of a channel of a result
}

// keepSums keeps all sums.
var keepSums = rounding{kernels: true, channels: true}

// otherRoundings are tried where all else is chosen with keepSums.
var otherRoundings = []rounding{{channels: true}, {kernels: true}, {}}

// String is how reports name a rounding.
func (r rounding) String() string {
	switch {
	case r.kernels && r.channels:
		return "sums of kernels and of channels"
	case r.kernels:
		return "sums of kernels"
	case r.channels:
		return "sums of channels"
	}
	return ""
}

// keep changes integers, which stand for weights in steps of scale and are rounded to nearest, so that the sums are kept; they stay within most.
func (r rounding) keep(integers []int8, weights []float32, shape []int, axis int, scale []float32, most int) {
	if !r.kernels && !r.channels {
		return
	}
	channels, inner := shape[axis], types.Count(shape[axis+1:])
	taps := 1 // of a kernel; weights of products that are no convolutions have two axes
	if len(shape) > 2 {
		taps = types.Count(shape[2:])
	}
	count := len(integers) / max(1, channels)
	c := &channelRounding{most: most, integers: make([]int8, count), errors: make([]float64, count), order: make([]int, count)}
	for k := range channels {
		place := func(i int) int { return (i/inner*channels+k)*inner + i%inner }
		for i := range count {
			at := place(i)
			c.integers[i] = integers[at]
			c.errors[i] = float64(integers[at]) - float64(weights[at])/float64(scale[k])
		}
		if r.kernels && taps > 1 {
			for at := 0; at < count; at += taps {
				c.settle(at, at+taps)
			}
		}
		if r.channels {
			c.settle(0, count)
		}
		for i := range count {
			integers[place(i)] = c.integers[i]
		}
	}
}

// channelRounding are the integers of a channel's weights.
type channelRounding struct {
	most     int
	integers []int8
	errors   []float64 // in steps
	order    []int     // room
}

// settle brings the sum of the errors in [from, to) to half a step, if there are as many weights that can go to the other of their two
// integers. A weight that went there before stays.
func (c *channelRounding) settle(from, to int) {
	sum := 0.0
	for _, e := range c.errors[from:to] {
		sum += e
	}
	sign, n := math.Copysign(1, sum), int(math.RoundToEven(math.Abs(sum)))
	if n == 0 {
		return
	}
	list := c.order[:0]
	for i := from; i < to; i++ {
		if e := c.errors[i] * sign; e > 0 && e <= 0.5 && math.Abs(float64(c.integers[i])-sign) <= float64(c.most) {
			list = append(list, i)
		}
	}
	for _, i := range c.greatest(list, n, sign) {
		c.integers[i] -= int8(sign)
		c.errors[i] -= sign
	}
}

// fewGreatest is up to which number the greatest are found by keeping those so far in order: beyond it sorting all takes less.
const fewGreatest = 64

// greatest are the n of list with the greatest errors of a sign, of equals the first. It changes list.
func (c *channelRounding) greatest(list []int, n int, sign float64) []int {
	n = min(n, len(list))
	if n > fewGreatest {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.errors[b]*sign, c.errors[a]*sign), cmp.Compare(a, b))
		})
		return list[:n]
	}
	best := list[:0]
	for _, i := range list {
		e := c.errors[i] * sign
		if len(best) == n && e <= c.errors[best[n-1]]*sign {
			continue
		}
		if len(best) < n {
			best = best[:len(best)+1]
		}
		at := len(best) - 1
		for ; at > 0 && c.errors[best[at-1]]*sign < e; at-- {
			best[at] = best[at-1]
		}
		best[at] = i
	}
	return best
}

// round tries other roundings of the weights, and returns the best choices, or the given ones where nothing gains.
func (s *static) round(best *choices) (*choices, error) {
	base := best
	for _, r := range otherRoundings {
		d := *base
		d.rounding, d.sim = r, nil
		if err := s.open(&d); err != nil {
			return nil, err
		}
		c, err := s.tried(&d, best.sqnr, "rounding weights")
		if err != nil {
			return nil, err
		}
		if c.sqnr > best.sqnr {
			best, c = c, best
		}
		if err := c.sim.Close(); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// rounded are the weights of layer i as integers; bias, which may be nil, is in steps of data times theirs.
func (s *static) rounded(c *choices, i int, bias *tensor.Tensor, data float32) *quantisedWeights {
	n := s.weights
	n.rounding = c.rounding
	return quantiseWeights(c.weights[i], bias, s.layers[i].axis, data, n)
}
