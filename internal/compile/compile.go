// Package compile is the driver: it takes a graph through passes, lowering, scheduling, code generation, LLVM and the
// linker to a package. It is the only package that sees all of them.
//
// A phase is a function from values to a value, and what it does not get it does not need:
//
//	optimize  graph                    → network: the graph of groups, its outputs, its arithmetic
//	build     network                  → program: a step per kernel, with the code that equal ones share
//	place     network, program         → plan.Plan: memory and barriers
//	generate  program, plan            → code: objects
//	pack      network, program, plan   → bundle.Contents without code: weights, graph, manifest
//	link      code, contents           → bundle.Contents; archive and linkWasm likewise
//	source    network, program, plan   → bundle.Contents of target c, in place of the last three
package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/byoc"
	"lathe/internal/choice"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/plan"
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
	// Inputs and Outputs are what the model says of their numbers, by name.
	Inputs, Outputs map[string]bundle.Meaning
	Format          string // name of one of Formats; "" = by the target
	Weights         Weights
	// Denormals is resolved for the target; a package says in its options which it is.
	Denormals Denormals
	Runtime   []bundle.Text // files of the runtime that are part of a static library's archive

	Layouts   []string // desired layouts of convolutions; empty: chosen
	LayoutOps []string // convolutions that they are for; empty: all

	// Codegens are external code generators, which take parts of the network: the first first.
	Codegens []byoc.Chosen
	// NoFallback leaves out steps, and their weights, that compute what modules of external code generators do.
	NoFallback bool
	// Calibration is what external code generators that calibrate have found; nil: nothing.
	Calibration []byte

	// Choices are decisions by the name of the node or kernel that they are for; others are taken by default.
	Choices map[string]choice.Point
	// Tuned decides on nodes and kernels for which Choices has nothing.
	Tuned Tuned

	// Known are objects that compilations share which may have kernels of the same text; nil: this one is by itself.
	Known *toolchain.Known

	Code        []string // forms to keep as text: relay, tir, ll, asm
	PrintBefore []string // passes
	PrintAfter  []string
	IR          io.Writer // where PrintBefore and PrintAfter go
	Times       io.Writer // pass times; nil: not wanted
	Progress    func(phase string, done, total int)

	// After names the graph pass that made the graph, when it comes from a dump: the pipeline goes on behind it.
	After string
	Debug Debug

	draft *draft // where constants are written, see Save

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
	Tuned    *TunedReport   // nil without records
	Offloads []pass.Offload // who computes which node, where there are external code generators
	Notes    []string       // what external code generators tell
	format   *Format
}

// Write writes the module in its format, until ctx ends. Nothing half-written is left behind.
func (r *Result) Write(ctx context.Context, path string) error {
	if err := r.format.names(path); err != nil {
		return err
	}
	contents := r.Contents
	contents.Ctx = ctx
	return r.format.write(path, &contents)
}

// Output is the file to write when the user names none.
func (r *Result) Output() string { return r.format.Output }

