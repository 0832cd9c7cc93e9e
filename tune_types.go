package lathe

import (
	"io"
	"maps"
	"slices"
	"time"

	report "lathe/internal/tool/tuning"
	"lathe/internal/tune"
)

// TuneTask is a kernel of a model with all steps that compute the same.
type TuneTask struct {
	Index   int      // in the list of TuneTasks
	Name    string   // of the first kernel
	Ops     []string // operators by Relay's names
	Nodes   []string // nodes of the model
	Shapes  []string // types of the operands and the result
	Steps   []int    // of the package that run it, or in which it runs, by number
	Calls   int      // in a run; in loops whose iterations depend on data, and in branches, in as many iterations as are known
	FLOPs   float64  // of one call
	Bytes   float64  // read and written at least, of one call
	Time    time.Duration
	Peak    time.Duration     // of one call, by what the target does at best
	Default map[string]string // what the compiler decides by itself
	Record  TuneKey
}

// Weight is the task's time in a run.
func (t TuneTask) Weight() time.Duration { return t.Time * time.Duration(t.Calls) }

// TuneKey says by what records know a kernel, whatever network it is in.
type TuneKey struct {
	Kernel  string // digest of what it computes, in which layouts
	Anchor  string // digest of the operator that others are fused with: its neighbours have it, too
	Target  string // architecture, features, width of vectors
	Class   string // of machine: caches and rates, rounded
	Workers int
}

// TuneEstimate is a ratio of times, with a choice over without, and bounds of it.
type TuneEstimate struct {
	Ratio, Low, High float64
	Pairs            int // of runs that were compared
}

// Gain is the ratio as a speed: 1.25 where the time is 0.8 of the other.
func (e TuneEstimate) Gain() float64 { return 1 / e.Ratio }

// TuneVerdict is of a whole network, tuned against untuned.
type TuneVerdict struct {
	TuneEstimate
	Tuned, Untuned time.Duration // median of whole runs
	Accepted       bool
	Wrong          string // how the outputs of both differ, so that the tuned one is refused; "": they do not
}

// TuneChange is a decision that was taken otherwise than by the compiler itself. From is empty where it was not asked before, and To where it
// is asked no more.
type TuneChange struct{ Decision, From, To string }

// TuneFound is what a tuning found for a task.
type TuneFound struct {
	TuneTask
	Point    map[string]string // decisions that are given
	Taken    map[string]string // all of what was decided then
	Changed  []TuneChange
	Confirm  TuneEstimate // by fresh runs
	Won      bool         // the confirmation
	Accepted bool         // the verdict left it in
	Trials   int
}

// TuneResult is what a tuning ends with.
type TuneResult struct {
	Tasks   []TuneTask  // those that were tuned
	Found   []TuneFound // in the order of tasks
	Verdict TuneVerdict // of all that is accepted; where nothing is, the last that was withdrawn, or none
	Graph   *TuneGraph  // decisions on the graph; nil without TuneOptions.Graph
	Workers int         // that the package uses
	Trials  int
	Resumed int // of them, those of earlier runs
	Faults  int // trials without a time
	Spread  float64
	Ended   string // why the search ended, in words

	Took   time.Duration
	Stages map[string]time.Duration // of it, by stages as in TuneProgress
	Built  time.Duration            // of it, compiling candidates
	Raced  time.Duration            // of it, racing them
	// Runs are times of whole runs, milliseconds: with what the last verdict was of, none where there was none, and without.
	Runs, HostRuns []float64

	found    tune.Result
	assembly map[int][2]string
}

// Points are the decisions that are accepted, by task.
func (r *TuneResult) Points() map[int]map[string]string {
	points := map[int]map[string]string{}
	for _, f := range r.Found {
		if f.Accepted {
			points[f.Index] = f.Point
		}
	}
	return points
}

// WriteHTML writes a page that tells what changed, why, and what is left. Below its title stand the lines of head. With TuneOptions.Assembly
// it has the code of kernels that won.
func (r *TuneResult) WriteHTML(w io.Writer, title string, head ...string) error {
	page := &report.Report{Title: title, Head: head, Result: &r.found, Assembly: r.assembly, Graph: r.graphPage()}
	for _, t := range r.Tasks {
		page.Host += t.Weight()
	}
	return page.HTML(w)
}

