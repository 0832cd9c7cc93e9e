package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/dataset"
	"lathe/internal/evaluate"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/preprocess"
	"lathe/internal/tool/cli/run"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// evaluateFlags are the values of evaluate's flags.
type evaluateFlags struct {
	data, labels, classes string
	offset                int
	fraction              float64
	seed                  uint64
	raw                   dataset.Raw
	pictures              preprocess.Flags
	grid                  []evaluate.Axis
	config                string
	predictions           []string
	baseline, scores      string
	results               string
	threads               int
	lab, asJSON           bool
	model                 modelFlags // for all models
	command               string
}

func (a *app) evaluateCommand() *cobra.Command {
	f := &evaluateFlags{}
	cmd := &cobra.Command{
		Use:   "evaluate [FILE ...]",
		Short: "compare variants of a classifier on a data set: quality, time, size, and what makes them slow",
		Long: `Compare variants of a classifier on a data set: how often they are right, how fast and how large they are, and what makes
them slow. Models are compiled first, packages taken as they are.

  lathe evaluate --data pictures digits.onnx
  lathe evaluate --data pictures --grid "opt-level=0,3; target=llvm,llvm -mcpu=x86-64-v3" digits.onnx
  lathe evaluate --data pictures --predictions theirs=predictions.csv digits.tar

A data set is a folder with a folder of pictures for each class; a folder of pictures with --labels; a list file,label
in .csv; arrays in .npz; the Oxford-IIIT Pet data set; MLPerf Tiny's y_labels.csv over raw files; or CIFAR-10's .bin.
Pictures become inputs by a preset, which --resize, --crop, --mean, --std, --scale, --color, --layout and --filter
change:` + preprocess.Presets() + `

The folder of results holds results.json, summary.md, report.html, and for each variant its figures, predictions, log and
confusion matrix. What is done is kept there: the same command goes on where it was interrupted.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.command = cmd.CommandPath()
			return a.evaluate(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.data, "data", "", "data set: a `path` of one of the forms above")
	fs.StringVar(&f.labels, "labels", "", "`file` of labels, where the data set has none: lines \"file,label\" or a label each, or an array in .npy")
	fs.StringVar(&f.classes, "classes", "", "`file` with the names of the classes in the network's order, as for run --labels (default: the data set's)")
	cli.NumberVar(fs, &f.offset, "label-offset", "", 0, -1<<16, 1<<16, "added to labels that are numbers: -1 where they begin at 1")
	cli.ParsedVar(fs, &f.fraction, "fraction", "SHARE", parseShare, "part of the data set, of each class the same (default 1)")
	fs.Uint64Var(&f.seed, "seed", 12345, "`number` that chooses the part")
	cli.ParsedVar(fs, &f.raw, "raw", "SCALE,ZERO", dataset.ParseRaw, "what whole numbers of samples are for a float input, SCALE (q - ZERO); behind them ,uint8 for raw files of unsigned bytes")
	f.pictures.Define(cmd, "pictures")
	f.model.define(cmd)
	cli.ParsedVar(fs, &f.grid, "grid", "AXES", evaluate.ParseGrid, "flags of compile to try all combinations of: \"opt-level=1,3; target=llvm,llvm -mcpu=x86-64-v3\"; \"threads=1,2\" too")
	fs.StringVar(&f.config, "config", "", "JSON `file` of variants: {\"experiments\": [{\"name\": \"NAME\", \"model\": \"FILE\", \"opt-level\": 3}]}")
	fs.StringArrayVar(&f.predictions, "predictions", nil, "compare with what another engine predicted, as `NAME=FILE`: .csv with file and predicted, or scores in .npy; may be repeated")
	fs.StringVar(&f.baseline, "baseline", "", "`variant` that others are compared with (default: the first)")
	fs.StringVar(&f.scores, "scores", "", "`output` that holds the scores of classes (default: the first)")
	cli.FolderVarP(fs, &f.results, "results", "", "results", "`folder` to write")
	cli.NumberVar(fs, &f.threads, "threads", "", 0, 1, 1024, "threads of a run (default: as for run)")
	fs.BoolVar(&f.lab, "lab", false, "add the figures as the course Deep Learning in IoT computes them, which differ")
	cli.JSONVar(cmd, &f.asJSON)
	return cmd
}

func parseShare(text string) (float64, error) {
	var v float64
	if _, err := fmt.Sscanf(text, "%g", &v); err != nil || !(v > 0 && v <= 1) {
		return 0, errors.New("must be a number above 0 and at most 1")
	}
	return v, nil
}

func (a *app) evaluate(ctx context.Context, f *evaluateFlags, args []string) error {
	if f.data == "" {
		return cli.Usagef(f.command, "evaluate: --data is missing, the data set")
	}
	if err := f.pictures.Check(f.command); err != nil {
		return err
	}
	set, err := f.open()
	if err != nil {
		return err
	}
	experiments, err := f.experiments(args)
	if err != nil {
		return err
	}
	bar := a.progress()
	defer bar.clear()
	job := &evaluate.Job{
		Set: set, Settings: f.pictures.Settings(), Raw: f.raw, Baseline: f.baseline, Scores: f.scores, Results: f.results, Lab: f.lab,
		Levels: passLevels(), Version: lathe.Version(), Date: time.Now(), Progress: bar.show,
	}
	if err := f.external(job); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(f.results, evaluate.PackageFolder), 0o777); err != nil {
		return err
	}
	if err := runtime.OnFault(func(fault *runtime.Fault) {
		fmt.Fprintf(a.Err, "%s: %v\n", a.Name, fault)
		os.Exit(cli.ExitFailed)
	}); err != nil {
		a.Log("%v", err)
	}
	compiler := &variants{a, f, map[string]*bundle.Manifest{}}
	for i, e := range experiments {
		bar.show("compiling", i, len(experiments))
		v, err := compiler.compile(ctx, e)
		if err != nil {
			return err
		}
		job.Variants = append(job.Variants, v)
	}
	told := context.AfterFunc(ctx, func() {
		bar.clear()
		a.Note("what is done is kept in " + f.results + "; the same command goes on")
	})
	report, err := job.Run(ctx)
	told()
	bar.clear()
	if err != nil {
		return err
	}
	if err := a.printEvaluation(report, f); err != nil {
		return err
	}
	return failedVariants(report)
}

func (a *app) printEvaluation(report *evaluate.Report, f *evaluateFlags) error {
	if f.asJSON {
		return report.JSON(a.Out)
	}
	if err := report.Text(a.Out, a.Lines()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "\nThe whole report is %s\n", filepath.Join(f.results, "report.html"))
	return err
}

// failedVariants is an error where variants could not be evaluated, behind the report of the others.
func failedVariants(r *evaluate.Report) error {
	var failed []string
	first := ""
	for _, v := range r.Variants {
		if v.Error != "" {
			failed = append(failed, v.Name)
			if first == "" {
				first = v.Error
			}
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%s of %d could not be evaluated (%s): %s", spelling.Count(len(failed), "variant"), len(r.Variants), strings.Join(failed, ", "), first)
}

// open reads the data set.
func (f *evaluateFlags) open() (*dataset.Set, error) {
	o := dataset.Options{Labels: f.labels, Offset: f.offset}
	var err error
	if o.Classes, err = run.ReadLabels(f.classes); err != nil {
		return nil, err
	}
	set, err := dataset.Open(f.data, o)
	if err == nil && f.fraction > 0 {
		set = set.Fraction(f.fraction, f.seed)
	}
	return set, err
}

// experiments are those of the configuration, and every file with every point of the grid. Packages are taken as they are.
func (f *evaluateFlags) experiments(args []string) ([]evaluate.Experiment, error) {
	var list []evaluate.Experiment
	if f.config != "" {
		b, err := os.ReadFile(f.config)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		if list, err = evaluate.ReadConfig(b); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", f.config, err)
		}
	}
	for _, file := range args {
		points := evaluate.Combinations(f.grid)
		if isPackage(file) {
			points = points[:1]
			points[0] = nil
		}
		for _, o := range points {
			list = append(list, evaluate.Experiment{Model: file, Options: o})
		}
	}
	for i := range list {
		if e := &list[i]; e.Name == "" {
			base := filepath.Base(e.Model)
			e.Name = evaluate.NameOf(strings.TrimSuffix(base, filepath.Ext(base)), e.Options)
		}
	}
	return list, nil
}

// external reads the predictions of other engines.
func (f *evaluateFlags) external(job *evaluate.Job) error {
	for _, p := range f.predictions {
		name, path, ok := strings.Cut(p, "=")
		if !ok || name == "" || path == "" {
			return cli.Usagef(f.command, "flag --predictions %s: must be of the form NAME=FILE", p)
		}
		e, err := evaluate.ReadPredictions(name, path, job.Set)
		if err != nil {
			return err
		}
		job.External = append(job.External, e)
	}
	return nil
}

// passLevels are the levels of optimisation from which on passes run.
func passLevels() map[string]int {
	levels := map[string]int{}
	for _, p := range lathe.Passes() {
		levels[p.Name] = p.Level
	}
	return levels
}
