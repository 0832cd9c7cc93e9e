// Package lathe compiles trained models into packages that run without a framework.
//
//	m, err := lathe.Load("resnet50.onnx", lathe.LoadOptions{})
//	...
//	p, err := lathe.Compile(ctx, m, lathe.CompileOptions{Target: "llvm"})
//	...
//	err = p.Save("resnet50.tar")
//
// The package lathe/runtime runs what Save wrote.
package lathe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/byoc"
	"lathe/internal/byoc/codegens"
	"lathe/internal/byoc/plugin"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/cpu"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/host"
	"lathe/internal/target"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/version"
	"lathe/internal/toolchain"
	"lathe/internal/verify"
	"lathe/runtime"
)

// Package is a compiled model.
type Package struct{ res *compile.Result }

// Compile compiles a model for one target.
func Compile(ctx context.Context, m *Model, o CompileOptions) (*Package, error) {
	return m.compile(ctx, o, compile.Compile)
}

// CompileTo compiles a model for one target and saves it as SaveContext does, in less time than the two by themselves: weights are written while code is
// made.
func CompileTo(ctx context.Context, m *Model, path string, o CompileOptions) (*Package, error) {
	return m.compile(ctx, o, func(ctx context.Context, g *graph.Graph, o compile.Options) (*compile.Result, error) {
		return compile.Save(ctx, g, o, path)
	})
}

// compile resolves o and runs the compiler.
func (m *Model) compile(ctx context.Context, o CompileOptions, run func(context.Context, *graph.Graph, compile.Options) (*compile.Result, error)) (*Package, error) {
	opts, err := o.resolve()
	if err != nil {
		return nil, err
	}
	for _, c := range opts.Codegens {
		if _, _, err := vendorCompiler(c, byoc.Run); err != nil {
			return nil, err
		}
	}
	if err := m.informCodegens(ctx, &o, &opts); err != nil {
		return nil, excerpt.Error(err)
	}
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	opts.Source, opts.After = m.source, m.after
	opts.Inputs, opts.Outputs = m.meanings()
	if opts.Tuned, err = o.tuned(m); err != nil {
		return nil, excerpt.Error(err)
	}
	res, err := run(ctx, g, opts)
	if err != nil {
		return nil, excerpt.Error(err)
	}
	if o.Notes != nil {
		if res.Tuned != nil {
			o.tellTuned(res.Tuned)
		}
		for _, note := range res.Notes {
			o.Notes(note)
		}
		// It is no part of the package, which other machines may run.
		memory := res.Memory(opts.Workers)
		if err := host.CheckMemory("a run", memory.Run, memory.String()); err != nil {
			o.Notes(err.Error())
		}
	}
	return &Package{res}, nil
}

// An OutputError says that CompileOptions.Output, or the path given to Save, is not the name of what is written. Its fields
// are File, the name, and Why.
type OutputError = compile.OutputError

// Resolved returns the options that Compile will use: with the format, the output's name, the level, and the target of this
// machine where o leaves them open. It gives Compile's errors about options before a model is read.
func (o CompileOptions) Resolved() (CompileOptions, error) {
	opts, err := o.resolve()
	if err != nil {
		return o, err
	}
	format, err := compile.FormatOf(opts.Format, opts.Target)
	if err != nil {
		return o, err
	}
	opts.Format, o.Output = format.Name, cmp.Or(o.Output, format.Output)
	o.Target, o.Format, o.OptLevel, o.ModuleName = opts.Target.String(), opts.Format, OptLevel(strconv.Itoa(opts.Level)), opts.Module
	return o, nil
}

