package quant

import (
	"math"

	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// choices are all that a quantised network leaves open.
type choices struct {
	params    []Params          // by point; a scale of 0 leaves it float, in the simulation
	ranges    []calibrate.Range // by point
	modes     []string          // by set: how its range was chosen
	weights   []*tensor.Tensor  // by layer, before they are quantised
	biases    []*tensor.Tensor  // by layer
	simulated []*tensor.Tensor  // by layer: weights as they are when quantised; nil: float
	sqnr      float64           // at the outputs, in dB; of the simulation
}

// off leaves all of a network float.
func (s *static) off() *choices {
	c := &choices{
		params: make([]Params, len(s.points)), ranges: make([]calibrate.Range, len(s.points)), modes: make([]string, s.sets),
		simulated: make([]*tensor.Tensor, len(s.layers)),
	}
	for _, l := range s.layers {
		c.weights = append(c.weights, l.weight)
		b := l.bias
		if b == nil {
			b = tensor.New(types.F32, l.weight.Shape[l.axis])
		}
		c.biases = append(c.biases, b)
	}
	return c
}

// with is c with the ranges that a rule chooses for each set of points, of its members' own numbers, and the scales of these.
func (s *static) with(c *choices, mode func(set int) string) *choices {
	d := *c
	d.params, d.ranges, d.modes = make([]Params, len(s.points)), make([]calibrate.Range, len(s.points)), make([]string, s.sets)
	ranges := make([]calibrate.Range, s.sets)
	for i, p := range s.points {
		if p.source {
			m := mode(p.set)
			d.modes[p.set] = m
			ranges[p.set] = ranges[p.set].Union(s.rangeOf(i, m))
		}
	}
	for i, p := range s.points {
		d.ranges[i] = ranges[p.set]
		d.params[i] = s.numbers.params(ranges[p.set])
	}
	return &d
}

// rangeOf is the range of a point by a mode, which is weighed once.
func (s *static) rangeOf(i int, mode string) calibrate.Range {
	p := s.points[i]
	key := rangeKey{p, mode}
	r, ok := s.ranges[key]
	if !ok {
		r = s.rule(mode)(&p.stats.Histogram, s.numbers.steps(), s.numbers.symmetric)
		s.ranges[key] = r
	}
	return r
}

type rangeKey struct {
	point *point
	mode  string
}

// quantised is c with the weights of all layers rounded.
func (s *static) rounded(c *choices) *choices {
	d := *c
	d.simulated = make([]*tensor.Tensor, len(s.layers))
	for i, l := range s.layers {
		d.simulated[i] = quantiseWeights(c.weights[i], nil, l.axis, 1, s.mostWeight).floats(l.axis)
	}
	return &d
}

// ratio is 10 log10 of signal to noise, at most 200 dB.
func ratio(signal, noise float64) float64 {
	if noise <= signal*1e-20 {
		return 200
	}
	return 10 * math.Log10(signal/noise)
}
