package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe"
	"lathe/internal/evaluate"
	"lathe/internal/frontend"
	"lathe/internal/tool/cli"
)

// mostLoopBound is the greatest --loop-bound.
const mostLoopBound = 1 << 20

// modelFlags say how to read a model.
type modelFlags struct {
	format  string
	weights string
	shapes  inputShapes
	fix     fixes
	bound   int
	inputs  string
	outputs string
	// options are those of formats, by name.
	options map[string]*string
	changed func(string) bool
	text    func(string) string // of a flag
}

func (f *modelFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	cli.ParsedVar(fs, &f.shapes, "input-shapes", "SHAPES", parseShapes, `shapes of inputs: "data:[1,3,224,224] mask:[1,128]", or sizes of the names in them: "batch=2 seq=12" (default: the model's, sizes it leaves open 1)`)
	fs.Var(&f.fix, "fix", "make an input a constant, as `INPUT=VALUE`: a number (for every element), lists like [1,2,3], or a file of numpy (.npy, .npz) or ONNX (.pb); may be repeated")
	cli.NumberVar(fs, &f.bound, "loop-bound", "", 0, 0, mostLoopBound, "greatest `number` of iterations of a loop that stacks results and whose end depends on data (default: the model's, or 1024)")
	fs.StringVar(&f.inputs, "inputs", "", "`names` of values or nodes that become the model's inputs, separated by commas: what comes before them is left out (default: the model's)")
	fs.StringVar(&f.outputs, "outputs", "", "`names` of values or nodes that become the model's outputs, separated by commas (default: the model's)")
	fs.StringVar(&f.weights, "weights", "", "`file` or folder of the weights of a model that keeps them outside of its own file (default: found beside it); "+lathe.RandomWeights+" makes values up: a network without weights can be compiled, run and timed")
	cli.MarkOurs(cmd, "fix", "loop-bound", "inputs", "outputs", "weights")
	f.options, f.changed = map[string]*string{}, fs.Changed
	f.text = func(name string) string { return fs.Lookup(name).Value.String() }
	for _, o := range lathe.FormatOptions() {
		f.options[o.Name] = new(string)
		cli.ChoiceVar(fs, f.options[o.Name], o.Name, o.Values[0], o.Values, o.Doc)
		cli.MarkOurs(cmd, o.Name)
	}
	cli.ChoiceVar(fs, &f.format, "model-format", "", lathe.ModelFormats(), "format of the model file, one of "+strings.Join(lathe.ModelFormats(), " ")+" (default: by the file)")
}

func (f *modelFlags) load(ctx context.Context, path string, notes func(string)) (*lathe.Model, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("input file %q %s", path, absent(path, err))
	case st.IsDir() && f.format == "" && isPackage(path):
		return nil, fmt.Errorf("input file %q is a directory: name the model file in it", path)
	case st.IsDir():
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("input file %q is a device or a pipe; models are mapped into memory and must be files", path)
	}
	given := map[string]string{}
	for name, value := range f.options {
		if f.changed(name) {
			given[name] = *value
		}
	}
	return lathe.LoadContext(ctx, path, lathe.LoadOptions{FormatOptions: given, Format: f.format, Weights: f.weights, Shapes: f.shapes.shapes, Sizes: f.shapes.sizes, Fix: f.fix.values, LoopBound: f.bound, Inputs: names(f.inputs), Outputs: names(f.outputs), Notes: notes})
}

// names are those of a list with commas.
func names(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// refused is the error about a model that does not compile, with what may help where sizes that nobody gave are the reason.
func refused(path string, err error) error {
	if _, ok := errors.AsType[*frontend.SizeError](err); ok {
		return fmt.Errorf("%s: %w ('lathe inspect' looks for sizes that work)", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// absent tells why there is no file at a path.
func absent(path string, err error) string {
	link, linkErr := os.Readlink(path)
	switch {
	case path == "":
		return "has an empty name"
	case strings.Contains(path, "://"):
		return "doesn't exist: models are read from files (download it first)"
	case linkErr == nil:
		return "is a broken symbolic link to " + link
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		return "doesn't exist, and a pattern names no file"
	case errors.Is(err, fs.ErrNotExist):
		return "doesn't exist"
	}
	return "cannot be read: " + cli.Cause(err).Error()
}

// give sets to, whose flags are fs's, to what f was given; what fs is given behind it counts instead.
func (f *modelFlags) give(to *modelFlags, fs *pflag.FlagSet) error {
	to.shapes, to.fix, to.bound, to.weights, to.format = f.shapes, fixes{maps.Clone(f.fix.values), slices.Clone(f.fix.files), slices.Clone(f.fix.typed)}, f.bound, f.weights, f.format
	to.inputs, to.outputs = f.inputs, f.outputs
	for name, value := range f.options {
		if !f.changed(name) {
			continue
		}
		if err := fs.Set(name, *value); err != nil {
			return err
		}
	}
	return nil
}

// given are the flags that were given, as they were typed.
func (f *modelFlags) given() (list evaluate.Options) {
	add := func(name string, values ...string) {
		for _, v := range values {
			list = append(list, evaluate.Option{Name: name, Value: v})
		}
	}
	add("fix", f.fix.typed...)
	names := []string{"input-shapes", "loop-bound", "inputs", "outputs", "weights", "model-format"}
	for _, o := range lathe.FormatOptions() {
		names = append(names, o.Name)
	}
	for _, name := range names {
		if f.changed(name) {
			add(name, f.text(name))
		}
	}
	return list
}
