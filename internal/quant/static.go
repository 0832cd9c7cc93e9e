package quant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/quant/calibrate"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Options say how a network is quantised.
type Options struct {
	Target  *target.Target // of the code that is to run it
	Workers int            // goroutines; the result does not depend on it
	Build   Builder
	Samples calibrate.Samples
	// Mode chooses the range of points: one of CalibrateModes.
	Mode        string
	Percentile  float64 // of mode percentile
	GlobalScale float64 // of mode global_scale
	// Activations is the type of points, uint8 or int8.
	Activations types.DType
	ReduceRange bool // 7 bits
	Correct     bool // weights and biases for what rounding does to results
	Progress    func(phase string, done, total int)
	Notes       func(string)
}

// CalibrateModes are the ways to choose ranges: auto tries several and takes what the network's outputs lose the least by.
var CalibrateModes = []string{"auto", "minmax", "percentile", "mse", "kl_divergence", "global_scale"}

// Result is a quantised network.
type Result struct {
	Graph *graph.Graph
	Report
}

// static is a static quantisation on its way.
type static struct {
	Options
	ctx        context.Context
	graph      *graph.Graph // prepared
	all        []*layer
	layers     []*layer // that are quantised
	points     []*point
	sets       int
	numbers    numbers
	mostWeight int
	sim        *simulation
	ranges     map[rangeKey]calibrate.Range
	trial      *trialSamples
	runs       int // of the simulation on all trial samples
}

// Static quantises g, which it changes: its layers with constant weights compute on integers whose scales are those that samples show.
func Static(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	s := &static{Options: o, ctx: ctx, graph: g, ranges: map[rangeKey]calibrate.Range{}, mostWeight: 127}
	s.numbers = activations(o.Activations, o.ReduceRange)
	if o.ReduceRange {
		s.mostWeight = 63
	}
	if o.Samples.Len() == 0 {
		return nil, errors.New("there are no samples to calibrate with")
	}
	s.progress("preparing", 0, 0)
	if err := prepare(ctx, g, o.Target, o.Workers); err != nil {
		return nil, err
	}
	if err := s.annotate(); err != nil {
		return nil, err
	}
	s.progress("compiling the simulation", 0, 0)
	var err error
	if s.sim, err = simulate(ctx, g, s.points, s.layers, s.numbers, o.Build); err != nil {
		return nil, err
	}
	defer s.sim.Close()
	c, err := s.choose()
	if err != nil {
		return nil, err
	}
	if err := realize(g, s.points, s.layers, c, s.numbers, s.mostWeight); err != nil {
		return nil, err
	}
	if err := graph.Verify(g); err != nil {
		return nil, err
	}
	return &Result{g, *s.report(c)}, nil
}

func (s *static) progress(phase string, done, total int) {
	if s.Progress != nil {
		s.Progress(phase, done, total)
	}
}

// annotate finds the layers and the points.
func (s *static) annotate() error {
	s.all = layers(s.graph)
	for _, l := range s.all {
		if l.why == "" {
			s.layers = append(s.layers, l)
		}
	}
	if len(s.layers) == 0 {
		if len(s.all) == 0 {
			return errors.New("the network has no convolution, dense layer or matrix product to quantise")
		}
		l := s.all[0]
		return fmt.Errorf("node %q (%s): %s, and no other layer can be quantised", l.name(), l.node.Op.Name, l.why)
	}
	if !slices.ContainsFunc(s.graph.Outputs, func(v *graph.Value) bool { return v.Type.DType == types.F32 }) {
		return errors.New("the network has no float32 output by which what quantising loses could be told")
	}
	s.points = points(s.graph, s.layers)
	return nil
}

