package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe"
	"lathe/internal/choice"
	"lathe/internal/records"
	"lathe/internal/target"
	"lathe/internal/tune"
)

// qualityCommand makes this program tell how good the search of the tuner is: for kernels of several kinds, what it finds in few trials against
// the best of many points at random; or, with facts of the target that are wrong on purpose, against what the rules choose by the right ones, and likewise for whole networks.
const qualityCommand = "quality"

// A searched is a kernel whose points are looked for: the one of a network in which a node of the model is most of the work.
type searched struct{ Kind, Model, Node string }

// searchedKernels are of different kinds.
var searchedKernels = []searched{
	{"convolution 7x7 of 3 channels", "resnet18", "/conv1/Conv"},
	{"convolution 3x3, strided", "resnet18", "/layer2/layer2.0/conv1/Conv"},
	{"Winograd, products", "resnet18", "/layer3/layer3.1/conv1/Conv"},
	{"Winograd by blocks", "resnet18", "/layer1/layer1.0/conv1/Conv"},
	{"max pooling 3x3", "resnet18", "/maxpool/MaxPool"},
	{"convolution 5x5", "alexnet", "/features/features.3/Conv"},
	{"dense, one row", "alexnet", "/classifier/classifier.4/Gemm"},
	{"convolution 1x1", "mobilenet_v2", "/features/features.8/conv/conv.0/conv.0.0/Conv"},
	{"depthwise convolution", "mobilenet_v2", "/features/features.3/conv/conv.1/conv.1.0/Conv"},
	{"strips of two convolutions", "mobilenet_v2", "/features/features.2/conv/conv.0/conv.0.0/Conv"},
	{"int8 convolution 3x3", "resnet18_int8", "/layer1/layer1.0/conv1/Conv"},
	{"int8 convolution 3x3, strided", "resnet18_int8", "/layer3/layer3.0/conv1/Conv"},
	{"grouped convolution", "resnext50", "node_94"},
	{"dense, 128 rows", "bert_base", "/enc/layers.0/l1/MatMul"},
	{"attention", "bert_base", "/enc/layers.0/Transpose"},
	{"layer norm", "bert_base", "/enc/layers.0/n1/Add_1"},
}

// qualitySettings are the flags of the command.
type qualitySettings struct {
	kernels                   []searched
	zoo, results              string
	random                    int  // points at random
	trials                    int  // of the tuner
	pairs                     int  // of the comparison
	wrong                     bool // facts of the target
	seed                      int
	tuner                     string
	networks                  []string      // that are tuned whole for wrong facts
	time                      time.Duration // of such a tuning, about
	networkPairs, networkRuns int           // processes of each package, and runs of one
}

// Points that meet on fresh pairs before the comparison: what was fastest in a search was lucky, too.
const (
	randomFinalists = 6
	tunerFinalists  = 2 // as many as a tuning confirms
	within          = 1.03
)

