package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/host"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/run"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// unusableTune are tvmc's flags of tune that do not work.
var unusableTune = []cli.UnusableFlag{
	{Name: "target-host", Harmless: []string{""}},
	{Name: "rpc-tracker", Harmless: []string{""}, Why: "a model is tuned on the machine that will run it; run lathe tune there"},
	{Name: "rpc-key", Harmless: []string{""}, Why: "a model is tuned on the machine that will run it; run lathe tune there"},
	{Name: "include-simple-tasks", IsSwitch: true, Harmless: []string{"1"}},  // all kernels are tasks
	{Name: "log-estimated-latency", IsSwitch: true, Harmless: []string{"1"}}, // progress has it
	{Name: "cache-line-bytes", Why: "the target says it; leave the flag out"},
	{Name: "num-cores", Why: `the target says it: --target "llvm -num-cores=N"`},
	{Name: "vector-unit-bytes", Why: `the target says it: --target "llvm -mattr=..."`},
	{Name: "max-shared-memory-per-block", Why: "it is about GPUs; leave the flag out"},
	{Name: "max-local-memory-per-block", Why: "it is about GPUs; leave the flag out"},
	{Name: "max-threads-per-block", Why: "it is about GPUs; leave the flag out"},
	{Name: "max-vthread-extent", Why: "it is about GPUs; leave the flag out"},
	{Name: "warp-size", Why: "it is about GPUs; leave the flag out"},
	{Name: "mixed-precision", IsSwitch: true},
	{Name: "mixed-precision-ops"},
	{Name: "mixed-precision-calculation-type"},
	{Name: "mixed-precision-acc-type"},
}

// tuneFlags are the values of tune's flags.
type tuneFlags struct {
	compileFlags
	tuner                                   string
	tasks                                   string
	trials, early, number, repeat, parallel int
	timeout, minRepeat, seed, workers       int
	records                                 []string
	replay, report, facts                   string
	graph, autoscheduler                    bool
	time                                    time.Duration
	taskTime                                time.Duration // where neither trials nor a time are given
}

// taskTime is the time of a tuning for each of its kernels, where nobody says how much it may try: on a machine that is not disturbed the search ends before by what
// kernels promise, and on one that is it would prove little for long.
const taskTime = 4 * time.Second

