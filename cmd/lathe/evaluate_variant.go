package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/evaluate"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/spelling"
)

// threadsOption is the option of a variant that is none of compile's: threads of a run.
const threadsOption = "threads"

// notVaried are flags of compile that say where output goes, which is not a variant's to say.
var notVaried = []string{"output", "output-format", "dump-code", "print-pass-times", "print-ir-before", "print-ir-after", "module-name", "explain", "executor-graph-link-params", "embed-params"}

// variants compiles what is evaluated.
type variants struct {
	*app
	*evaluateFlags
	free map[string]*bundle.Manifest // by model and options without a layout
}

// compile compiles an experiment, or takes the package that it is. That it does not compile is the variant's error, for others go
// on; malformed options are the command's.
func (s *variants) compile(ctx context.Context, e evaluate.Experiment) (*evaluate.Variant, error) {
	v := &evaluate.Variant{Name: e.Name, Model: e.Model, Options: s.with(e), Package: e.Model, Threads: s.threads}
	c, err := s.flags(e, v)
	if err != nil || isPackage(e.Model) {
		return v, err
	}
	o, err := c.options(s.Out)
	if err != nil {
		return nil, fmt.Errorf("variant %s: %w", e.Name, err)
	}
	m, err := c.model.load(ctx, e.Model, c.note)
	if err != nil {
		return nil, err
	}
	v.Source = m.Files()
	v.Package = filepath.Join(s.results, evaluate.PackageFolder, e.Name+".tar")
	o.Output = v.Package
	pkg, err := lathe.Compile(ctx, m, o)
	if err == nil {
		v.Refusals = refusals(pkg)
		err = pkg.SaveContext(ctx, v.Package)
	}
	if err == nil && len(o.DesiredLayout) > 0 {
		v.Free, err = s.withoutLayout(ctx, m, o, e)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	v.Err = err
	return v, nil
}

// refusals are what external code generators did not take of a network.
func refusals(pkg *lathe.Package) (list []evaluate.Refusal) {
	for _, o := range pkg.Offloads() {
		for _, r := range o.Refusals {
			list = append(list, evaluate.Refusal{Generator: r.Generator, Operator: o.Operator, Reason: r.Reason, Nodes: o.Nodes})
		}
	}
	return list
}

// withoutLayout is the manifest of a model that is compiled in the layouts that the compiler chooses.
func (s *variants) withoutLayout(ctx context.Context, m *lathe.Model, o lathe.CompileOptions, e evaluate.Experiment) (*bundle.Manifest, error) {
	rest := slices.DeleteFunc(slices.Clone(e.Options), func(o evaluate.Option) bool {
		return strings.HasPrefix(o.Name, "desired-layout") || o.Name == threadsOption
	})
	key := e.Model + " " + rest.String()
	if s.free[key] == nil {
		o.DesiredLayout, o.DesiredLayoutOps, o.Notes = nil, nil, nil
		pkg, err := lathe.Compile(ctx, m, o)
		if err != nil {
			return nil, err
		}
		s.free[key] = pkg.Info()
	}
	return s.free[key], nil
}

// flags are compile's as the options of an experiment set them.
func (s *variants) flags(e evaluate.Experiment, v *evaluate.Variant) (*compileFlags, error) {
	command := s.command
	c := &compileFlags{command: command, note: func(text string) { s.Log("%s: %s", e.Name, text) }}
	cmd := &cobra.Command{}
	c.define(cmd)
	fs := cmd.Flags()
	if err := s.model.give(&c.model, fs); err != nil {
		return nil, err
	}
	for _, o := range e.Options {
		flag := fs.Lookup(o.Name)
		switch {
		case o.Name == threadsOption:
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 || n > 1024 {
				return nil, cli.Usagef(command, "variant %s: threads %q must be a whole number from 1 to 1024", e.Name, o.Value)
			}
			v.Threads = n
			continue
		case flag == nil || slices.Contains(notVaried, o.Name):
			known := variedFlags(cmd)
			return nil, cli.Usagef(command, "variant %s: %q is no option of a variant (choose from %s)%s", e.Name, o.Name, strings.Join(known, ", "), spelling.Hint(o.Name, known))
		case isPackage(e.Model):
			return nil, cli.Usagef(command, "variant %s: option %s is for models, and %s is a package", e.Name, o.Name, e.Model)
		}
		values := []string{o.Value}
		if _, several := flag.Annotations[cli.Several]; several {
			values = cli.CommaList(o.Value)
		}
		for _, value := range values {
			if err := fs.Set(o.Name, value); err != nil {
				return nil, cli.Usagef(command, "variant %s: %w", e.Name, err)
			}
		}
	}
	return c, nil
}

// variedFlags lists the options that a variant can have.
func variedFlags(cmd *cobra.Command) []string {
	names := []string{threadsOption}
	for _, name := range []string{"opt-level", "target", "desired-layout", "desired-layout-ops", "disabled-pass", "denormals", "choices", "tuning-records", "input-shapes", "fix", "loop-bound", "inputs", "outputs", "weights", "model-format", "tflite-arithmetic", "hybrid", "state"} {
		if cmd.Flags().Lookup(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// with is what an experiment says, and behind it the flags for all models that it does not set itself.
func (s *variants) with(e evaluate.Experiment) evaluate.Options {
	if isPackage(e.Model) {
		return e.Options
	}
	all := slices.Clone(e.Options)
	for _, o := range s.model.given() {
		if e.Options.Value(o.Name) == "" {
			all = append(all, o)
		}
	}
	return all
}
