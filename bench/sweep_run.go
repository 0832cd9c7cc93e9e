package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	"lathe"
	"lathe/bench/model"
	"lathe/bench/process"
	"lathe/bench/sweep"
	"lathe/internal/cpu"
)

// sweepCommand compiles and measures the cases of package sweep. "sweep diff OLD NEW" compares two reports, "sweep show REPORT"
// prints one again.
const sweepCommand = "sweep"

// What a case may take. A ratio below 1 is measured again, as often as repeats says, in processes of their own; none begins
// after repeatLimit, which only runs of seconds reach.
const (
	firstBudget  = 400 * time.Millisecond
	repeatBudget = 150 * time.Millisecond
	repeats      = 5
	repeatLimit  = 15 * time.Second
	compileLimit = 3 * time.Minute
	measureLimit = 2 * time.Minute
)

// sweeper is a sweep under way.
type sweeper struct {
	settings
	self, work string
	threads    int
	processor  bool // ratios are of processor time
}

// runSweep is the command.
func runSweep(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "diff":
		return diffReports(args[1], args[2])
	case len(args) == 2 && args[0] == "show":
		r, err := sweep.Read(args[1])
		if err == nil {
			r.Print(os.Stdout)
		}
		return err
	}
	s := new(sweeper)
	f := flag.NewFlagSet(sweepCommand, flag.ExitOnError)
	text := f.String("select", "", "cases: a family, or a regular expression (default: all)")
	random := f.Int("random", 0, "so many cases drawn at random, instead of those of the table")
	seed := f.Uint64("seed", 1, "what -random draws from")
	peers := f.String("peers", "", "onnxruntime=LIBRARY")
	models := f.String("models", "", "folder to write the models of the cases to, instead of measuring them")
	file := f.String("o", "", "file for the report as JSON (default: in the folder of results, by time)")
	f.StringVar(&s.results, "results", "results", "folder for reports")
	f.IntVar(&s.threads, "threads", 1, "number of threads")
	f.StringVar(&s.target, "target", "llvm", "Lathe's target")
	f.IntVar(&s.level, "O", 3, "Lathe's optimisation level")
	if err := f.Parse(args); err != nil {
		return err
	}
	all := sweep.Families
	if *random > 0 {
		all = sweep.Random(*seed, *random)
	}
	families, err := sweep.Select(all, *text)
	if err != nil {
		return err
	}
	if *models != "" {
		return writeCases(families, *models)
	}
	if s.settings.peers, err = parsePeers(*peers); err != nil {
		return err
	}
	if len(s.settings.peers) != 1 || s.settings.peers[0].name != "onnxruntime" {
		return errors.New("sweep: the peer is ONNX Runtime: -peers onnxruntime=LIBRARY")
	}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.work, err = os.MkdirTemp("", "lathe-sweep-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.work)
	s.processor = s.threads == 1
	return s.run(families, *file)
}

func diffReports(before, after string) error {
	old, err1 := sweep.Read(before)
	now, err2 := sweep.Read(after)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	sweep.Diff(os.Stdout, old, now)
	return nil
}

// writeCases writes the models with their inputs, as FAMILY-NAME.onnx.
func writeCases(families []sweep.Family, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range families {
		for _, c := range f.Cases {
			b := model.New(f.FullName(c))
			c.Build(b)
			if _, err := b.Save(dir, f.Name+"-"+c.Name, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// run measures all, prints the report and writes it; what there is of it is written after every family.
func (s *sweeper) run(families []sweep.Family, file string) error {
	r, err := s.conditions()
	if err != nil {
		return err
	}
	if file == "" {
		file = filepath.Join(s.results, "sweep-"+r.Started.Format("20060102-150405")+".json")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	others, err := process.Watch()
	if err != nil {
		return err
	}
	r.Load[0] = loadAverage()
	total := 0
	for _, f := range families {
		total += len(f.Cases)
	}
	for _, f := range families {
		for _, c := range f.Cases {
			x := s.one(f, c)
			r.Results = append(r.Results, x)
			fmt.Fprintf(os.Stderr, "%d/%d %s\n", len(r.Results), total, progress(x))
		}
		r.Load[1], r.Seconds = loadAverage(), time.Since(r.Started).Seconds()
		share, err := others.Share()
		r.OthersShare = share
		if err := errors.Join(err, r.Write(file)); err != nil {
			return err
		}
	}
	r.Print(os.Stdout)
	fmt.Printf("results: %s\n", file)
	return r.Verdict()
}

// conditions is a report without results.
func (s *sweeper) conditions() (*sweep.Report, error) {
	m, err := cpu.This()
	if err != nil {
		return nil, err
	}
	p, err := startORT(s.settings.peers[0].file)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return &sweep.Report{
		Started: time.Now().UTC(), Lathe: strings.TrimPrefix(lathe.Version(), "lathe "), Peer: p.name() + " " + p.version(), Target: s.target, Level: s.level,
		CPU: m.Name, Features: m.Features(), Cores: goruntime.NumCPU(), Threads: s.threads, Processor: s.processor,
	}, nil
}

// loadAverage is the mean number of runnable processes of the last minute.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

func progress(x sweep.Result) string {
	if x.Ratio == 0 {
		return x.Name + ": " + lastLine(x.Error+x.Missing)
	}
	return fmt.Sprintf("%s %.3g", x.Name, x.Ratio)
}

// one writes, compiles and measures a case.
func (s *sweeper) one(f sweep.Family, c sweep.Case) sweep.Result {
	x := sweep.Result{Family: f.Name, Name: f.FullName(c)}
	dir, err := os.MkdirTemp(s.work, "case-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = s.fill(&x, dir, f, c)
	}
	if err != nil {
		x.Error = err.Error()
	}
	return x
}

func (s *sweeper) fill(x *sweep.Result, dir string, f sweep.Family, c sweep.Case) error {
	b := model.New(f.FullName(c))
	c.Build(b)
	file, err := b.Save(dir, "case", false)
	if err != nil {
		return err
	}
	pack := filepath.Join(dir, "case.tar")
	if err := s.compile(x, file, pack); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	first, err := s.measure(firstBudget, file, pack)
	if err != nil || first.Missing != "" {
		x.Missing = first.Missing
		return err
	}
	var again []sweep.Measurement
	if first.Ratio(s.processor) < 1 {
		start := time.Now()
		for n := 0; n < repeats && time.Since(start) < repeatLimit; n++ {
			m, err := s.measure(repeatBudget, file, pack)
			if err != nil {
				return err
			}
			again = append(again, m.Measurement)
		}
	}
	x.Settle(f, first.Measurement, again, s.processor)
	return nil
}

func (s *sweeper) compile(x *sweep.Result, file, pack string) error {
	ctx, cancel := context.WithTimeout(context.Background(), compileLimit)
	defer cancel()
	cost, err := compilePackage(ctx, &s.settings, file, pack)
	x.CompileSeconds, x.CompileMB = cost.Seconds, cost.PeakMB
	return err
}

func (s *sweeper) measure(budget time.Duration, file, pack string) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), measureLimit)
	defer cancel()
	err = runChild(ctx, &o, s.self, measureCommand, s.settings.peers[0].file, fmt.Sprint(s.threads), budget.String(), file, pack)
	return o, err
}
