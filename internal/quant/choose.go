package quant

import (
	"cmp"
	"math"
	"slices"

	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// choices are all that a quantised network leaves open.
type choices struct {
	cal       *calibration
	params    []Params          // by point; a scale of 0 leaves it float, in the simulation
	ranges    []calibrate.Range // by point
	modes     []string          // by set: how its range was chosen
	weights   []*tensor.Tensor  // by layer, before they are quantised
	biases    []*tensor.Tensor  // by layer
	divide    *divisors         // of the channels; nil: none
	sim       *simulation       // with the weights rounded
	off       []bool            // by layer: it stays float
	judged    *Judgement        // nil: by nobody
	strength  float64           // of equalisation; 0: none
	rounding  rounding          // of weights
	corrected bool              // biases
	sqnr      float64           // at the outputs, in dB; of the simulation, in the end of the network itself
	times     *times            // nil: without a clock
}

// off leaves all of a network float.
func (s *static) off() *choices {
	c := &choices{
		params: make([]Params, len(s.points)), off: make([]bool, len(s.layers)),
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
	d.params, d.ranges, d.modes = make([]Params, len(s.points)), make([]calibrate.Range, len(s.points)), make([]string, c.cal.sets)
	ranges := make([]calibrate.Range, c.cal.sets)
	for i, p := range s.points {
		if k := c.cal.set[i]; p.source {
			d.modes[k] = mode(k)
			ranges[k] = ranges[k].Union(s.rangeOf(c.cal, i, d.modes[k]))
		}
	}
	for i := range s.points {
		d.ranges[i] = ranges[c.cal.set[i]]
		d.params[i] = s.numbers.params(d.ranges[i])
	}
	return &d
}

// rangeOf is the range of a point by a mode, which is weighed once.
func (s *static) rangeOf(k *calibration, point int, mode string) calibrate.Range {
	key := rangeKey{point, mode}
	r, ok := k.ranges[key]
	if !ok {
		r = s.rule(mode)(&k.stats[point].Histogram, s.numbers.steps(), s.numbers.symmetric)
		k.ranges[key] = r
	}
	return r
}

// open compiles the simulation with the weights of c rounded.
func (s *static) open(c *choices) (err error) {
	list := make([]*tensor.Tensor, len(s.layers))
	overRows(len(list), s.Workers, func(i int) {
		list[i] = s.rounded(c, i, nil, 1).floats(s.layers[i].axis)
	})
	s.progress("compiling the simulation", 0, 0)
	c.sim, err = s.simulate(list)
	return err
}

// autoModes are tried by the mode auto, the most careful first: of equals the first is taken.
var autoModes = []string{"minmax", "percentile 99.999", "percentile 99.99", "mse"}

// worstSets is the number of sets of points whose ranges the mode auto tries again, each by itself.
const worstSets = 5

// choose calibrates, and decides.
func (s *static) choose() (*choices, error) {
	own := s.off()
	if s.Correct {
		own.rounding = keepSums
	}
	s.progress("compiling the simulation", 0, 0)
	net, err := s.simulate(own.weights)
	if err != nil {
		return nil, err
	}
	s.trial, s.classes = s.newTrial(), classesOf(s.graph, s.layers)
	if err := s.calibrate(net, own); err != nil {
		return nil, err
	}
	if err := s.open(own); err != nil {
		return nil, err
	}
	c, err := s.chooseMode(own, noFloor, autoModes)
	if err == nil && s.Correct {
		if c, err = s.equalize(c, own); err == nil {
			c, err = s.round(c)
		}
	}
	if err == nil && s.CalibrateMode == "auto" {
		c, err = s.singly(c)
	}
	if err == nil && s.Correct {
		c, err = s.correctBiases(c)
	}
	if err == nil {
		err = s.fit(net, c)
	}
	return c, err
}

// tried is c with what the outputs make of it, as far as that is above a floor.
func (s *static) tried(c *choices, floor float64, phase string) (*choices, error) {
	s.progress(phase, s.runs, 0)
	var err error
	c.sqnr, err = s.sqnr(c, floor, nil)
	return c, err
}

// chooseMode takes the mode asked for, or of the given ones that with the best ratio at the outputs. What is not above the floor is not told apart.
func (s *static) chooseMode(base *choices, floor float64, modes []string) (*choices, error) {
	if s.CalibrateMode != "auto" {
		return s.tried(s.with(base, func(int) string { return s.CalibrateMode }), floor, "measuring")
	}
	var best *choices
	for _, mode := range modes {
		c, err := s.tried(s.with(base, func(int) string { return mode }), floor, "choosing ranges")
		if err != nil {
			return nil, err
		}
		if best == nil || c.sqnr > best.sqnr {
			best, floor = c, max(floor, c.sqnr)
		}
	}
	return best, nil
}

// singly tries other modes for the sets that lose the most, each by itself.
func (s *static) singly(best *choices) (*choices, error) {
	for _, set := range s.worst(best) {
		for _, mode := range autoModes {
			modes := best.modes
			if mode == modes[set] {
				continue
			}
			c, err := s.tried(s.with(best, func(k int) string {
				if k == set {
					return mode
				}
				return modes[k]
			}), best.sqnr, "choosing ranges")
			if err != nil {
				return nil, err
			}
			if c.sqnr > best.sqnr {
				best = c
			}
		}
	}
	return best, nil
}

// worst are the sets whose own numbers lose the most by their ranges, the worst first.
func (s *static) worst(c *choices) []int {
	share := make([]float64, c.cal.sets)
	for i, p := range s.points {
		if p.source {
			share[c.cal.set[i]] = math.Max(share[c.cal.set[i]], noiseShare(&c.cal.stats[i].Histogram, c.ranges[i], float64(c.params[i].Scale)))
		}
	}
	list := make([]int, c.cal.sets)
	for k := range list {
		list[k] = k
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
	return list[:min(len(list), worstSets)]
}

// noiseShare is the squared error of numbers that are rounded to steps of a range, as a share of their squares, by their histogram.
func noiseShare(h *calibrate.Histogram, r calibrate.Range, step float64) float64 {
	signal, noise := 0.0, 0.0
	for i, n := range h.Counts {
		c := h.Centre(i)
		signal += float64(n) * c * c
		switch {
		case c > r.Max:
			noise += float64(n) * (c - r.Max) * (c - r.Max)
		case c < r.Min:
			noise += float64(n) * (r.Min - c) * (r.Min - c)
		default:
			noise += float64(n) * step * step / 12
		}
	}
	return noise / math.Max(signal, math.SmallestNonzeroFloat64)
}

// ratio is 10 log10 of signal to noise, at most 200 dB.
func ratio(signal, noise float64) float64 {
	if noise <= signal*1e-20 {
		return 200
	}
	return 10 * math.Log10(signal/noise)
}