// graphPage is what the page tells of decisions on the graph; nil: they were not looked for.
func (r *TuneResult) graphPage() *report.Graph {
	if r.Graph == nil {
		return nil
	}
	g := &report.Graph{Accepted: r.Graph.Accepted, Earlier: r.Graph.Earlier, Verdict: tune.Estimate(r.Graph.Verdict.TuneEstimate)}
	if r.Graph.Facts != "" {
		g.Decided = append(g.Decided, report.GraphDecision{Node: report.AllOfIt, Decision: factsDecision, Value: r.Graph.Facts})
	}
	for _, node := range slices.Sorted(maps.Keys(r.Graph.Choices)) {
		for _, name := range slices.Sorted(maps.Keys(r.Graph.Choices[node])) {
			g.Decided = append(g.Decided, report.GraphDecision{Node: node, Decision: name, Value: r.Graph.Choices[node][name]})
		}
	}
	for _, t := range r.Graph.Trials {
		g.Trials = append(g.Trials, report.GraphTrial{Nodes: t.Nodes, Decision: t.Decision, From: t.From, Value: t.Value, Ratio: t.Ratio, Fault: t.Fault})
	}
	return g
}

// TuneProgress is told after each trial, confirmation and verdict.
type TuneProgress struct {
	Stage   string    // graph, noise, search, division, confirm, network
	Task    *TuneTask // that the last trial was of; nil: none
	Current float64   // GFLOP/s of the trial; 0: it has no time
	Best    float64   // GFLOP/s of the task's best
	Done    int       // trials of the task
	Planned int       // trials of the task, about
	Took    time.Duration

	Number, Tasks  int           // of the task, from 1, among those that are tuned
	Trials, Budget int           // of all tasks; Budget is what they are at most, 0: unknown
	Faults         int           // trials without a time
	Host, Expected time.Duration // of a run, as it is and with the best of each task
	Left           time.Duration // of the search, about; 0: unknown
	Verdict        *TuneVerdict  // the last, with the number of kernels that it is of
	Points         int
}

// publicTask is t for users.
func publicTask(t *tune.Task) TuneTask {
	return TuneTask{
		Index: t.Index, Name: t.Name, Ops: t.Ops, Nodes: t.Nodes, Shapes: t.Shapes, Steps: t.Steps, Calls: t.Calls, FLOPs: t.FLOPs, Bytes: t.Bytes, Time: t.Time, Peak: t.Peak,
		Default: maps.Clone(t.Default), Record: TuneKey(t.Key),
	}
}

func publicEstimate(e tune.Estimate) TuneEstimate { return TuneEstimate(e) }

func publicVerdict(v *tune.Verdict) TuneVerdict {
	us := func(t float64) time.Duration { return time.Duration(t * float64(time.Microsecond)) }
	return TuneVerdict{publicEstimate(v.Estimate), us(v.Tuned), us(v.Host), v.Accepted, v.Wrong}
}

func publicProgress(p tune.Progress) TuneProgress {
	out := TuneProgress{
		Stage: string(p.Stage), Current: p.Current, Best: p.Best, Done: p.Done, Planned: p.Planned, Took: p.Took, Number: p.Number, Tasks: p.Tasks,
		Trials: p.Trials, Budget: p.Budget, Faults: p.Faults, Host: p.Host, Expected: p.Expected, Left: p.Left, Points: p.Points,
	}
	if p.Task != nil {
		t := publicTask(p.Task)
		out.Task = &t
	}
	if p.Verdict != nil {
		v := publicVerdict(p.Verdict)
		out.Verdict = &v
	}
	return out
}

// take fills in what was found.
func (r *TuneResult) take(found tune.Result) {
	r.found = found
	r.Verdict = publicVerdict(&found.Verdict)
	r.Trials, r.Resumed, r.Faults, r.Spread, r.Ended = found.Trials, found.Resumed, found.Faults, found.Spread, found.Ended
	r.Took, r.Built, r.Raced, r.Stages = found.Took, found.Built, found.Raced, map[string]time.Duration{}
	for stage, took := range found.Stages {
		r.Stages[string(stage)] = took
	}
	for i := range found.Found {
		f := &found.Found[i]
		out := TuneFound{
			TuneTask: publicTask(f.Task), Point: maps.Clone(f.Point), Taken: maps.Clone(f.Taken), Confirm: publicEstimate(f.Confirm),
			Won: f.Won, Accepted: f.Accepted, Trials: len(f.Trials),
		}
		for _, c := range f.Changed() {
			out.Changed = append(out.Changed, TuneChange{c.Name, c.From, c.To})
		}
		r.Found = append(r.Found, out)
	}
	slices.SortStableFunc(r.Found, func(a, b TuneFound) int { return a.Index - b.Index })
}
