package quant

import (
	"math"
	"slices"

	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
)

// trialSamples are those that choices are tried on, with what the float network makes of them.
type trialSamples struct {
	calibrate.Samples     // that are calibrated with
	every             int // one in so many of them
	count             int
	outputs           []output
	want              [][][]float32
	signal            []float64
}

// mostTrialWork is the number of multiply-adds of a trial, about, that says on how many samples it runs; leastTrial and mostTrial bound it.
const (
	mostTrialWork = 1 << 34
	leastTrial    = 8
	mostTrial     = 128
)

func (s *static) newTrial() *trialSamples {
	work := 0.0
	for _, l := range s.all {
		work += l.node.Work()
	}
	n := int(math.Min(math.Max(mostTrialWork/math.Max(work, 1), leastTrial), mostTrial))
	n = min(n, s.Samples.Len())
	t := &trialSamples{Samples: s.Samples, every: s.Samples.Len() / n, count: n, outputs: outputs(s.graph)}
	t.want, t.signal = make([][][]float32, n), make([]float64, len(t.outputs))
	return t
}

// Len is the number of samples of a trial.
func (t *trialSamples) Len() int { return t.count }

// At makes sample i of the trial the inputs of the network.
func (t *trialSamples) At(i int) ([]*tensor.Tensor, error) { return t.Samples.At(i * t.every) }

// index is the number in the trial of a sample that is calibrated with, or -1.
func (t *trialSamples) index(i int) int {
	if i%t.every != 0 || i/t.every >= t.count {
		return -1
	}
	return i / t.every
}

// reference keeps what the float network gives for sample i of the trial, the first time.
func (t *trialSamples) reference(i int, results []*tensor.Tensor) {
	if t.want[i] != nil {
		return
	}
	for k, o := range t.outputs {
		v := slices.Clone(o.numbers(results))
		t.want[i] = append(t.want[i], v)
		for _, x := range v {
			t.signal[k] += float64(x) * float64(x)
		}
	}
}

// sqnr runs choices on the trial samples and returns the ratio of signal to noise at the outputs, in dB: of several outputs the mean
// of the shares of noise counts. It ends early where that is not above a floor, and what it returns then is not either. seen, which may be nil, gets
// the results of each sample.
func (s *static) sqnr(c *choices, floor float64, seen func(results []*tensor.Tensor)) (float64, error) {
	run, err := c.sim.with(c)
	if err != nil {
		return 0, err
	}
	s.runs++
	return s.outputRatio(run, floor, seen)
}

// outputRatio is the ratio of a network; floor and seen are as for sqnr.
func (s *static) outputRatio(run calibrate.Runner, floor float64, seen func(results []*tensor.Tensor)) (float64, error) {
	noise, db := make([]float64, len(s.trial.outputs)), 0.0
	for i := range s.trial.count {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		in, err := s.trial.At(i)
		if err != nil {
			return 0, err
		}
		results, err := run.Run(in)
		if err != nil {
			return 0, err
		}
		for k, o := range s.trial.outputs {
			noise[k] += distance(o.numbers(results), s.trial.want[i][k])
		}
		if seen != nil {
			seen(results)
		}
		share := 0.0
		for k, e := range noise {
			share += e / math.Max(s.trial.signal[k], math.SmallestNonzeroFloat64) / float64(len(noise))
		}
		if db = ratio(1, share); db <= floor { // more samples only add noise
			break
		}
	}
	return db, nil
}

// noFloor is below all ratios: a trial runs to its end.
var noFloor = math.Inf(-1)

// distance is the sum of squared differences.
func distance(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += d * d
	}
	if sum != sum {
		return math.Inf(1)
	}
	return sum
}
