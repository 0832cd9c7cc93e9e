package quant

import (
	"context"

	"lathe/internal/graph"
)

// A Mode is a way to quantise a network.
type Mode struct {
	Name, Doc string
	Samples   bool // it learns from samples
	// Run quantises a graph, which it changes.
	Run func(ctx context.Context, g *graph.Graph, o Options) (*Result, error)
}

// Modes are the ways to quantise; the first is the default.
var Modes = []Mode{
	{"static", "weights and activations by 8 bits, with ranges learnt from samples", true, Static},
	{"dynamic", "those of dense layers and matrix products, activations by the range that they have in each run", false, dynamicOf},
	{"weight-only", "weights of dense layers and matrix products, in blocks of 8 or 4 bits", false, weightOnlyOf},
}

func dynamicOf(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	return Dynamic(ctx, g, DynamicOptions{Target: o.Target, Workers: o.Workers, Progress: o.Progress})
}

func weightOnlyOf(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	b := o.Blocks
	return WeightOnly(ctx, g, WeightOnlyOptions{Target: o.Target, Workers: o.Workers, Bits: b.Bits, Block: b.Size, ZeroPoints: b.ZeroPoints, Least: b.Least, GPTQ: b.GPTQ, Samples: o.Samples, Build: o.Build, Progress: o.Progress, Notes: o.Notes})
}
