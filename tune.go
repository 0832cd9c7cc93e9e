package lathe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/host"
	"lathe/internal/measure"
	"lathe/internal/records"
	"lathe/internal/target"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/explain"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/version"
	"lathe/internal/toolchain"
	"lathe/internal/trial"
	"lathe/internal/tune"
	"lathe/runtime"
)

// TuneOptions controls Tune. The zero value, with an Output, tunes as 'lathe tune' does without flags.
type TuneOptions struct {
	Target         string // as in CompileOptions; it must be this machine's
	OptLevel       OptLevel
	DisabledPasses []string
	DesiredLayout  []string
	// DesiredLayoutOps are the operators that DesiredLayout is for, as in CompileOptions.
	DesiredLayoutOps []string
	Denormals        Denormals
	// Choices are decisions that are not looked for, as in CompileOptions.
	Choices map[string]map[string]string

	Output        string   // the file of records, which trials are appended to; what it has of this model is taken up again
	Records       []string // further files of records, of Lathe or TVM: starting points
	Replay        string   // a file of records whose points are tried, and no others
	Tuner         string   // a name from Tuners; "" = the first
	Trials        int      // over all tasks; 0 = as many as promise something
	EarlyStopping int      // trials of a task without gain, behind which it is left, and no sooner; 0 = tuning ends when no task promises 1 % of the network
	Number        int      // runs of a trial while searching, Repeat times, at most; 0 = as many as decide
	Repeat        int
	MinRepeat     time.Duration // of measured runs of a trial, at least
	Timeout       time.Duration // of a trial, to be compiled or run; 0 = 10 s
	Time          time.Duration // of all, about; 0 = any
	TaskTime      time.Duration // for each task that is tuned, where Time is 0, and a minute at least; 0 = any
	Seed          uint64
	Parallel      int                   // compilers at once; 0 = as many as the machine has room for
	Workers       int                   // threads that the package will use; 0 = as the machine allows
	Select        func(t TuneTask) bool // tasks to tune; nil = all
	// Facts are those of this machine, as options of a target ("-caches=32,512,16384 -fma-units=2"), or one of the constants Facts...: by them the network is decided in
	// the first trial where the target's are others.
	Facts string
	// Graph has decisions on the graph tuned first, with a quarter of trials and time: algorithms of convolutions, packing, what is fused.
	Graph bool
	// SearchOnly ends behind the search: the records are starting points, and nothing is proved.
	SearchOnly bool

	Assembly bool // the result has the assembly of kernels that won their race, beside what the rules make

	Progress func(TuneProgress)
	Notes    func(string)
	// Program is the program that is started for children, which calls TuneChild; "" is this one.
	Program string
}

// Tuners lists the names of tuners, the default first.
func Tuners() []string { return tune.TunerNames() }

// Arguments with which children are started.
const (
	buildChild   = "build-worker"
	measureChild = "measure-worker"
)

// TuneChild does the work of a child of Tune where the process was started as one, and reports whether it was. A program that calls Tune
// calls it first.
func TuneChild() (bool, error) {
	if len(os.Args) != 2 {
		return false, nil
	}
	switch os.Args[1] {
	case buildChild:
		return true, trial.ServeBuilds(os.Stdin, os.Stdout, openNetwork)
	case measureChild:
		return true, measure.Serve(os.Stdin, os.Stdout)
	}
	return false, nil
}

// A networkSpec is what a builder reads a network by.
type networkSpec struct {
	File      string
	Format    string
	Shapes    map[string][]int
	Sizes     map[string]int
	Fix       map[string]runtime.Tensor
	LoopBound int

	Target    string // resolved
	Level     OptLevel
	Disabled  []string
	Layouts   []string
	LayoutOps []string
	Denormals Denormals
	Choices   map[string]map[string]string
	Graph     map[string]map[string]string // decisions on the graph that were found
}

// specOf says how m was read and is compiled.
func specOf(m *Model, o CompileOptions, graph graphPoint) networkSpec {
	return networkSpec{
		m.file, m.opts.Format, m.opts.Shapes, m.opts.Sizes, m.opts.Fix, m.opts.LoopBound,
		o.Target, o.OptLevel, o.DisabledPasses, o.DesiredLayout, o.DesiredLayoutOps, o.Denormals, o.Choices, graph,
	}
}

// options are those of the compiler.
func (s *networkSpec) options() CompileOptions {
	return CompileOptions{Target: s.Target, OptLevel: s.Level, DisabledPasses: s.Disabled, DesiredLayout: s.Layouts, DesiredLayoutOps: s.LayoutOps, Denormals: s.Denormals, Choices: s.Choices, Workers: 1}
}