// resolve turns the public options into the driver's, which the environment variable LATHE_DEBUG adds to.
func (o CompileOptions) resolve() (compile.Options, error) {
	level, err := o.OptLevel.number()
	if err != nil {
		return compile.Options{}, err
	}
	if o.Target == "" {
		if o.Format, err = compile.FormatFor(o.Format, nil, o.Output); err != nil {
			return compile.Options{}, err
		}
		for _, f := range compile.Formats {
			if f.Name == o.Format {
				o.Target = f.Target
			}
		}
	}
	t, err := resolveTarget(o.Target)
	if err != nil {
		return compile.Options{}, err
	}
	if o.Format, err = compile.FormatFor(o.Format, t, o.Output); err != nil {
		return compile.Options{}, err
	}
	for _, f := range o.DumpCode {
		if !slices.Contains(compile.CodeFormats, f) {
			return compile.Options{}, fmt.Errorf("unknown code format %q (there are %v)", f, compile.CodeFormats)
		}
	}
	debug, err := compile.ParseDebug(os.Getenv(compile.DebugVariable))
	if err != nil {
		return compile.Options{}, err
	}
	choices := map[string]choice.Point{}
	for kernel, point := range o.Choices {
		choices[kernel] = point
	}
	workers := o.Workers
	if workers <= 0 {
		workers = goruntime.GOMAXPROCS(0)
	}
	gens, err := codegens.Table.Choose(t, func(name string) (*byoc.Codegen, error) {
		if c, err := plugin.Among(o.Codegens, name); c != nil || err != nil {
			return c, err
		}
		return plugin.Find(name)
	})
	if err != nil {
		return compile.Options{}, err
	}
	return compile.Options{
		Target: t, Codegens: gens, NoFallback: o.NoExternalFallback, Level: level, Disabled: o.DisabledPasses, Module: o.ModuleName, Format: o.Format, Weights: compile.Weights(o.Weights), Denormals: compile.Denormals(o.Denormals), Runtime: runtimeSources(), Workers: workers, Version: version.Number,
		Layouts: o.DesiredLayout, LayoutOps: o.DesiredLayoutOps, Choices: choices, Code: o.DumpCode, PrintBefore: o.PrintIRBefore, PrintAfter: o.PrintIRAfter, IR: o.IROut,
		Times: o.PrintPassTimes, Progress: o.Progress, Debug: debug,
	}, nil
}

// resolveTarget reads a target string; what it leaves open is this machine's.
func resolveTarget(s string) (*target.Target, error) {
	if s == "" {
		s = "llvm"
	}
	spec, err := target.Parse(s)
	if err != nil {
		return nil, err
	}
	return spec.Resolve(toolchain.Host)
}

// Save writes the package in the format it was compiled for. With a shared library that is the triple NAME.so, NAME.json,
// NAME.params when path ends in ".so" (NAME.so alone with weights inside), else a tar. A path whose extension belongs to
// another format is an OutputError. Nothing half-written is left behind.
func (p *Package) Save(path string) error { return p.SaveContext(context.Background(), path) }

// SaveContext is Save that ends when ctx does, with its error and nothing written.
func (p *Package) SaveContext(ctx context.Context, path string) error { return p.res.Write(ctx, path) }

// Info returns the manifest: target, memory, steps, inputs and outputs. The caller must not change it.
func (p *Package) Info() *runtime.Info { return p.res.Contents.Manifest }

// Output returns the file to write when the user names none.
func (p *Package) Output() string { return p.res.Output() }

// Code returns the generated code in one of the formats asked for with CompileOptions.DumpCode.
func (p *Package) Code(format string) (string, bool) {
	s, ok := p.res.Code[format]
	return s, ok
}

// runsHere refuses to verify what this machine cannot run.
func runsHere(t *target.Target) error {
	if t.IsSource() {
		return errors.New("verify runs what it compiles, and target c is source (verify with target llvm, which shares all but the last step)")
	}
	here, err := cpu.This()
	if err != nil {
		return err
	}
	if t.Arch != here.Arch {
		return fmt.Errorf("verify runs what it compiles on this machine, and the target is %s: leave --target out, or compile for it and run the package under qemu", t.Arch)
	}
	if missing := here.Missing(t.Features); missing != nil {
		return fmt.Errorf("verify runs what it compiles on this machine, and the target has the CPU features %s, which this one (%s) does not have: leave --target out",
			strings.Join(missing, " "), here.Name)
	}
	return nil
}

// Verify compiles the model and compares what it computes with the built-in reference evaluation: its outputs, or with
// o.PerOperator the results of every operator compiled by itself.
func Verify(ctx context.Context, m *Model, o VerifyOptions) (*VerifyReport, error) {
	opts, err := CompileOptions{Target: o.Target, OptLevel: o.OptLevel, DisabledPasses: o.DisabledPasses, Denormals: o.Denormals, Progress: o.Progress}.resolve()
	if err != nil {
		return nil, err
	}
	if err := runsHere(opts.Target); err != nil {
		return nil, err
	}
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	opts.After = m.after
	check := verify.Network
	if o.PerOperator {
		check = verify.Operators
	}
	var rows []verify.Row
	err = fault.Guard(func() (err error) { rows, err = check(ctx, g, opts); return err })
	if err != nil {
		return nil, excerpt.Error(err)
	}
	r := &VerifyReport{OK: true}
	for _, row := range rows {
		r.Rows = append(r.Rows, VerifyRow(row))
		r.OK = r.OK && row.OK
	}
	return r, nil
}
