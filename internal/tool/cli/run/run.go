// Package run is the subcommand run of lathe, and all of lathe-run.
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe/internal/host"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/preprocess"
	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// Lists of values of tvmc.
var (
	devices   = []string{"cpu", "gpu", "cuda", "cl", "metal", "vulkan", "rocm", "micro"}
	fillModes = []string{"zeros", "ones", "random"}
)

// unusableRun are tvmc's flags of run that do not work yet.
var unusableRun = []cli.UnusableFlag{
	{Name: "rpc-tracker", Harmless: []string{""}},
	{Name: "rpc-key", Harmless: []string{""}},
}

// command holds the values of the flags.
type command struct {
	*cli.App
	peaks          Peaks
	recompile      Recompile // nil: there is no compiler
	data           string    // samples to calibrate with
	device, fill   string
	inputs         []string
	outputs        string
	printTime      bool
	repeat, number int
	printTop       int
	profileTo      string // file, cli.ToOutput or empty
	endToEnd       bool
	check          bool
	threads        int
	picture        pictureFlags
	labels         string
	dequantize     bool
	fillChosen     bool // --fill-mode was given
	repeatChosen   bool // --repeat was
	asJSON         bool
	text           io.Writer // what people read; nowhere with --json
	report         report    // what programs read
	printProfile   func() error
}