func (a *app) tuneCommand() *cobra.Command {
	f := &tuneFlags{compileFlags: compileFlags{note: a.Note}}
	cmd := &cobra.Command{
		Use:   "tune FILE",
		Short: "look for faster kernels on this machine, and prove that they are",
		Long: `Look for decisions that make the kernels of a model faster on this machine, and prove that they do. Trials are
written into a file of records as they happen; interrupted, tune goes on with the same file.

  lathe tune --target llvm --output resnet50.json resnet50.onnx
  lathe compile --target llvm --tuning-records resnet50.json -o resnet50.tar resnet50.onnx
  lathe tune --tasks list resnet50.onnx`,
		Args: cli.OneFile("model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.RefuseUnusable(cmd, unusableTune); err != nil {
				return err
			}
			f.command = cmd.CommandPath()
			if !cmd.Flags().Changed("trials") {
				f.taskTime = taskTime
			}
			return a.tune(cmd.Context(), f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.target.define(cmd)
	f.model.define(cmd)
	cli.OutputVarP(fs, &f.output, "output", "o", "", nil, "`file` of records to write to; what it has of this model already is taken up again")
	fs.StringVar(&f.tasks, "tasks", "all", "`tasks` to tune: all, numbers as 0,2 or 3-5 or -3 or 4-, names of nodes or kernels; list prints them")
	cli.ChoiceVar(fs, &f.tuner, "tuner", lathe.Tuners()[0], lathe.Tuners(), "how points are proposed, one of "+strings.Join(lathe.Tuners(), " "))
	cli.NumberVar(fs, &f.trials, "trials", "", 1000, 1, 10_000_000, "`number` of trials over all tasks, at most: tuning ends when no task promises 1 % of the network")
	cli.NumberVar(fs, &f.early, "early-stopping", "", 0, 0, 10_000_000, "leave a task after a `number` of trials without gain, and no sooner (default: by what tasks promise)")
	cli.NumberVar(fs, &f.timeout, "timeout", "", 10, 1, 86_400, "`seconds` that a trial may take, to be compiled and to be run")
	cli.NumberVar(fs, &f.number, "number", "", 10, 1, 1000, "runs of a trial that are measured, each beside one of the network's own kernel, at most `number` x repeat: fewer where the race is decided")
	cli.NumberVar(fs, &f.repeat, "repeat", "", 1, 1, 1000, "the least `number` of runs of a trial, and how often --number counts")
	cli.NumberVar(fs, &f.minRepeat, "min-repeat-ms", "", 0, 0, 1_000_000, "the least `time` of a trial's measured runs, in ms")
	cli.NumberVar(fs, &f.parallel, "parallel", "", 4, 1, 1024, "`number` of compilers at once, at most: no more than the machine has processors")
	fs.StringArrayVar(&f.records, "tuning-records", nil, "`file` of earlier records, of Lathe or TVM, to start from; may be repeated")
	fs.StringArrayVar(&f.desiredLayout, "desired-layout", nil, "`layout` of convolutions, as for compile")
	cli.Annotate(cmd, "desired-layout", cli.Several)
	fs.StringArrayVar(&f.layoutOps, "desired-layout-ops", nil, "`operators` that the layout is for, as for compile")
	cli.Annotate(cmd, "desired-layout-ops", cli.Several)
	cli.NumberVar(fs, &f.optLevel, "opt-level", "O", 3, 0, 4, "optimisation level, as for compile")
	fs.StringVar(&f.disabledPass, "disabled-pass", "", "`passes` to leave out, as for compile")
	cli.ChoiceVar(fs, &f.denormals, "denormals", "", lathe.DenormalModes(), "as for compile")
	fs.DurationVar(&f.time, "time", 0, fmt.Sprintf("`time` that tuning may take, about, such as 10m (default: any with --trials, else %v for each kernel)", taskTime))
	cli.NumberVar(fs, &f.seed, "seed", "", 1, 1, 1<<31, "of random proposals")
	cli.NumberVar(fs, &f.workers, "workers", "", 0, 0, 1024, "threads that the package will use (default: as run)")
	fs.BoolVar(&f.graph, "graph", false, "tune decisions on the graph first, with a quarter of trials and time: algorithms of convolutions, packing of weights, what is fused")
	fs.BoolVar(&f.autoscheduler, "enable-autoscheduler", false, "as --graph")
	fs.StringVar(&f.facts, "facts", "measured", "`facts` of this machine, by which the first trial decides on the network where the target has others: measured, target (believe it), or options as of a target")
	cli.OutputVarP(fs, &f.report, "report", "", "", []string{".html"}, "`file` of a page that tells what changed, why, and what is left")
	fs.StringVar(&f.replay, "replay", "", "try the points of a `file` of records, in order, and no others")
	cli.MarkOurs(cmd, "opt-level", "disabled-pass", "denormals", "time", "seed", "workers", "graph", "facts", "report", "replay")
	cli.AddUnusable(cmd, unusableTune)
	return cmd
}

func (a *app) tune(ctx context.Context, f *tuneFlags, path string) error {
	listing := f.tasks == "list" || f.tasks == "help"
	if f.output == "" && !listing {
		return cli.Usagef(f.command, "the flag --output is missing: the file for records")
	}
	named, err := f.options(a.Out)
	if err != nil {
		return err
	}
	selected, err := parseTasks(f.tasks)
	if err != nil {
		return cli.Usagef(f.command, "flag --tasks %s: %w", f.tasks, err)
	}
	if err := cli.NotOver(f.output, append(append(slices.Clip(f.records), f.model.fix.files...), path)...); err != nil && !listing && !slices.Contains(f.records, f.output) {
		return err
	}
	model, err := f.model.load(ctx, path, a.Note)
	if err != nil {
		return err
	}
	show := a.tuneProgress()
	o := lathe.TuneOptions{
		Target: named.Target, OptLevel: named.OptLevel, DisabledPasses: named.DisabledPasses, DesiredLayout: named.DesiredLayout, DesiredLayoutOps: named.DesiredLayoutOps, Denormals: named.Denormals,
		Output: f.output, Records: f.records, Replay: f.replay, Tuner: f.tuner, Trials: f.trials, EarlyStopping: f.early, Number: f.number, Repeat: f.repeat,
		MinRepeat: time.Duration(f.minRepeat) * time.Millisecond, Timeout: time.Duration(f.timeout) * time.Second, Time: f.time, TaskTime: f.taskTime, Seed: uint64(f.seed),
		Parallel: f.builders(), Workers: f.workers, Notes: a.Note, Progress: show.show, Assembly: f.report != "",
		Graph: f.graph || f.autoscheduler, Facts: f.facts,
	}
	if o.Facts == "measured" {
		o.Facts = lathe.FactsMeasured
	}
	if listing {
		tasks, err := lathe.TuneTasks(ctx, model, o)
		if err != nil {
			return refused(path, err)
		}
		return a.printTasks(tasks)
	}
	o.Select = selected
	r, err := lathe.Tune(ctx, model, o)
	show.clear()
	if err != nil {
		return refused(path, err)
	}
	if f.report != "" {
		head := []string{"target " + cmp.Or(named.Target, "llvm, this machine"), host.CPUName() + ", " + time.Now().Format("2 January 2006")}
		if err := cli.WriteFile(f.report, func(w io.Writer) error { return r.WriteHTML(w, filepath.Base(path), head...) }); err != nil {
			return err
		}
	}
	return a.printTuning(r, f.output)
}

// builders are compilers at once: from four processors on one is kept for measuring.
func (f *tuneFlags) builders() int {
	n := runtime.CPUs()
	if n > 3 {
		n--
	}
	return min(n, f.parallel)
}

// parseTasks reads tvmc's selection of tasks, or names; nil: all.
func parseTasks(text string) (func(lathe.TuneTask) bool, error) {
	if text == "all" || text == "" || text == "list" || text == "help" {
		return nil, nil
	}
	var tests []func(lathe.TuneTask) bool
	for _, part := range cli.CommaList(text) {
		from, to, isRange := strings.Cut(part, "-")
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch {
		case !isRange && err1 == nil:
			tests = append(tests, func(t lathe.TuneTask) bool { return t.Index == first })
		case isRange && (err1 == nil || from == "") && (err2 == nil || to == "") && part != "-":
			tests = append(tests, func(t lathe.TuneTask) bool {
				return (from == "" || t.Index >= first) && (to == "" || t.Index <= last)
			})
		default:
			tests = append(tests, func(t lathe.TuneTask) bool { return t.Name == part || slices.Contains(t.Nodes, part) })
		}
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("no task is named")
	}
	return func(t lathe.TuneTask) bool {
		return slices.ContainsFunc(tests, func(test func(lathe.TuneTask) bool) bool { return test(t) })
	}, nil
}

// mostNodes are those of a kernel that a line has room for: one of a transformer stands for hundreds.
const mostNodes = 3

// printTasks prints the list of tasks.
func (a *app) printTasks(tasks []lathe.TuneTask) error {
	total := time.Duration(0)
	for _, t := range tasks {
		total += t.Weight()
	}
	w := a.Table()
	w.Row("TASK", "CALLS", "MS", "SHARE", "HEADROOM", "KERNEL", "NODES", "SHAPES")
	for _, t := range tasks {
		headroom := "-"
		if t.Peak > 0 {
			headroom = fmt.Sprintf("%.1f", max(1, float64(t.Time)/float64(t.Peak)))
		}
		w.Row(strconv.Itoa(t.Index), strconv.Itoa(t.Calls), fmt.Sprintf("%.3f", ms(t.Weight())), fmt.Sprintf("%.1f %%", 100*float64(t.Weight())/float64(max(total, 1))),
			headroom, t.Name, spelling.First(t.Nodes, mostNodes, " "), strings.Join(t.Shapes, " "))
	}
	return w.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// printTuning prints what a tuning found: tasks that were tuned, the verdict, and the times of whole runs.
func (a *app) printTuning(r *lathe.TuneResult, output string) error {
	w := a.Table()
	w.Row("TASK", "UNTUNED US", "TUNED US", "GAIN", "BOUNDS", "TRIALS", "CHANGED", "KERNEL")
	kept := 0
	for _, t := range r.Found {
		if !t.Won {
			continue
		}
		if t.Accepted {
			kept++
		}
		var changes []string
		for _, c := range t.Changed {
			changes = append(changes, c.Decision+" "+c.To)
		}
		us := float64(t.Time) / 1e3
		state := strings.Join(changes, ", ")
		if !t.Accepted {
			state += " (withdrawn)"
		}
		w.Row(strconv.Itoa(t.Index), fmt.Sprintf("%.1f", us), fmt.Sprintf("%.1f", us*t.Confirm.Ratio), fmt.Sprintf("%.3f", t.Confirm.Gain()),
			fmt.Sprintf("%.3f-%.3f", 1/t.Confirm.High, 1/t.Confirm.Low), strconv.Itoa(t.Trials), state, t.Name)
	}
	if kept > 0 || slices.ContainsFunc(r.Found, func(t lathe.TuneFound) bool { return t.Won }) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Out, "%d trials in %.1f s, %d faults; %s\n", r.Trials, r.Took.Seconds(), r.Faults, r.Ended)
	if n := r.Trials - r.Resumed; n > 0 {
		search := r.Stages["search"] + r.Stages["division"]
		fmt.Fprintf(a.Out, "search %.1f s (%.0f ms a trial: %.0f to build), confirmation %.1f s, verdict %.1f s\n", search.Seconds(), 1e3*search.Seconds()/float64(n), 1e3*r.Built.Seconds()/float64(n),
			r.Stages["confirm"].Seconds(), r.Stages["network"].Seconds())
	}
	if r.Graph != nil {
		a.printGraph(r.Graph)
	}
	if r.Spread > 0.05 {
		a.Note(fmt.Sprintf("equal kernels differed by %.0f %%: other programs run on this machine; tuning takes longer and finds less", 100*r.Spread))
	}
	if r.Verdict.Wrong != "" {
		a.Note("tuned kernels were refused, since with them the network computes something else: " + r.Verdict.Wrong)
	}
	switch {
	case kept > 0:
		fmt.Fprintf(a.Out, "verdict: with %d tuned kernels the network is %.3f times as fast (%.3f-%.3f), on %s\n", kept, r.Verdict.Gain(), 1/r.Verdict.High, 1/r.Verdict.Low, spelling.Count(r.Workers, "thread"))
	default:
		fmt.Fprintln(a.Out, "verdict: nothing is surely faster than what the compiler chooses by itself, which stays")
	}
	block := func(title string, times []float64) {
		if len(times) > 0 {
			for i := range times {
				times[i] /= 1000
			}
			fmt.Fprintf(a.Out, "\n%s\n%s\n", title, run.TimeTable(times))
		}
	}
	untuned, tuned := "untuned", "tuned"
	if r.Graph != nil && r.Graph.Accepted {
		untuned, tuned = "tuned: graph", "tuned: graph and kernels"
	}
	block(untuned, r.HostRuns)
	if kept > 0 {
		block(tuned, r.Runs)
	}
	a.Log("records are in %s", output)
	return nil
}

// printGraph prints what was found for decisions on the graph.
func (a *app) printGraph(g *lathe.TuneGraph) {
	of := spelling.Count(g.Tried, "network") + " tried"
	if g.Resumed > 0 {
		of += fmt.Sprintf(", %d of them by an earlier run", g.Resumed)
	}
	if g.Earlier {
		of = "by earlier records"
	}
	if g.Verdict.Wrong != "" {
		a.Note("decisions on the graph were refused, since with them the network computes something else: " + g.Verdict.Wrong)
	}
	if !g.Accepted {
		fmt.Fprintf(a.Out, "graph: nothing is surely faster than what the compiler decides, %s\n", of)
		return
	}
	fmt.Fprintf(a.Out, "graph: with these decisions the network is %.3f times as fast (%.3f-%.3f), %s\n", g.Verdict.Gain(), 1/g.Verdict.High, 1/g.Verdict.Low, of)
	if g.Facts != "" {
		fmt.Fprintf(a.Out, "  all of it is decided by the measured facts %s\n", g.Facts)
	}
	for _, node := range slices.Sorted(maps.Keys(g.Choices)) {
		for _, name := range slices.Sorted(maps.Keys(g.Choices[node])) {
			fmt.Fprintf(a.Out, "  %s: %s %s\n", node, name, g.Choices[node][name])
		}
	}
}