// qualityAll is the command.
func qualityAll(args []string) error {
	s := new(qualitySettings)
	f := flag.NewFlagSet("bench quality", flag.ExitOnError)
	models := f.String("models", "", "networks whose kernels take part, or none (default: all)")
	f.StringVar(&s.zoo, "zoo", defaultZoo(), "folder of networks with weights")
	f.IntVar(&s.random, "random", 500, "points at random")
	f.IntVar(&s.trials, "trials", 60, "trials of the tuner")
	f.IntVar(&s.pairs, "pairs", 81, "pairs of the comparison")
	f.IntVar(&s.seed, "seed", 1, "of both")
	f.StringVar(&s.tuner, "tuner", "", "the tuner (default: lathe tune's)")
	f.BoolVar(&s.wrong, "wrong", false, "tune for a target with caches of a quarter and one unit for multiply-adds, and compare with the right one untuned")
	networks := f.String("networks", strings.Join(correctedNetworks, " "), "with -wrong, networks that are tuned whole")
	f.DurationVar(&s.time, "time", 90*time.Second, "of such a tuning, about")
	f.IntVar(&s.networkPairs, "processes", 15, "of each of such packages")
	f.IntVar(&s.networkRuns, "repeat", 30, "timed runs of such a process, at least")
	f.StringVar(&s.results, "results", "results", "folder for the records and the table")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || s.random < 1 || s.trials < 1 || s.pairs < 1 || s.networkPairs < 1 || s.networkRuns < 1 || s.time < 0 {
		return fmt.Errorf("usage: bench quality [flags], with positive numbers")
	}
	s.networks = words(*networks)
	for _, k := range searchedKernels {
		if list := words(*models); len(list) == 0 || slices.Contains(list, k.Model) {
			s.kernels = append(s.kernels, k)
		}
	}
	if err := os.MkdirAll(s.results, 0o777); err != nil {
		return err
	}
	r := newQualityReport(s)
	if err := s.correctedAll(context.Background(), r); err != nil {
		return err
	}
	for part := range slices.Values(byModel(s.kernels)) {
		rows, err := s.network(context.Background(), part)
		if err != nil {
			return fmt.Errorf("%s: %w", part[0].Model, err)
		}
		r.Rows = append(r.Rows, rows...)
		if err := r.write(s.results); err != nil { // what is interrupted keeps its rows
			return err
		}
	}
	return r.tell(s.results)
}

// byModel puts kernels of one network together.
func byModel(list []searched) (parts [][]searched) {
	for i, k := range list {
		if i == 0 || list[i-1].Model != k.Model {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], k)
	}
	return parts
}

// A hunt is a network whose kernels are searched, for one target.
type hunt struct {
	*qualitySettings
	file  string
	base  string // of names of files
	graph map[string]map[string]string
}

// tune tunes some of the network's tasks and reads what it wrote. A file that is complete from an earlier run is read again.
func (h *hunt) tune(ctx context.Context, name string, o lathe.TuneOptions) ([]records.Record, error) {
	m, err := lathe.Load(h.file, lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	o.Output, o.Seed, o.Choices = h.base+name+".records", uint64(h.seed), h.graph
	o.Facts = lathe.FactsOfTarget                                          // the search is asked, and not what the machine knows of itself
	o.SearchOnly, o.EarlyStopping = true, max(h.random, h.trials, h.pairs) // however little is promised
	if _, err := lathe.Tune(ctx, m, o); err != nil {
		return nil, err
	}
	c, err := records.ReadFiles(o.Output)
	if err != nil {
		return nil, err
	}
	return c.Records, nil
}

// network makes the rows of a network's kernels.
func (s *qualitySettings) network(ctx context.Context, kernels []searched) ([]qualityRow, error) {
	files, err := findModels([]string{kernels[0].Model}, s.zoo)
	if err != nil {
		return nil, err
	}
	resolved, err := lathe.CompileOptions{}.Resolved()
	if err != nil {
		return nil, err
	}
	h := &hunt{qualitySettings: s, file: files[0], base: filepath.Join(s.results, fmt.Sprintf("quality-%s-%d-", kernels[0].Model, s.seed))}
	searching := resolved.Target
	if s.wrong {
		h.base += "wrong-"
		if searching, err = wrongFacts(searching); err != nil {
			return nil, err
		}
	}
	if h.graph, err = graphOf(ctx, h.file, resolved.Target); err != nil {
		return nil, err
	}
	m, err := lathe.Load(h.file, lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	tasks, err := lathe.TuneTasks(ctx, m, lathe.TuneOptions{Target: searching, Choices: h.graph})
	if err != nil {
		return nil, err
	}
	rows := make([]qualityRow, len(kernels))
	var first []records.Record
	for i, k := range kernels {
		task, err := taskOf(tasks, k.Node)
		if err != nil {
			return nil, err
		}
		rows[i] = qualityRow{searched: k, Kernel: task.Name, key: task.Record.Kernel}
		if err := h.search(ctx, &rows[i], task.Index, searching); err != nil {
			return nil, err
		}
		first = append(first, rows[i].finalists...)
	}
	met, err := h.meet(ctx, "first", first, (s.pairs+1)/2, resolved.Target)
	if err != nil {
		return nil, err
	}
	var second []records.Record
	for i := range rows {
		second = append(second, rows[i].choose(met, s.wrong)...)
	}
	if met, err = h.meet(ctx, "last", second, s.pairs, resolved.Target); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].compare(met)
		fmt.Println(rows[i])
	}
	return rows, nil
}

