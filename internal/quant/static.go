package quant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/quant/calibrate"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Options say how a network is quantised.
type Options struct {
	Target  *target.Target // of the code that is to run it
	Workers int            // goroutines; the result does not depend on it
	Build   Builder
	Samples calibrate.Samples
	// CalibrateMode chooses the range of points: one of CalibrateModes.
	CalibrateMode string
	Percentile    float64 // of mode percentile
	GlobalScale   float64 // of mode global_scale
	// Activations is the type of points, uint8 or int8.
	Activations types.DType
	// IO is the type of inputs and outputs that are float32, uint8 or int8; Invalid leaves them as they are.
	IO                types.DType
	ReduceRange       bool     // 7 bits
	PowerOfTwoWeights bool     // scales of weights are powers of two
	Correct           bool     // weights and biases for what rounding does to results
	Skip              []string // layers that stay float: nodes of the model, op=NAME, first, last
	// SkipConvolutions are numbers of convolutions that stay float, in their order, and SkipDense says it of all dense layers and products.
	SkipConvolutions []int
	SkipDense        bool
	// Evaluation is what a budget is judged on; nil: Samples. Classes are those of its samples, where they are known.
	Evaluation calibrate.Samples
	Classes    []int
	Budget     Budget
	// Measure returns layers to float by the times of executables, which must be Clocked: what is written then depends on the machine and the moment.
	Measure  bool
	Compare  bool   // the report tells what the outputs gain by each layer as floats
	Blocks   Blocks // of mode weight-only
	Progress func(phase string, done, total int)
	Notes    func(string)
}

// Blocks are what weights by themselves are quantised in.
type Blocks struct {
	Bits       int  // of a weight, 4 or 8
	Size       int  // weights along a sum that share a scale, a power of two from 16 on
	ZeroPoints bool // blocks have zero points
	Least      int  // weights of a layer that is taken; 0: LeastWeights
	GPTQ       bool // weights are rounded by what Samples show
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
	ctx     context.Context
	graph   *graph.Graph // prepared
	all     []*layer
	layers  []*layer // that are quantised
	points  []*point
	classes *channelClasses
	inputs  []*graph.Value          // that become integers
	results []*calibrate.Statistics // of outputTaps
	numbers numbers
	weights weightNumbers
	trial   *trialSamples
	opened  []Executable
	float   Clocked // the float network; nil without a clock
	judge   *judge  // nil where nobody asks
	order   []int   // layers, those first whose return to float gains most; nil before that is known
	runs    int     // of the simulation on all trial samples
}

// Static quantises g, which it changes: its layers with constant weights compute on integers whose scales are those that samples show.
func Static(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	s := &static{Options: o, ctx: ctx, graph: g, weights: weightNumbers{most: 127, power2: o.PowerOfTwoWeights}}
	s.numbers = activations(o.Activations, o.ReduceRange)
	if o.ReduceRange {
		s.weights.most = 63
	}
	if o.Samples.Len() == 0 {
		return nil, errors.New("there are no samples to calibrate with")
	}
	if !slices.Contains(CalibrateModes, o.CalibrateMode) {
		return nil, fmt.Errorf("calibrate mode %q: there are %s", o.CalibrateMode, strings.Join(CalibrateModes, ", "))
	}
	s.progress("preparing", 0, 0)
	before := constantBytes(g)
	if err := prepare(ctx, g, o.Target, o.Workers); err != nil {
		return nil, err
	}
	if err := s.annotate(); err != nil {
		return nil, err
	}
	defer s.close()
	c, err := s.choose()
	if err != nil {
		return nil, err
	}
	w, err := s.finish(c)
	if err != nil {
		return nil, err
	}
	if t := c.times; t != nil && !s.Measure && t.share() > slowerShare && s.Notes != nil {
		s.Notes(fmt.Sprintf("the network takes %.3g ms as integers and %.3g ms as floats on this machine: --measure returns layers to float that lose", 1e3*t.integer.Seconds(), 1e3*t.float.Seconds()))
	}
	r := s.report(c, w.graph, before)
	if err := s.integerEnds(w.graph, c, r); err != nil {
		return nil, err
	}
	return &Result{w.graph, *r}, nil
}

// close closes what was compiled, of which some is closed before.
func (s *static) close() {
	for _, e := range s.opened {
		e.Close()
	}
}

func (s *static) progress(phase string, done, total int) {
	if s.Progress != nil {
		s.Progress(phase, done, total)
	}
}

// annotate finds the layers and the points.
func (s *static) annotate() error {
	s.all = layers(s.graph)
	skipKinds(s.all, s.SkipConvolutions, s.SkipDense)
	if err := skip(s.all, s.Skip); err != nil {
		return err
	}
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
	s.inputs = s.integerInputs()
	s.points = points(s.graph, s.layers, s.inputs)
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