// openNetwork is a builder's work on a networkSpec.
func openNetwork(network []byte) (*compile.Session, error) {
	var s networkSpec
	if err := gob.NewDecoder(bytes.NewReader(network)).Decode(&s); err != nil {
		return nil, err
	}
	m, err := Load(s.File, LoadOptions{Format: s.Format, Shapes: s.Shapes, Sizes: s.Sizes, Fix: s.Fix, LoopBound: s.LoopBound})
	if err != nil {
		return nil, err
	}
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	opts, err := s.options().resolve()
	if err != nil {
		return nil, err
	}
	opts.Source, opts.After = m.source, m.after
	opts.Inputs, opts.Outputs = m.meanings()
	opts.Tuned = graphPoint(s.Graph).tuned()
	return compile.OpenSession(context.Background(), g, opts)
}

// networkKey is the digest by which records know a model with its options, and decisions on its graph that were found.
func networkKey(m *Model, o CompileOptions, graph graphPoint) string {
	h := sha256.New()
	level, _ := o.OptLevel.number()
	fmt.Fprintf(h, "%s\n%v\n%v\n%d\n%v\n", m.source.SHA256, m.opts.Shapes, m.opts.Sizes, m.opts.LoopBound, m.opts.Fix)
	fmt.Fprintf(h, "%d\n%q\n%q\n%q\n%s\n", level, o.DisabledPasses, o.DesiredLayout, o.DesiredLayoutOps, o.Denormals)
	if len(o.Choices) > 0 {
		fmt.Fprintf(h, "%v\n", o.Choices)
	}
	if len(graph) > 0 {
		fmt.Fprintf(h, "graph %v\n", graph)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tuned reads the records by which m is compiled.
func (o CompileOptions) tuned(m *Model) (compile.Tuned, error) {
	if len(o.Records) == 0 {
		return compile.Tuned{}, nil
	}
	c, err := records.ReadFiles(o.Records...)
	if err == nil {
		err = c.Applicable()
	}
	if err != nil {
		return compile.Tuned{}, fmt.Errorf("tuning records: %w", err)
	}
	resolved, err := o.Resolved()
	if err != nil {
		return compile.Tuned{}, err
	}
	book := records.NewBook(c.Records)
	graph, _, err := graphOf(m, resolved, book)
	if err != nil {
		return compile.Tuned{}, err
	}
	t := graph.tuned()
	t.Book, t.Network = book, networkKey(m, resolved, graph)
	return t, nil
}

// tellTuned says how many kernels have a record.
func (o CompileOptions) tellTuned(r *compile.TunedReport) {
	text := fmt.Sprintf("tuning records: %d of %s compiled by records", r.Taken, spelling.Count(r.Kernels, "kernel"))
	if r.Others > 0 {
		text += fmt.Sprintf(", %d of them proved in another network", r.Others)
	}
	if n := r.Kernels - r.Taken; n > 0 {
		text += fmt.Sprintf("; for %d there is none that counts for this target", n)
	}
	if r.Graph > 0 {
		text += fmt.Sprintf("; %s on the graph by records", spelling.Count(r.Graph, "decision"))
	}
	o.Notes(text)
	if r.Facts != "" {
		o.Notes("tuning records: the network is decided by other facts of the machine than the target's: " + r.Facts)
	}
	for _, line := range r.Unfit {
		o.Notes("tuning records: " + line + ": the rules decide on it")
	}
}

// A tuning is a farm for a model.
type tuning struct {
	TuneOptions
	compiling CompileOptions
	target    *target.Target // by whose facts the network is decided
	graph     graphPoint     // that was found
	gained    tune.Estimate  // by it, over the network as the compiler decides; zero: nothing was found
	farm      *trial.Farm
	tasks     []tune.Task
	workers   int
	lanes     int // float32 elements of a vector
}

// resolved are the options of the compiler.
func (o *TuneOptions) resolved() (CompileOptions, error) {
	return CompileOptions{Target: o.Target, OptLevel: o.OptLevel, DisabledPasses: o.DisabledPasses, DesiredLayout: o.DesiredLayout, DesiredLayoutOps: o.DesiredLayoutOps, Denormals: o.Denormals, Choices: o.Choices}.Resolved()
}

// network is m, as builders read it, with decisions on its graph.
func (t *tuning) network(m *Model, graph graphPoint) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(specOf(m, t.compiling, graph))
	return b.Bytes(), err
}

// openTuning has the model compiled with decisions on its graph that were found, and its kernels timed.
func openTuning(ctx context.Context, m *Model, o TuneOptions, compiling CompileOptions, graph graphPoint) (t *tuning, err error) {
	t = &tuning{TuneOptions: o, compiling: compiling, graph: graph}
	opts, err := t.compiling.resolve()
	if err != nil {
		return nil, err
	}
	if err := runsHere(opts.Target); err != nil {
		return nil, err
	}
	if m.err != nil {
		return nil, m.err
	}
	if t.target = opts.Target; graph.facts() != "" {
		if by, err := t.target.With(graph.facts()); err == nil { // else the compiler leaves them, too
			t.target = by
		}
	}
	program := o.Program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	network, err := t.network(m, graph)
	if err != nil {
		return nil, err
	}
	t.farm, err = trial.Open(ctx, trial.Options{
		Network: network, Program: program, Builder: []string{buildChild}, Measurer: []string{measureChild},
		Builders: o.Parallel, Workers: o.Workers, Timeout: cmp.Or(o.Timeout, 10*time.Second), Pairs: o.Number * max(1, o.Repeat),
	})
	if err != nil {
		return nil, err
	}
	if err := t.list(ctx); err != nil {
		t.farm.Close()
		return nil, err
	}
	return t, nil
}

// openTuned is openTuning with what records have accepted on the graph.
func openTuned(ctx context.Context, m *Model, o TuneOptions, list []records.Record) (*tuning, error) {
	compiling, err := o.resolved()
	if err != nil {
		return nil, err
	}
	if m.err != nil {
		return nil, m.err
	}
	graph, gained, err := graphOf(m, compiling, records.NewBook(list))
	if err != nil {
		return nil, err
	}
	t, err := openTuning(ctx, m, o, compiling, graph)
	if err == nil {
		t.gained = gained
	}
	return t, err
}

// list makes the tasks.
func (t *tuning) list(ctx context.Context) error {
	const passes = 3
	times, err := t.farm.Profile(ctx, passes)
	if err != nil {
		return err
	}
	if t.workers, err = t.farm.WorkersOfUse(ctx); err != nil {
		return err
	}
	t.lanes = t.target.Lanes(32)
	peaks := explain.Each(t.farm.Info(), t.target, t.workers)
	steps := t.farm.Info().ByName()
	for i, k := range t.farm.Kernels() {
		own := steps[k.Kernels[0]]
		task := tune.Task{
			Index: i, Name: k.Kernels[0], Key: k.Key, Ops: own.Ops, FLOPs: float64(own.FLOPs), Bytes: float64(own.Bytes), Time: times[i],
			Peak: time.Duration(peaks[k.Kernels[0]] * float64(time.Millisecond)), Default: own.Point, Shapes: slices.Concat(own.Reads, own.Writes),
		}
		task.Workers = t.workers
		for n, s := range k.Steps {
			task.Steps, task.Calls = append(task.Steps, s.Top), task.Calls+s.Calls
			task.Nodes = append(task.Nodes, steps[k.Kernels[n]].Nodes...)
			task.Inside = task.Inside || t.farm.Info().Steps[s.Top].Trips > 0
		}
		t.tasks = append(t.tasks, task)
	}
	return nil
}

// TuneTasks lists the kernels of a model that can be tuned, with their times on this machine.
func TuneTasks(ctx context.Context, m *Model, o TuneOptions) ([]TuneTask, error) {
	var run tune.Options
	if err := o.earlier(&run); err != nil {
		return nil, excerpt.Error(err)
	}
	t, err := openTuned(ctx, m, o, run.Records)
	if err != nil {
		return nil, excerpt.Error(err)
	}
	defer t.farm.Close()
	var list []TuneTask
	for i := range t.tasks {
		list = append(list, publicTask(&t.tasks[i]))
	}
	return list, nil
}

// Tune looks for better decisions than the compiler takes by itself, on this machine, which must be the one that will run the
// model, and proves that they are better: CompileOptions.Records takes what it writes. It needs no more than the records when it
// is interrupted: with the same output it goes on. TuneChild must be called by the program.
func Tune(ctx context.Context, m *Model, o TuneOptions) (*TuneResult, error) {
	r, err := tuned(ctx, m, o)
	if err != nil {
		return nil, excerpt.Error(err)
	}
	return r, nil
}

func tuned(ctx context.Context, m *Model, o TuneOptions) (r *TuneResult, err error) {
	begun := time.Now()
	if o.Output == "" {
		return nil, errors.New("tune: no file for records is named")
	}
	if err := o.checkFacts(); err != nil {
		return nil, err
	}
	run := tune.Options{
		Tuner: o.Tuner, Trials: o.Trials, EarlyStopping: o.EarlyStopping, Time: o.Time, Begun: begun, Seed: cmp.Or(o.Seed, 1), Repeat: o.Repeat, MinSample: o.MinRepeat,
		SearchOnly: o.SearchOnly,
		By:         records.By{Lathe: version.Number, LLVM: toolchain.Version(), Rules: compile.Rules, Machine: host.CPUName()},
	}
	if o.Progress != nil {
		run.Progress = func(p tune.Progress) { o.Progress(publicProgress(p)) }
	}
	if err := o.earlier(&run); err != nil {
		return nil, err
	}
	w, err := records.Append(o.Output)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	run.Sink = w.Write
	t, err := openTuned(ctx, m, o, slices.Concat(run.Records, run.Replay))
	if err != nil {
		return nil, err
	}
	defer func() { t.farm.Close() }()
	if err := t.keepGraph(m, &run); err != nil {
		return nil, err
	}
	r = &TuneResult{}
	if o.Facts != FactsOfTarget && o.Replay == "" {
		if t, r.Graph, err = t.withFacts(ctx, m, &run); err != nil {
			return nil, err
		}
	}
	if o.Graph && o.Replay == "" {
		run.Trials -= run.Trials / graphShare
		var g *TuneGraph
		if t, g, err = t.withGraph(ctx, m, &run); err != nil {
			return nil, err
		}
		r.Graph = r.Graph.and(g)
	}
	r.Graph.stands(t)
	run.Packing, run.Opening = t.farm.Costs()
	run.Network, run.Workers, run.Lanes = networkKey(m, t.compiling, t.graph), t.workers, t.lanes
	r.Workers = t.workers
	var selected []tune.Task
	for i := range t.tasks {
		task := publicTask(&t.tasks[i])
		run.Host += task.Weight()
		if o.Select == nil || o.Select(task) {
			r.Tasks, selected = append(r.Tasks, task), append(selected, t.tasks[i])
		}
	}
	if o.Time == 0 && o.TaskTime > 0 && o.Replay == "" {
		run.Time = max(time.Minute, o.TaskTime*time.Duration(len(selected)))
	}
	found, err := tune.Run(ctx, selected, t.farm, t.farm, run)
	if err != nil {
		return nil, err
	}
	r.take(found)
	if o.Assembly {
		if r.assembly, err = t.assembly(ctx, r.Found); err != nil {
			return nil, err
		}
	}
	if o.SearchOnly {
		return r, nil
	}
	tuned, host, err := t.farm.Runs(ctx)
	for i := range host {
		host[i] /= 1000
	}
	for i := range tuned {
		tuned[i] /= 1000
	}
	r.Runs, r.HostRuns = tuned, host
	return r, err
}

// assembly are the texts of kernels that won.
func (t *tuning) assembly(ctx context.Context, found []TuneFound) (map[int][2]string, error) {
	texts := map[int][2]string{}
	for _, f := range found {
		if !f.Won {
			continue
		}
		var both [2]string
		for i, p := range []choice.Point{{}, f.Point} {
			var err error
			if both[i], err = t.farm.Assembly(ctx, tune.Candidate{Task: f.Index, Point: p}); err != nil {
				return nil, err
			}
		}
		texts[f.Index] = both
	}
	return texts, nil
}

// earlier reads what is known from earlier runs.
func (o *TuneOptions) earlier(run *tune.Options) error {
	files := o.Records
	if st, err := os.Stat(o.Output); err == nil && st.Size() > 0 {
		files = append(slices.Clip(files), o.Output)
	}
	if len(files) > 0 {
		c, err := records.ReadFiles(files...)
		if err != nil {
			return err
		}
		run.Records, run.Foreign = c.Records, c.Starts
		if n := c.Damaged + c.Newer; n > 0 && o.Notes != nil {
			o.Notes("records: " + strconv.Itoa(n) + " lines are cut, or of versions that are not known here, and are passed over")
		}
	}
	if names := records.PassedOver(run.Foreign); len(names) > 0 && o.Notes != nil {
		const most = 8
		o.Notes("records: of logs of TVM tiles are starting points; " + strings.Join(names[:min(most, len(names))], ", ") + " are no decisions here, and are passed over")
	}
	if o.Replay != "" {
		c, err := records.ReadFiles(o.Replay)
		if err != nil {
			return err
		}
		run.Replay = append([]records.Record{}, c.Records...)
	}
	return nil
}
