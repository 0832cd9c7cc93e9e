package main

import (
	"fmt"
	"io"
	"time"

	"lathe"
)

// tuneProgress shows how a tuning goes: on a terminal in one line that is rewritten, tvmc's of the task that was tried last; elsewhere a line
// for each task when the search is over.
type tuneProgress struct {
	out   io.Writer
	bar   *progress
	tasks map[int]*taskProgress // by number, from 1
	of    int                   // tasks that are tuned
	took  time.Duration
	ended bool
}

type taskProgress struct {
	current, best float64
	done, planned int
	took          time.Duration
}

func (a *app) tuneProgress() *tuneProgress {
	return &tuneProgress{out: a.Out, bar: a.progress(), tasks: map[int]*taskProgress{}}
}

func (p *tuneProgress) show(s lathe.TuneProgress) {
	if s.Stage != "graph" && s.Stage != "search" && s.Stage != "noise" && s.Stage != "division" {
		p.end()
	}
	p.of, p.took = max(p.of, s.Tasks), max(p.took, s.Took)
	if s.Task != nil && !p.ended {
		p.tasks[s.Number] = &taskProgress{s.Current, s.Best, s.Done, s.Planned, s.Took}
	}
	if p.bar.w == nil {
		return
	}
	line := s.Stage
	if s.Stage == "graph" {
		line = fmt.Sprintf("graph | %d/%d networks", s.Trials, s.Budget)
	}
	if s.Task != nil {
		line = p.line(s.Number) + fmt.Sprintf(" | %d/%d | %.2f -> %.2f ms", s.Trials, s.Budget, ms(s.Host), ms(s.Expected))
	}
	if s.Left > 0 {
		line += fmt.Sprintf(", %v left", s.Left.Round(time.Second))
	}
	p.bar.show(line, 0, 0)
}

// line is tvmc's, which counts the tasks that are tuned from 1.
func (p *tuneProgress) line(task int) string {
	t := p.tasks[task]
	if t == nil {
		t = &taskProgress{took: p.took}
	}
	return fmt.Sprintf("[Task %2d/%2d]  Current/Best: %7.2f/%7.2f GFLOPS | Progress: (%d/%d) | %.2f s", task, p.of, t.current, t.best, t.done, t.planned, t.took.Seconds())
}

// end prints the lines of all tasks once: also of those of which nothing was tried, since they promised too little or all was known.
func (p *tuneProgress) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.bar.clear()
	for i := range p.of {
		fmt.Fprintln(p.out, p.line(i+1)+" Done.")
	}
}

func (p *tuneProgress) clear() { p.bar.clear() }
