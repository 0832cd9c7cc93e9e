// Package compile is the driver: it takes a graph through passes, lowering, scheduling, code generation, LLVM and the
// linker to a package. It is the only package that sees all of them.
package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// Options controls a compilation.
type Options struct {
	Target   *target.Target
	Level    int      // -O
	Disabled []string // passes not to run
	Module   string   // the library exports lathe_<Module>_run
	Workers  int      // goroutines that compile; the result does not depend on it
	Version  string   // of the compiler, for the manifest
	Source   bundle.Source
	Format   string // name of one of Formats; "" = by the target
	Weights  Weights
	// Denormals is resolved for the target; a package says in its options which it is.
	Denormals Denormals
	Runtime   []bundle.Text // files of the runtime that are part of a static library's archive

	Layouts []string // desired layouts of convolutions; empty: chosen

	// Choices are decisions by the name of the kernel that they are for; others are taken by default.
	Choices map[string]choice.Point

	Code        []string // forms to keep as text: relay, tir, ll, asm
	PrintBefore []string // passes
	PrintAfter  []string
	IR          io.Writer // where PrintBefore and PrintAfter go
	Times       io.Writer // pass times; nil: not wanted
	Progress    func(phase string, done, total int)

	// After names the graph pass that made the graph, when it comes from a dump: the pipeline goes on behind it.
	After string
	Debug Debug

	// at, in tests, is called with the name of a phase for each piece of work that it begins.
	at func(phase string)
	// llvmPasses, in tests, is LLVM's pipeline for kernels; "" is the usual one.
	llvmPasses string
}

// CodeFormats are the forms of Options.Code.
var CodeFormats = []string{"relay", "tir", "ll", "asm"}

// A Result is a compiled module: what a package is written from, and the texts that were asked for.
type Result struct {
	Contents bundle.Contents
	Code     map[string]string
	Notes    []string
	format   *Format
}

// Write writes the module in its format, until ctx ends. Nothing half-written is left behind.
func (r *Result) Write(ctx context.Context, path string) error {
	if _, err := FormatFor(r.format.Name, "", path); err != nil {
		return err
	}
	contents := r.Contents
	contents.Ctx = ctx
	return r.format.write(path, &contents)
}

// Output is the file to write when the user names none.
func (r *Result) Output() string { return r.format.Output }

// planning are the phases before any code is generated; what refuses a model is in them.
var planning = []phase{{"graph", (*compiler).graphPasses}, {"kernels", (*compiler).makeKernels}, {"memory", (*compiler).planMemory}}

// Compile compiles g, which it changes.
func Compile(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	c, err := newCompiler(ctx, g, o)
	if err != nil {
		return nil, err
	}
	if err := c.run(append(slices.Clip(planning), c.res.format.phases...)); err != nil {
		return nil, err
	}
	return c.res, nil
}

// Check returns the error that Compile would give, without generating code, or what memory a run would take: it plans g, which
// it changes, in full.
func Check(ctx context.Context, g *graph.Graph, o Options) (bundle.Memory, error) {
	c, err := newCompiler(ctx, g, o)
	if err == nil {
		err = c.run(planning)
	}
	if err != nil {
		return bundle.Memory{}, err
	}
	return c.runMemory(), nil
}

func newCompiler(ctx context.Context, g *graph.Graph, o Options) (*compiler, error) {
	c := &compiler{Options: o, ctx: ctx, graph: g, res: &Result{Code: map[string]string{}}}
	if c.Module == "" {
		c.Module = "default"
	}
	if c.Debug.Time && c.Times == nil {
		c.Times = os.Stderr
	}
	format, err := formatOf(c.Format, c.Target)
	if err != nil {
		return nil, err
	}
	if err := format.fits(c.Target); err != nil {
		return nil, err
	}
	if err := format.checkNames(c.Module, c.Runtime); err != nil {
		return nil, err
	}
	if err := c.resolveDenormals(); err != nil {
		return nil, err
	}
	if err := c.codeExists(); err != nil {
		return nil, err
	}
	if format.inside && c.Weights == WeightsBeside {
		return nil, fmt.Errorf("output format %s has its weights inside: leave out --embed-params=false", format.Name)
	}
	c.res.format = format
	return c, nil
}

