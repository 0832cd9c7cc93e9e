package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/internal/byoc/codegens"
	"lathe/internal/target"
	"lathe/internal/tool/spelling"
)

// targetFlags are --target and --target-KIND-OPTION.
type targetFlags struct {
	flags   *pflag.FlagSet
	text    string
	options []kindOption // in the tables' order
	// passConfig is --pass-config, of the commands that have it.
	passConfig []string
}

type kindOption struct {
	kind string
	target.Option
}

func (f *targetFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.flags = fs
	fs.StringVar(&f.text, "target", "llvm", "`target` to compile for: \"llvm -mcpu=NAME -mtriple=TRIPLE -mattr=+A,-B\", \"c\" for C source, external code generators and a target: \"dnnl, llvm\", inline JSON or a file of either (default llvm, this machine)")
	for _, kind := range target.Supported() {
		for _, o := range target.Options(kind) {
			f.options = append(f.options, kindOption{kind, target.Option{Name: o.Name}})
		}
	}
	for _, gen := range codegens.Table {
		for _, o := range gen.Options {
			f.options = append(f.options, kindOption{gen.Name, target.Option{Name: o.Name}})
		}
	}
	for i := range f.options {
		o := &f.options[i]
		fs.StringVar(&o.Value, o.flag(), "", "the target's option -"+o.Name)
		fs.Lookup(o.flag()).Hidden = true
	}
}

// needs is a target that has the option.
func (o kindOption) needs() string {
	if slices.Contains(target.Supported(), o.kind) {
		return o.kind
	}
	return `"` + o.kind + `, llvm"`
}

func (o kindOption) flag() string { return "target-" + o.kind + "-" + o.Name }

// named is resolve, but "" where no flag says anything.
func (f *targetFlags) named() (string, error) {
	set := f.flags != nil && f.flags.Changed("target") || len(f.passConfig) > 0
	for _, o := range f.options {
		set = set || o.Value != ""
	}
	if f.flags != nil && !set {
		return "", nil
	}
	return f.resolve()
}

// resolve returns the target as a plain string. What it leaves open is resolved by the compiler, which knows the host.
func (f *targetFlags) resolve() (string, error) {
	text := f.text
	if st, err := os.Stat(text); err == nil && st.Mode().IsRegular() {
		const limit = 1 << 20
		if st.Size() > limit {
			return "", fmt.Errorf("target %s: a file of %s is not a target", text, spelling.Count(st.Size(), "byte"))
		}
		b, err := os.ReadFile(text)
		if err != nil {
			return "", fmt.Errorf("target: %w", err)
		}
		text = string(b)
	} else if strings.HasSuffix(text, ".json") {
		return "", fmt.Errorf("target: there is no file %s", text)
	}
	spec, err := target.Parse(text)
	if err != nil {
		return "", err
	}
	for _, o := range f.options {
		if o.Value == "" {
			continue
		}
		if setGenerator(spec, o.kind, o.Name, o.Value) {
			continue
		}
		if o.kind != spec.Kind {
			return "", fmt.Errorf("flag --%s: the target is of kind %s (the flag needs --target %s)", o.flag(), spec.Kind, o.needs())
		}
		if err := spec.Set(o.Name, o.Value); err != nil {
			return "", fmt.Errorf("flag --%s: %w", o.flag(), err)
		}
	}
	if err := applyPassConfig(spec, f.passConfig); err != nil {
		return "", err
	}
	return spec.String(), nil
}