// search looks for points of a task, at random and by the tuner, and gives r the best of both.
func (h *hunt) search(ctx context.Context, r *qualityRow, task int, target string) error {
	o := lathe.TuneOptions{Target: target, Tuner: h.tuner, Trials: h.trials, Select: func(t lathe.TuneTask) bool { return t.Index == task }}
	found, err := h.tune(ctx, "tuned-"+strconv.Itoa(task), o)
	if err != nil {
		return err
	}
	r.Trials = len(found)
	r.tuned = best(found, tunerFinalists)
	if h.wrong {
		for i := range r.tuned { // all of it, since the right facts decide otherwise on what is not given
			r.tuned[i].Point = whole(r.tuned[i].Built.Taken)
		}
		rule := found[0]
		rule.Point = whole(rule.Rule.Taken)
		r.other = []records.Record{rule}
		if len(r.tuned) == 0 {
			r.tuned = r.other
		}
	} else {
		o.Tuner, o.Trials = "random", h.random
		if found, err = h.tune(ctx, "random-"+strconv.Itoa(task), o); err != nil {
			return err
		}
		r.Random = len(found)
		r.other = best(found, randomFinalists)
	}
	r.finalists = slices.Concat(r.tuned, r.other)
	return nil
}

// meet races points of several tasks on fresh pairs, and returns their records.
func (h *hunt) meet(ctx context.Context, name string, list []records.Record, pairs int, target string) ([]records.Record, error) {
	path := h.base + name + ".points"
	os.Remove(path)
	os.Remove(h.base + name + ".records")
	w, err := records.Append(path)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if err := w.Write(r); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil || len(list) == 0 {
		return nil, err
	}
	return h.tune(ctx, name, lathe.TuneOptions{Target: target, Replay: path, Number: pairs, Repeat: pairs})
}

// best are records of the fastest points that were faster than the rules'.
func best(list []records.Record, n int) []records.Record {
	list = slices.DeleteFunc(slices.Clone(list), func(r records.Record) bool { return r.Fault != records.None || r.Ratio <= 0 || r.Ratio >= 1 })
	slices.SortStableFunc(list, func(a, b records.Record) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return list[:min(n, len(list))]
}

// whole is a point without the division among workers, which one worker's share does not tell of.
func whole(taken choice.Point) choice.Point {
	p := choice.Point{}
	for name, text := range taken {
		if !tune.Divides(name) {
			p[name] = text
		}
	}
	return p
}

// taskOf is the task with a node in which most time is spent.
func taskOf(tasks []lathe.TuneTask, node string) (lathe.TuneTask, error) {
	var of *lathe.TuneTask
	for i, t := range tasks {
		if slices.Contains(t.Nodes, node) && (of == nil || t.Time > of.Time) {
			of = &tasks[i]
		}
	}
	if of == nil {
		return lathe.TuneTask{}, fmt.Errorf("no kernel computes node %q", node)
	}
	return *of, nil
}

// graphOf is what is decided on the graph for a target, to be given to others.
func graphOf(ctx context.Context, file, target string) (map[string]map[string]string, error) {
	m, err := lathe.Load(file, lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	p, err := lathe.Compile(ctx, m, lathe.CompileOptions{Target: target})
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, s := range p.Info().Steps {
		for node, decided := range s.Graph {
			all[node] = decided
		}
	}
	return all, nil
}

// wrongFacts is a target whose caches have a quarter of their size, and whose cores one unit for multiply-adds.
func wrongFacts(text string) (string, error) {
	spec, err := target.Parse(text)
	if err != nil {
		return "", err
	}
	t, err := spec.Resolve(nil)
	if err != nil {
		return "", err
	}
	t.L1, t.L2, t.L3 = t.L1/4, t.L2/4, t.L3/4
	t.Units = 1
	return t.String(), nil
}
