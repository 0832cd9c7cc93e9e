package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lathe"
	"lathe/bench/zoo"
	"lathe/internal/tune"
)

// tuneCommand makes this program tune networks and compare what came of it with what the compiler chooses by itself.
const tuneCommand = "tune"

// tuneSettings are the flags of the command.
type tuneSettings struct {
	models  []string
	seeds   []int
	trials  int
	time    time.Duration // of a tuning, about; 0: any
	busy    float64       // of a processor, that other work takes meanwhile
	pairs   int           // processes of each package
	runs    int           // timed runs of a process
	workers int           // 0: as many as packages use
	target  string
	results string
}

// tuneAll is the command: for each network and seed it tunes, compiles with the records and without, and lets processes of both packages take
// turns.
func tuneAll(args []string) (err error) {
	s, err := readTuneFlags(args)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "lathe-tunebench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := newTuneReport(s)
	rest, err := keepBusy(context.Background(), s.busy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rest()) }()
	for _, model := range s.models {
		for _, seed := range s.seeds {
			row, err := s.tune(context.Background(), model, seed, work)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", modelName(model), seed, err)
			}
			r.Rows = append(r.Rows, *row)
			fmt.Println(row)
			if err := r.write(s.results); err != nil { // what is interrupted keeps its rows
				return err
			}
		}
	}
	return r.tell(s.results)
}

func readTuneFlags(args []string) (*tuneSettings, error) {
	s := new(tuneSettings)
	f := flag.NewFlagSet("bench tune", flag.ExitOnError)
	models := f.String("models", "", "networks: names in the zoo or files (default: those of the table in the README)")
	seeds := f.String("seeds", "1", "seeds of the search")
	folder := f.String("zoo", defaultZoo(), "folder of networks with weights, as scripts/fill-zoo.sh fills it")
	f.IntVar(&s.trials, "trials", 1000, "trials over all kernels, at most")
	f.DurationVar(&s.time, "time", 0, "time of a tuning, about (default: as the search needs)")
	f.Float64Var(&s.busy, "busy", 0, "part of a processor that a load takes meanwhile, from 0 to 1")
	f.IntVar(&s.pairs, "pairs", 9, "pairs of fresh processes")
	f.IntVar(&s.runs, "repeat", 30, "timed runs of a process, at least")
	f.IntVar(&s.workers, "threads", 0, "threads (default: as packages use)")
	f.StringVar(&s.target, "target", "llvm", "target")
	f.StringVar(&s.results, "results", "results", "folder for the results as JSON, Markdown and a page")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || s.pairs < 1 || s.runs < 1 || s.trials < 1 || s.time < 0 || !(s.busy >= 0 && s.busy <= 1) {
		return nil, fmt.Errorf("usage: bench tune [flags], with positive numbers and -busy from 0 to 1")
	}
	var err error
	if s.seeds, err = numbers("seeds", *seeds); err != nil {
		return nil, err
	}
	names := words(*models)
	if len(names) == 0 {
		names = tunedNetworks
	}
	s.models, err = findModels(names, *folder)
	return s, err
}

// tunedNetworks are those of the table.
var tunedNetworks = []string{"alexnet", "light_inception_v2", "resnet18", "resnet50", "resnet101", "densenet121", "googlenet", zoo.Twins + ".h5"}

// tune makes a row.
func (s *tuneSettings) tune(ctx context.Context, model string, seed int, work string) (*tuneRow, error) {
	m, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	output := filepath.Join(work, fmt.Sprintf("%s-%d.json", modelName(model), seed))
	start := time.Now()
	found, err := lathe.Tune(ctx, m, lathe.TuneOptions{Target: s.target, Output: output, Trials: s.trials, Time: s.time, Number: 10, Seed: uint64(seed), Workers: s.workers})
	if err != nil {
		return nil, err
	}
	row := &tuneRow{Model: modelName(model), Seed: seed, Seconds: time.Since(start).Seconds(), Trials: found.Trials, Threads: found.Workers, Spread: found.Spread}
	searched := found.Stages["search"] + found.Stages["division"]
	row.TrialMs = 1e3 * searched.Seconds() / float64(max(1, found.Trials))
	row.Accepted = len(found.Points())
	packs := [2]string{filepath.Join(work, "tuned.tar"), filepath.Join(work, "untuned.tar")}
	for i, o := range []lathe.CompileOptions{{Target: s.target, Records: []string{output}}, {Target: s.target}} {
		if err := packed(ctx, model, packs[i], o); err != nil {
			return nil, err
		}
	}
	if row.Same, err = sameFiles(packs); err != nil {
		return nil, err
	}
	for k := range s.pairs {
		var times [2][]float64
		for i := range packs {
			which := i ^ k%2
			if err := runTimes(ctx, &times[which], packs[which], model, s.workers, s.runs); err != nil {
				return nil, err
			}
		}
		row.Tuned, row.Untuned = append(row.Tuned, times[0]...), append(row.Untuned, times[1]...)
		row.Ratios = append(row.Ratios, tune.Quiet(times[1], times[0]).Ratio)
	}
	return row, nil
}

// packed compiles a model to a file.
func packed(ctx context.Context, model, file string, o lathe.CompileOptions) error {
	m, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		return err
	}
	p, err := lathe.Compile(ctx, m, o)
	if err != nil {
		return err
	}
	return p.Save(file)
}

func sameFiles(paths [2]string) (bool, error) {
	a, err := os.ReadFile(paths[0])
	if err != nil {
		return false, err
	}
	b, err := os.ReadFile(paths[1])
	return bytes.Equal(a, b), err
}
