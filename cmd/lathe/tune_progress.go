package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"lathe"
)

// tuneProgress shows how a tuning goes: on a terminal in one line that is rewritten, tvmc's of the task that was tried last; elsewhere a line
// for each task when the search is over.
type tuneProgress struct {
	out   io.Writer
	bar   *progress
	tasks map[int]*taskProgress
	order []int // tasks as they came
	ended bool
}

type taskProgress struct {
	current, best float64
	done, planned int
	number, of    int // of the tasks that are tuned, from 1
	took          time.Duration
}

func (a *app) tuneProgress() *tuneProgress {
	return &tuneProgress{out: a.Out, bar: a.progress(), tasks: map[int]*taskProgress{}}
}

func (p *tuneProgress) show(s lathe.TuneProgress) {
	if s.Stage != "graph" && s.Stage != "search" && s.Stage != "noise" && s.Stage != "division" {
		p.end()
	}
	if s.Task != nil {
		t := p.tasks[s.Task.Index]
		if t == nil {
			t = &taskProgress{}
			p.tasks[s.Task.Index] = t
			p.order = append(p.order, s.Task.Index)
		}
		t.current, t.best, t.done, t.planned, t.took = s.Current, s.Best, s.Done, s.Planned, s.Took
		t.number, t.of = s.Number, s.Tasks
	}
	if p.bar.w == nil {
		return
	}
	line := s.Stage
	if s.Stage == "graph" {
		line = fmt.Sprintf("graph | %d/%d networks", s.Trials, s.Budget)
	}
	if s.Task != nil {
		line = p.line(s.Task.Index) + fmt.Sprintf(" | %d/%d | %.2f -> %.2f ms", s.Trials, s.Budget, ms(s.Host), ms(s.Expected))
	}
	if s.Left > 0 {
		line += fmt.Sprintf(", %v left", s.Left.Round(time.Second))
	}
	p.bar.show(line, 0, 0)
}

// line is tvmc's, which counts the tasks that are tuned from 1.
func (p *tuneProgress) line(task int) string {
	t := p.tasks[task]
	return fmt.Sprintf("[Task %2d/%2d]  Current/Best: %7.2f/%7.2f GFLOPS | Progress: (%d/%d) | %.2f s", t.number, t.of, t.current, t.best, t.done, t.planned, t.took.Seconds())
}

// end prints the lines of all tasks once.
func (p *tuneProgress) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.bar.clear()
	for _, i := range slices.Sorted(slices.Values(p.order)) {
		fmt.Fprintln(p.out, p.line(i)+" Done.")
	}
}

func (p *tuneProgress) clear() { p.bar.clear() }
