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
	numbers    numbers
	mostWeight int
	trial      *trialSamples
	runs       int // of the simulation on all trial samples
}

// Static quantises g, which it changes: its layers with constant weights compute on integers whose scales are those that samples show.
func Static(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	s := &static{Options: o, ctx: ctx, graph: g, mostWeight: 127}
	s.numbers = activations(o.Activations, o.ReduceRange)
	if o.ReduceRange {
		s.mostWeight = 63
	}
	if o.Samples.Len() == 0 {
		return nil, errors.New("there are no samples to calibrate with")
	}
	if !slices.Contains(CalibrateModes, o.Mode) {
		return nil, fmt.Errorf("calibrate mode %q: there are %s", o.Mode, strings.Join(CalibrateModes, ", "))
	}
	s.progress("preparing", 0, 0)
	if err := prepare(ctx, g, o.Target, o.Workers); err != nil {
		return nil, err
	}
	if err := s.annotate(); err != nil {
		return nil, err
	}
	c, err := s.choose()
	if err != nil {
		return nil, err
	}
	defer c.sim.Close()
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