func (c *compiler) run(phases []phase) error {
	for _, phase := range phases {
		start := time.Now()
		if err := c.ctx.Err(); err != nil {
			return err
		}
		err := fault.Guard(func() error { c.begin(phase.name); return phase.run(c) })
		if caught := (*fault.Error)(nil); errors.As(err, &caught) && c.Debug.Stack {
			fmt.Fprint(os.Stderr, caught.Stack)
		}
		if err != nil {
			return err
		}
		if c.Times != nil {
			fmt.Fprintf(c.Times, "%-28s %9.3f ms\n", "phase "+phase.name, ms(time.Since(start)))
		}
	}
	return nil
}

// begin is where tests look in.
func (c *compiler) begin(phase string) {
	if c.at != nil {
		c.at(phase)
	}
}

// codeExists refuses forms of code that the target does not have.
func (c *compiler) codeExists() error {
	for _, f := range c.Code {
		if c.Target.Arch == target.CSource && (f == "ll" || f == "asm") {
			return fmt.Errorf("code format %s does not exist for target c, whose output is the code (there are relay and tir)", f)
		}
	}
	return nil
}

type compiler struct {
	Options
	ctx     context.Context
	graph   *graph.Graph
	res     *Result
	kernels []*kernel // to run, in order
	all     []*kernel // and those that aliases made unnecessary
	consts  []*constant
	plan    plan
	objects []toolchain.Object
	machine *toolchain.Machine
	flops   float64 // of the model as it was given
	symbols [][]int // by output of the model: the symbol that holds an axis' extent, -1 for none; nil: all are static
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func (c *compiler) progress(phase string, done, total int) {
	if c.Progress != nil {
		c.Progress(phase, done, total)
	}
}

// graphPasses runs the graph pipeline.
func (c *compiler) graphPasses() error {
	if err := c.dynamicOutputs(); err != nil {
		return err
	}
	ownOutputs(c.graph)
	c.flops = graphFlops(c.graph)
	dump := &graphDump{Debug: &c.Debug, consts: graph.NewConsts()}
	dumped := dump.graph("input", c.graph)
	stopped := false
	err := pipeline.Run(c.graphPipeline(), &pass.Context{Graph: c.graph, Target: c.Target, Level: c.Level, Layouts: c.Layouts, Ctx: c.ctx}, pipeline.Options[*pass.Context]{
		Level:    c.Level,
		Disabled: c.Disabled,
		StopAt:   c.Debug.Stop,
		Context:  c.ctx,
		Verify:   pass.Verify,
		Before:   func(name string, p *pass.Context) { c.begin("pass"); c.printIR("before", c.PrintBefore, name, p.Graph) },
		After: func(name string, p *pass.Context, took time.Duration) {
			c.printIR("after", c.PrintAfter, name, p.Graph)
			if c.Times != nil {
				fmt.Fprintf(c.Times, "%-28s %9.3f ms\n", name, ms(took))
			}
			if dumped == nil { // one folder, one error
				dumped = dump.graph(name, p.Graph)
			}
			stopped = name == c.Debug.Stop
		},
	})
	if dumped == nil {
		dumped = dump.finish()
	}
	if err := errors.Join(err, dumped); err != nil {
		return err
	}
	if stopped {
		return c.Debug.stopped()
	}
	if slices.Contains(c.Code, "relay") {
		c.res.Code["relay"] = c.graph.String()
	}
	return nil
}

// graphPipeline is the part of the table that is still to run.
func (c *compiler) graphPipeline() []pipeline.Pass[*pass.Context] {
	for i, p := range pass.Table {
		if p.Name == c.After {
			return pass.Table[i+1:]
		}
	}
	return pass.Table
}

func (c *compiler) printIR(when string, wanted []string, name string, ir fmt.Stringer) {
	if c.IR != nil && (slices.Contains(wanted, name) || slices.Contains(wanted, "all")) {
		fmt.Fprintf(c.IR, "// %s %s\n%s\n", when, name, ir)
	}
}