// calibrate learns the numbers of the points in the float network that choices leave.
func (s *static) calibrate(c *choices) error {
	if err := s.sim.set(c); err != nil {
		return err
	}
	var taps []calibrate.Tap
	var of []*point
	for i, p := range s.points {
		if k := s.sim.source[i]; k >= 0 {
			axis := 1
			if len(p.value.Type.Shape) < 3 {
				axis = len(p.value.Type.Shape) - 1
			}
			taps, of = append(taps, calibrate.Tap{Result: k, Axis: axis}), append(of, p)
		}
	}
	s.trial = s.newTrial()
	stats, err := calibrate.Collect(s.ctx, s.sim.runner(), s.Samples, taps, func(i int, results []*tensor.Tensor) error {
		s.progress("calibrating", i+1, s.Samples.Len())
		return s.trial.reference(i, results)
	})
	if err != nil {
		return err
	}
	for i, st := range stats {
		of[i].stats = st
		if st.Unfit > 0 {
			return fmt.Errorf("value %q: %d numbers of the samples are infinite or no numbers (look at the samples and how they become inputs)", of[i].value.Name, st.Unfit)
		}
	}
	clear(s.ranges)
	s.sets = share(s.points, s.graph.Users())
	return nil
}

// rule is the rule of a mode.
func (s *static) rule(mode string) calibrate.Rule {
	switch name, p, _ := strings.Cut(mode, " "); name {
	case "percentile":
		var f float64
		if _, err := fmt.Sscanf(p, "%g", &f); err != nil {
			f = s.Percentile
		}
		return calibrate.Percentile(f)
	case "mse":
		return calibrate.MSE
	case "kl_divergence":
		return calibrate.KLDivergence
	case "global_scale":
		return calibrate.Global(s.GlobalScale)
	}
	return calibrate.MinMax
}

// trialSamples are those that choices are tried on, with what the float network makes of them.
type trialSamples struct {
	every   int // of the samples that are calibrated with, one in so many
	count   int
	inputs  int
	outputs []int // float outputs of the network
	want    [][][]float32
	signal  []float64
}

// mostTrialWork is the number of multiply-adds of a trial, about, that says on how many samples it runs; leastTrial and mostTrial bound it.
const (
	mostTrialWork = 1 << 36
	leastTrial    = 16
	mostTrial     = 128
)

func (s *static) newTrial() *trialSamples {
	work := 0.0
	for _, l := range s.all {
		work += l.node.Work()
	}
	n := int(math.Min(math.Max(mostTrialWork/math.Max(work, 1), leastTrial), mostTrial))
	n = min(n, s.Samples.Len())
	t := &trialSamples{every: s.Samples.Len() / n, count: n}
	for i, v := range s.graph.Outputs {
		if v.Type.DType == types.F32 {
			t.outputs = append(t.outputs, i)
		}
	}
	t.want, t.signal = make([][][]float32, n), make([]float64, len(t.outputs))
	return t
}

// reference keeps what the float network gives for sample i.
func (t *trialSamples) reference(i int, results []*tensor.Tensor) error {
	if i%t.every != 0 || i/t.every >= t.count {
		return nil
	}
	for k, o := range t.outputs {
		v := slices.Clone(tensor.As[float32](results[o]))
		t.want[i/t.every] = append(t.want[i/t.every], v)
		for _, x := range v {
			t.signal[k] += float64(x) * float64(x)
		}
	}
	return nil
}

// sqnr runs choices on the trial samples and returns the ratio of signal to noise at the outputs, in dB: of several outputs the mean
// of the shares of noise counts. seen, which may be nil, gets the results of each sample.
func (s *static) sqnr(c *choices, seen func(results []*tensor.Tensor)) (float64, error) {
	if err := s.sim.set(c); err != nil {
		return 0, err
	}
	s.runs++
	noise := make([]float64, len(s.trial.outputs))
	run := s.sim.runner()
	for i := range s.trial.count {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		in, err := s.Samples.At(i * s.trial.every)
		if err != nil {
			return 0, err
		}
		results, err := run.Run(in)
		if err != nil {
			return 0, err
		}
		for k, o := range s.trial.outputs {
			noise[k] += distance(tensor.As[float32](results[o]), s.trial.want[i][k])
		}
		if seen != nil {
			seen(results)
		}
	}
	share := 0.0
	for k, e := range noise {
		share += e / math.Max(s.trial.signal[k], math.SmallestNonzeroFloat64) / float64(len(noise))
	}
	return ratio(1, share), nil
}

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
