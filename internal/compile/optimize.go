package compile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/plan"
)

// A network is a graph after all passes: nodes are groups.
type network struct {
	graph   *graph.Graph
	symbols [][]int                      // by output of the model: the symbol that holds an axis' extent, -1 for none; nil: all are static
	flops   float64                      // of the model as it was given
	asked   map[string][]choice.Decision // by the name of a node
	// found are the regions of external code generators, regions those of them that are left, by symbol, and offloads who computes what.
	found    []pass.Region
	regions  map[string]external
	offloads []pass.Offload
	// emulated are the regions that kernels of our own emulate, taps what the last outputs are.
	emulated []pass.Emulated
	taps     []bundle.Tap
}

// outputs are the model's, without the extents that stand behind them.
func (n *network) outputs() []*graph.Value { return n.graph.Outputs[:len(n.symbols)] }

func (n *network) boundary() plan.Boundary {
	return plan.Boundary{Inputs: n.graph.Inputs, Outputs: n.outputs(), Symbols: n.graph.Outputs[len(n.symbols):]}
}

// optimize runs the graph pipeline on g.
func optimize(j *job, g *graph.Graph) (*network, error) {
	symbols, err := dynamicOutputs(g)
	if err != nil {
		return nil, err
	}
	ownAllOutputs(g)
	n := &network{graph: g, symbols: symbols, flops: graphFlops(g)}
	dump := &graphDump{Debug: &j.Debug, consts: graph.NewConsts()}
	dumped := dump.graph("input", g)
	stopped := false
	c := &pass.Context{Graph: g, Target: j.Target, Level: j.Level, Workers: j.Workers, Layouts: j.Layouts, LayoutOps: j.LayoutOps, Codegens: j.Codegens, Module: j.Module, Disabled: j.Disabled, Ctx: j.ctx}
	c.Calibration, c.Outputs = j.Calibration, len(symbols)
	c.Chooser = j.chooser
	c.Kernels = func(g *graph.Graph) ([][]string, error) { return j.ownKernels(*c, g) }
	err = pipeline.Run(j.graphPipeline(), c, pipeline.Options[*pass.Context]{
		Level:    j.Level,
		Disabled: j.Disabled,
		StopAt:   j.Debug.Stop,
		Context:  j.ctx,
		Verify:   pass.Verify,
		Before:   func(name string, p *pass.Context) { j.begin("pass"); j.printIR("before", j.PrintBefore, name, p.Graph) },
		After: func(name string, p *pass.Context, took time.Duration) {
			j.printIR("after", j.PrintAfter, name, p.Graph)
			if j.Times != nil {
				fmt.Fprintf(j.Times, "%-28s %9.3f ms\n", name, ms(took))
			}
			if dumped == nil { // one folder, one error
				dumped = dump.graph(name, p.Graph)
			}
			stopped = name == j.Debug.Stop
		},
	})
	if dumped == nil {
		dumped = dump.finish()
	}
	if err := errors.Join(err, dumped); err != nil {
		return nil, err
	}
	if stopped {
		return nil, j.Debug.stopped()
	}
	n.asked, n.found, n.offloads, n.emulated = c.Asked, c.Regions, c.Offloads, c.Emulations
	for _, e := range n.emulated {
		for _, t := range e.Taps {
			n.taps, n.symbols = append(n.taps, bundle.Tap{Region: e.Hash, Tensor: t.Name}), append(n.symbols, nil)
		}
	}
	n.regions, err = generateRegions(j, g, c.Regions)
	return n, err
}

// ownKernels runs the passes behind those of external code generators on g: the model's nodes that each kernel computes without generators. Winograd's
// algorithm, which takes long to transform weights for, joins nothing and does not run.
func (j *job) ownKernels(c pass.Context, g *graph.Graph) (kernels [][]string, err error) {
	table := pass.Table[1+slices.IndexFunc(pass.Table, func(p pipeline.Pass[*pass.Context]) bool { return p.Name == "EmulateRegions" }):]
	disabled := append(slices.Clone(j.Disabled), "Winograd")
	c.Graph, c.Codegens, c.Asked, c.Disabled, c.Kernels = g, nil, nil, disabled, nil
	if err := pipeline.Run(table, &c, pipeline.Options[*pass.Context]{Level: j.Level, Disabled: disabled, Context: j.ctx, Verify: pass.Verify}); err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		kernels = append(kernels, n.Origin)
	}
	return kernels, nil
}

// graphPipeline is the part of the table that is still to run.
func (j *job) graphPipeline() []pipeline.Pass[*pass.Context] {
	for i, p := range pass.Table {
		if p.Name == j.After {
			return pass.Table[i+1:]
		}
	}
	return pass.Table
}

// ownAllOutputs gives the outputs of g and of the bodies of its regions results of their own.
func ownAllOutputs(g *graph.Graph) {
	ownOutputs(g)
	for _, n := range g.Nodes {
		for _, body := range n.Bodies() {
			ownAllOutputs(body)
		}
	}
}

// ownOutputs gives every graph output a node result of its own: one that is an input, a constant or another output too
// gets a copy, for the run context has a buffer for each.
func ownOutputs(g *graph.Graph) {
	seen := map[*graph.Value]bool{}
	for i, o := range g.Outputs {
		if o.Def != nil && !seen[o] {
			seen[o] = true
			continue
		}
		n, err := g.Apply(ops.Copy, op.None{}, o)
		if err != nil {
			panic(err)
		}
		n.Out[0].Name = o.Name
		if o.Def != nil {
			n.Origin = o.Def.Origin
		}
		g.Outputs[i] = n.Out[0]
		seen[n.Out[0]] = true
	}
}