// Command returns the command that is typed as path: the last word of it is the command's name.
func Command(a *cli.App, path string, peaks Peaks, recompile Recompile) *cobra.Command {
	f := &command{App: a, peaks: peaks, recompile: recompile}
	cmd := &cobra.Command{
		Use:   path[strings.LastIndexByte(path, ' ')+1:] + " FILE",
		Short: "run a package",
		Long: "Run a package that 'lathe compile' wrote.\n\n" +
			"  " + path + " --inputs cat.npz --output predictions.npz resnet50.tar\n" +
			"  " + path + " --print-time --repeat 100 resnet50.tar\n" +
			"  " + path + " --image cat.png --preprocess imagenet --labels synset.txt --print-top 5 squeezenet.tar\n" + `
A picture becomes the input by a preset, which --resize, --crop, --mean, --std, --scale, --color, --layout and
--filter change:` + preprocess.Presets(),
		Args: cli.OneFile("package"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.RefuseUnusable(cmd, unusableRun); err != nil {
				return err
			}
			if f.device != "cpu" {
				return &cli.UnsupportedError{What: "flag --device " + f.device}
			}
			if err := f.picture.check(cmd, f.data); err != nil {
				return err
			}
			for _, name := range []string{"repeat", "number", "end-to-end"} {
				if cmd.Flags().Changed(name) && !f.printTime && (name != "repeat" || f.profileTo == "") {
					f.Note("--" + name + " has no effect without --print-time")
				}
			}
			f.text = f.Out
			if f.asJSON {
				f.text = io.Discard
			}
			f.repeatChosen = cmd.Flags().Changed("repeat")
			f.fillChosen = cmd.Flags().Changed("fill-mode")
			if f.labels != "" && !cmd.Flags().Changed("print-top") {
				f.printTop = 5
			}
			return f.run(cmd.Context(), args[0])
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVarP(&f.inputs, "inputs", "i", nil, "inputs by name in an .npz `file`; may be given several times")
	cli.OutputVarP(fs, &f.outputs, "outputs", "o", "", []string{".npz"}, "write the outputs to an .npz `file`, as output_0, output_1 ...")
	cli.ChoiceVar(fs, &f.fill, "fill-mode", "random", fillModes, "what fills inputs that are not given: zeros, ones or random (from -1 to 1, int8 from 0 to 127; the same in every run)")
	fs.BoolVar(&f.printTime, "print-time", false, "print how long runs take, after one run that is not counted")
	cli.NumberVar(fs, &f.repeat, "repeat", "", 1, 1, 1e9, "measurements (default 1; for --profile what takes about a second)")
	cli.NumberVar(fs, &f.number, "number", "", 1, 1, 1e9, "runs whose average is one measurement")
	fs.BoolVar(&f.endToEnd, "end-to-end", false, "let times include copying inputs and outputs")
	cli.NumberVar(fs, &f.printTop, "print-top", "", 0, 0, 1<<20, "print the N greatest values of the first output and where they are")
	fs.Lookup("print-top").DefValue = ""
	cli.FileOrOutputVar(cmd, &f.profileTo, "profile", profileForms, "tell the time of each step beside that of whole runs, against what this machine does at best, the most time lost first; with `=FILE` there: .txt, .html (a web page), .json or .csv")
	cli.NumberVar(fs, &f.threads, "threads", "", 0, 1, 1024, "threads (default: $LATHE_NUM_THREADS, $TVM_NUM_THREADS or the cores this process may use)")
	cli.ChoiceVar(fs, &f.device, "device", "cpu", devices, "device to run on: cpu")
	f.picture.define(cmd)
	fs.StringVar(&f.data, "data", "", "samples to calibrate a package with that is compiled for a DPU and not calibrated: a data set at this `path`; $PX_QUANT_SIZE of them (128), and what is found goes to $PX_BUILD_DIR")
	fs.StringVar(&f.labels, "labels", "", "`file` with the names of classes for --print-top (default 5 then): one per line, a synset list, JSON or a Python dictionary (default: the model's own)")
	fs.BoolVar(&f.check, "check", false, "compare all weights with their digest first (the code, and weights of up to 4 MiB, always are)")
	cli.JSONVar(cmd, &f.asJSON)
	fs.BoolVar(&f.dequantize, "dequantize", false, "give integer outputs of a quantised network as the numbers they stand for, in float32")
	cli.MarkOurs(cmd, "threads", "labels", "check", "dequantize", "data")
	cli.AddUnusable(cmd, unusableRun)
	return cmd
}

// packageFiles are the names under which the parts of the package at path may lie.
func packageFiles(path string) []string {
	files := []string{path, path + ".so"}
	stem := strings.TrimSuffix(path, ".so")
	for _, part := range []string{".json", ".params", ".lathe.json"} {
		files = append(files, stem+part)
	}
	for _, member := range []string{"mod.so", "mod.json", "mod.params", "lathe.json"} {
		files = append(files, filepath.Join(path, member))
	}
	return files
}

// open opens the package at path as the flags say. A fault in its code ends the process with a message.
func (c *command) open(path string) (*runtime.Module, error) {
	if cpus := runtime.CPUs(); c.threads > cpus {
		c.Note(fmt.Sprintf("--threads %d: this machine has %s; more threads take turns", c.threads, spelling.Count(cpus, "core")))
	}
	if err := runtime.OnFault(func(f *runtime.Fault) {
		fmt.Fprintf(c.Err, "%s: %v\n", c.Name, f)
		os.Exit(cli.ExitFailed)
	}); err != nil {
		c.Log("%v", err)
	}
	m, err := runtime.Open(path, c.options()...)
	if err == nil {
		for _, note := range m.Notes() {
			c.Note(note)
		}
	}
	return m, err
}

// options are those that the flags say.
func (c *command) options() (options []runtime.Option) {
	if c.threads > 0 {
		options = append(options, runtime.WithWorkers(c.threads))
	}
	if !c.printTime && c.profileTo == "" {
		options = append(options, runtime.WithMappedWeights()) // one run
	}
	if c.check {
		options = append(options, runtime.WithCheck())
	}
	return options
}

func (c *command) run(ctx context.Context, path string) error {
	for _, out := range []string{c.outputs, c.profileTo} {
		if err := cli.NotOver(out, append(append(packageFiles(path), c.inputs...), c.labels)...); err != nil {
			return err
		}
	}
	labels, err := ReadLabels(c.labels)
	if err != nil {
		return err
	}
	given, err := readInputs(c.inputs)
	if err != nil {
		return err
	}
	m, err := c.open(path)
	if err != nil {
		return err
	}
	defer func() { m.Close() }()
	next, err := c.calibrated(ctx, path, m)
	if err != nil {
		return err
	}
	m = next
	c.Log("%s: compiled for %s, %s", path, m.Info().Target.String, spelling.Count(m.Workers(), "thread"))
	if err := c.fit(labels, m); err != nil {
		return err
	}
	if err := memoryFits(m.Memory()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.report.begin(path, m)
	set := &inputSet{module: m, note: c.Note}
	if err := set.fromArrays(given); err != nil {
		return err
	}
	if c.picture.path != "" {
		if err := c.picture.into(set, c.text); err != nil {
			return err
		}
	}
	missing := set.missing()
	set.fill(c.fill)
	if err := set.apply(); err != nil {
		return err
	}
	if (len(c.inputs) > 0 || c.picture.path != "") && len(missing) > 0 && !c.fillChosen {
		c.Note(fmt.Sprintf("no values are given for %s: filled with random numbers (--fill-mode chooses)", strings.Join(missing, ", ")))
	}
	start := time.Now()
	if err := m.Run(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !c.repeatChosen && !c.printTime {
		c.repeat = enough(time.Since(start))
	}
	var times []float64
	if c.profileTo != "" {
		if times, err = c.profile(m, moduleTitle(path)); err != nil {
			return err
		}
	}
	if c.printTime {
		if times == nil || c.endToEnd {
			if times, err = c.measure(ctx, m, set); err != nil {
				return err
			}
		}
		fmt.Fprintln(c.text, TimeTable(times))
		c.report.Times = summary(times)
	}
	return c.results(path, m, labels)
}

// memoryFits refuses a run that takes more memory than there is. Inputs are filled outside of the module, and outputs copied.
func memoryFits(m runtime.Memory) error {
	return host.CheckMemory("the run", m.Run+m.Inputs+m.Outputs, m.String()+", and a copy of inputs and outputs")
}

// measure runs the model repeat times number times and returns the average of each number in seconds.
func (c *command) measure(ctx context.Context, m *runtime.Module, set *inputSet) ([]float64, error) {
	once := m.Run
	if c.endToEnd {
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
	for range c.repeat {
		start := time.Now()
		for range c.number {
			if err := once(); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		times = append(times, time.Since(start).Seconds()/float64(c.number))
	}
	return times, nil
}

// results prints and saves what the last run gave.
func (c *command) results(path string, m *runtime.Module, labels []string) error {
	outputs, err := c.readOutputs(m)
	if err != nil {
		return err
	}
	if c.printTop > 0 {
		if len(outputs) == 0 {
			return fmt.Errorf("--print-top: the model has no outputs")
		}
		s, err := scoresOf(outputs[0], m.Outputs()[0])
		if err != nil {
			return fmt.Errorf("--print-top: %w", err)
		}
		if own := m.Outputs()[0].Labels; labels == nil && len(own) == len(s.values) {
			labels = own
		}
		if err := fitLabels(c.labels, labels, len(s.values)); err != nil {
			return err
		}
		c.report.Outputs[0].Top = s.ranking(c.printTop, labels)
		if labels == nil && c.picture.path == "" {
			fmt.Fprintln(c.text, s.array(c.printTop))
		} else {
			s.print(c.text, moduleTitle(path), c.printTop, labels)
		}
	}
	if c.printProfile != nil {
		if err := c.printProfile(); err != nil {
			return err
		}
	}
	if c.outputs != "" {
		if err := cli.WriteFile(c.outputs, func(w io.Writer) error { return npz.Write(w, outputs) }); err != nil {
			return err
		}
	}
	if c.asJSON {
		return cli.JSON(c.Out, &c.report)
	}
	return nil
}

// numpyLacks has element types that numpy has none for, and the type that holds all their values.
var numpyLacks = map[string]string{"bfloat16": "float32", "int4": "int8", "uint4": "uint8"}

// readOutputs copies the outputs, under tvmc's names. Types that numpy lacks become wider ones.
func (c *command) readOutputs(m *runtime.Module) ([]npz.Array, error) {
	var arrays []npz.Array
	for i, info := range m.Outputs() {
		t, err := m.Output(i)
		if err != nil {
			return nil, err
		}
		t = t.Clone()
		if wide, lacks := numpyLacks[t.DType]; lacks {
			converted, err := convert(t, wide)
			if err != nil {
				return nil, fmt.Errorf("output %q: %w", info.Name, err)
			}
			c.Note(fmt.Sprintf("output %q is %s, which numpy lacks: given as %s", info.Name, t.DType, wide))
			t = *converted
		}
		if c.dequantize {
			if real := dequantized(t, info); real != nil {
				t, info.DType = *real, real.DType
			}
		}
		nan := countNaN(t)
		if nan > 0 {
			c.Note(fmt.Sprintf("output %q has %d NaN", info.Name, nan))
		}
		c.report.Outputs = append(c.report.Outputs, outputReport{tensorReport{info.Name, info.DType, append([]int{}, t.Shape...)}, nan, nil})
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