// Compile compiles g, which it changes.
func Compile(ctx context.Context, g *graph.Graph, o Options) (*Result, error) {
	j, err := newJob(ctx, o)
	if err != nil {
		return nil, err
	}
	n, p, mem, err := j.plan(g)
	if err != nil {
		return nil, err
	}
	contents, c, err := j.format.finish(j, n, p, mem)
	if err != nil {
		return nil, err
	}
	res := &Result{Contents: *contents, Code: map[string]string{}, Tuned: j.Tuned.report(n, p), Offloads: n.offloads, Notes: n.notes(), format: j.format}
	for form, text := range map[string]func() (string, error){
		"relay": func() (string, error) { return n.graph.String(), nil },
		"tir":   func() (string, error) { return p.loops(), nil },
		"ll":    func() (string, error) { return strings.Join(c.texts(), "\n"), nil },
		"asm":   func() (string, error) { return c.assembly() },
	} {
		if !slices.Contains(o.Code, form) {
			continue
		}
		if res.Code[form], err = text(); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// Check returns the error that Compile would give, without generating code, or what memory a run would take: it plans g, which
// it changes, in full.
func Check(ctx context.Context, g *graph.Graph, o Options) (bundle.Memory, error) {
	j, err := newJob(ctx, o)
	if err != nil {
		return bundle.Memory{}, err
	}
	n, p, mem, err := j.plan(g)
	if err != nil {
		return bundle.Memory{}, err
	}
	memory := manifest(j, n, p, mem).Memory(j.Workers)
	for _, v := range mem.Constants {
		memory.Weights += int64(v.Type.Bytes())
	}
	return memory, nil
}

// Memory is what a run of r takes with a number of workers.
func (r *Result) Memory(workers int) bundle.Memory {
	memory := r.Contents.Manifest.Memory(workers)
	for _, p := range r.Contents.Params {
		memory.Weights += int64(p.Size())
	}
	return memory
}

// plan runs the phases before any code is generated; what refuses a model is in them.
func (j *job) plan(g *graph.Graph) (n *network, p *program, mem *plan.Plan, err error) {
	if n, err = phase(j, "graph", func() (*network, error) { return optimize(j, g) }); err != nil {
		return nil, nil, nil, err
	}
	if p, err = phase(j, "kernels", func() (*program, error) { return build(j, n) }); err != nil {
		return nil, nil, nil, err
	}
	mem, err = phase(j, "memory", func() (*plan.Plan, error) { return place(j, n, p) })
	return n, p, mem, err
}

// phase runs one phase: it takes its time, and a panic in it is an error.
func phase[T any](j *job, name string, run func() (T, error)) (value T, err error) {
	start := time.Now()
	if err := j.ctx.Err(); err != nil {
		return value, err
	}
	err = fault.Guard(func() error {
		j.begin(name)
		value, err = run()
		return err
	})
	if caught := (*fault.Error)(nil); errors.As(err, &caught) && j.Debug.Stack {
		fmt.Fprint(os.Stderr, caught.Stack)
	}
	if err == nil && j.Times != nil {
		fmt.Fprintf(j.Times, "%-28s %9.3f ms\n", "phase "+name, ms(time.Since(start)))
	}
	return value, err
}

// A job is what the user asks for. Phases share it, and nothing that one of them made.
type job struct {
	Options
	ctx    context.Context
	format *Format
}

// newJob resolves o and refuses what cannot be asked for.
func newJob(ctx context.Context, o Options) (*job, error) {
	if o.Module == "" {
		o.Module = "default"
	}
	if o.Debug.Time && o.Times == nil {
		o.Times = os.Stderr
	}
	o.believe()
	format, err := FormatOf(o.Format, o.Target)
	if err != nil {
		return nil, err
	}
	if err := format.fits(o.Target); err != nil {
		return nil, err
	}
	if o.draft != nil {
		if err := format.names(o.draft.path); err != nil {
			return nil, err
		}
	}
	if err := format.checkNames(o.Module, o.Runtime); err != nil {
		return nil, err
	}
	if err := o.resolveDenormals(); err != nil {
		return nil, err
	}
	if err := o.codeExists(); err != nil {
		return nil, err
	}
	if err := o.Debug.writable(); err != nil {
		return nil, err
	}
	if format.inside && o.Weights == WeightsBeside {
		return nil, fmt.Errorf("output format %s has its weights inside: leave out --embed-params=false", format.Name)
	}
	j := &job{o, ctx, format}
	return j, j.takesGenerators()
}

// codeExists refuses forms of code that the target does not have.
func (o *Options) codeExists() error {
	for _, f := range o.Code {
		if o.Target.IsSource() && (f == "ll" || f == "asm") {
			return fmt.Errorf("code format %s does not exist for target c, whose output is the code (there are relay and tir)", f)
		}
	}
	return nil
}

// begin is where tests look in.
func (j *job) begin(phase string) {
	if j.at != nil {
		j.at(phase)
	}
}

func (j *job) progress(phase string, done, total int) {
	if j.Progress != nil {
		j.Progress(phase, done, total)
	}
}

func (j *job) printIR(when string, wanted []string, name string, ir fmt.Stringer) {
	if j.IR != nil && (slices.Contains(wanted, name) || slices.Contains(wanted, "all")) {
		fmt.Fprintf(j.IR, "// %s %s\n%s\n", when, name, ir)
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
