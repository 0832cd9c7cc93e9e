package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe/internal/npz"
	"lathe/internal/picture"
	"lathe/runtime"
)

// Lists of values of tvmc.
var (
	devices   = []string{"cpu", "gpu", "cuda", "cl", "metal", "vulkan", "rocm", "micro"}
	fillModes = []string{"zeros", "ones", "random"}
)

// unusableRun are tvmc's flags of run that do not work yet.
var unusableRun = []unusableFlag{
	{name: "rpc-tracker", harmless: []string{""}},
	{name: "rpc-key", harmless: []string{""}},
}

// runFlags are the values of run's flags.
type runFlags struct {
	device, fill    string
	inputs, outputs string
	printTime       bool
	repeat, number  int
	printTop        int
	profile         string // file, toOutput or empty
	endToEnd        bool
	threads         int
	picture         pictureFlags
	labels          string
	fillChosen      bool // --fill-mode was given
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	var presets strings.Builder
	for _, p := range picture.Presets() {
		fmt.Fprintf(&presets, "\n  %-16s %s", p.Name, p.Doc)
	}
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "run a package",
		Long: `Run a package that 'lathe compile' wrote.

  lathe run --inputs cat.npz --output predictions.npz resnet50.tar
  lathe run --print-time --repeat 100 resnet50.tar
  lathe run --image cat.png --preprocess imagenet --labels synset.txt --print-top 5 squeezenet.tar

A picture becomes the input by a preset, which --resize, --crop, --mean, --std, --scale, --color, --layout and
--filter change:` + presets.String(),
		Args: oneFile("package"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseUnusable(cmd, unusableRun); err != nil {
				return err
			}
			if f.device != "cpu" {
				return &unsupportedError{what: "flag --device " + f.device}
			}
			if err := f.picture.check(cmd); err != nil {
				return err
			}
			for _, name := range []string{"repeat", "number", "end-to-end"} {
				if cmd.Flags().Changed(name) && !f.printTime && (name != "repeat" || f.profile == "") {
					a.note("--" + name + " has no effect without --print-time")
				}
			}
			f.fillChosen = cmd.Flags().Changed("fill-mode")
			if f.labels != "" && !cmd.Flags().Changed("print-top") {
				f.printTop = 5
			}
			return a.runPackage(cmd.Context(), f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.inputs, "inputs", "i", "", "inputs by name in an .npz `file`")
	fs.StringVarP(&f.outputs, "outputs", "o", "", "write the outputs to an .npz `file`, as output_0, output_1 ...")
	choiceVar(fs, &f.fill, "fill-mode", "random", fillModes, "what fills inputs that are not given: zeros, ones or random (from -1 to 1, int8 from 0 to 127; the same in every run)")
	fs.BoolVar(&f.printTime, "print-time", false, "print how long runs take, after one run that is not counted")
	numberVar(fs, &f.repeat, "repeat", "", 1, 1, 1e9, "measurements")
	numberVar(fs, &f.number, "number", "", 1, 1, 1e9, "runs whose average is one measurement")
	fs.BoolVar(&f.endToEnd, "end-to-end", false, "let times include copying inputs and outputs")
	numberVar(fs, &f.printTop, "print-top", "", 0, 0, 1<<20, "print the N greatest values of the first output and where they are")
	fs.Lookup("print-top").DefValue = ""
	fileOrOutputVar(cmd, &f.profile, "profile", "tell the time of each kernel against what this machine does at best, the most time lost first; with `=FILE` there, as a web page if it ends in .html")
	numberVar(fs, &f.threads, "threads", "", 0, 1, 1024, "threads (default: $LATHE_NUM_THREADS, $TVM_NUM_THREADS or the cores this process may use)")
	choiceVar(fs, &f.device, "device", "cpu", devices, "device to run on: cpu")
	f.picture.define(cmd)
	fs.StringVar(&f.labels, "labels", "", "`file` with the names of classes for --print-top (default 5 then): one per line, a synset list, JSON or a Python dictionary")
	markOurs(cmd, "threads", "labels")
	addUnusable(cmd, unusableRun)
	return cmd
}

func (a *app) runPackage(ctx context.Context, f *runFlags, path string) error {
	for _, out := range []string{f.outputs, f.profile} {
		if err := notOver(out, path, f.inputs, f.labels); err != nil {
			return err
		}
	}
	labels, err := readLabels(f.labels)
	if err != nil {
		return err
	}
	var given []npz.Array
	if f.inputs != "" {
		if given, err = npz.ReadFile(f.inputs); err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
	}
	var options []runtime.Option
	if f.threads > 0 {
		options = append(options, runtime.WithWorkers(f.threads))
	}
	m, err := runtime.Open(path, options...)
	if err != nil {
		return err
	}
	defer m.Close()
	a.log("%s: compiled for %s, %d threads", path, m.Info().Target.String, m.Workers())
	set := &inputSet{module: m, note: a.note}
	if err := set.fromArrays(given); err != nil {
		return err
	}
	if f.picture.path != "" {
		if err := f.picture.into(set, a.out); err != nil {
			return err
		}
	}
	missing := set.missing()
	set.fill(f.fill)
	if err := set.apply(); err != nil {
		return err
	}
	if f.inputs+f.picture.path != "" && len(missing) > 0 && !f.fillChosen {
		a.note(fmt.Sprintf("no values are given for %s: filled with random numbers (--fill-mode chooses)", strings.Join(missing, ", ")))
	}
	if err := m.Run(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.printTime {
		times, err := measure(ctx, m, set, f)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, timeTable(times))
	}
	return a.results(f, path, m, labels)
}

// measure runs the model repeat times number times and returns the average of each number in seconds.
func measure(ctx context.Context, m *runtime.Module, set *inputSet, f *runFlags) ([]float64, error) {
	once := m.Run
	if f.endToEnd {
		once = func() error {
			if err := set.apply(); err != nil {
				return err
			}
			if err := m.Run(); err != nil {
				return err
			}
			for i := range m.Outputs() {
				t, err := m.Output(i)
				if err != nil {
					return err
				}
				t.Clone()
			}
			return nil
		}
	}
	var times []float64
	for range f.repeat {
		start := time.Now()
		for range f.number {
			if err := once(); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		times = append(times, time.Since(start).Seconds()/float64(f.number))
	}
	return times, nil
}

// results prints and saves what the last run gave.
func (a *app) results(f *runFlags, path string, m *runtime.Module, labels []string) error {
	outputs, err := a.outputs(m)
	if err != nil {
		return err
	}
	if f.printTop > 0 {
		if len(outputs) == 0 {
			return fmt.Errorf("--print-top: the model has no outputs")
		}
		s, err := scoresOf(outputs[0])
		if err != nil {
			return fmt.Errorf("--print-top: %w", err)
		}
		if labels == nil && f.picture.path == "" {
			fmt.Fprintln(a.out, s.array(f.printTop))
		} else {
			s.print(a.out, moduleTitle(path), f.printTop, labels)
		}
	}
	if f.profile != "" {
		if err := a.profile(m, f, moduleTitle(path)); err != nil {
			return err
		}
	}
	if f.outputs == "" {
		return nil
	}
	return writeFile(f.outputs, func(w io.Writer) error { return npz.Write(w, outputs) })
}

// outputs copies the outputs, under tvmc's names. Types that numpy lacks become float32.
func (a *app) outputs(m *runtime.Module) ([]npz.Array, error) {
	var arrays []npz.Array
	for i, info := range m.Outputs() {
		t, err := m.Output(i)
		if err != nil {
			return nil, err
		}
		t = t.Clone()
		if t.DType == "bfloat16" {
			if t, err = convert(t, "float32"); err != nil {
				return nil, fmt.Errorf("output %q: %w", info.Name, err)
			}
			a.note(fmt.Sprintf("output %q is bfloat16, which numpy lacks: given as float32", info.Name))
		}
		arrays = append(arrays, npz.Array{Name: fmt.Sprintf("output_%d", i), DType: t.DType, Shape: t.Shape, Data: t.Data})
	}
	return arrays, nil
}

// moduleTitle is the file's name without folder and extension.
func moduleTitle(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, ext := range []string{".tar", ".so", ".json", ".params"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// inputNames lists the inputs as tvmc's error does.
func inputNames(m *runtime.Module) string {
	var names []string
	for _, t := range m.Inputs() {
		names = append(names, "'"+t.Name+"'")
	}
	return strings.Join(names, ", ")
}
