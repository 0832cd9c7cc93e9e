// Package tuning is the report of a tuning as a page of one file: what changed, why that is faster, and what is left.
package tuning

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"lathe/internal/records"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/webpage"
	"lathe/internal/tune"
)

//go:embed page.html
var content string

var page = webpage.New(content, template.FuncMap{"count": spelling.Count[int], "us": func(d time.Duration) string { return fmt.Sprintf("%.2f", micro(d)) }})

// A Report is what a page shows.
type Report struct {
	Title string   // the model
	Head  []string // target, machine, command
	Host  time.Duration
	*tune.Result
	Assembly map[int][2]string // by task: as the rules make the kernel, and as it won
}

// HTML writes the report as a page of one file.
func (r *Report) HTML(w io.Writer) error { return page.Write(w, "Tuning of "+r.Title, r) }

// A Row is a task.
type Row struct {
	*tune.Found
	report *Report
}

// Rows are the tasks, those first that take most of a run.
func (r *Report) Rows() []Row {
	var rows []Row
	for i := range r.Found {
		rows = append(rows, Row{&r.Found[i], r})
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Weight(), a.Weight()) })
	return rows
}

// Rest are the tasks, those first in which most time is left.
func (r *Report) Rest() []Row {
	rows := r.Rows()
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Left(), a.Left()) })
	return rows
}

// Accepted is the number of tasks whose points stay.
func (r *Report) Accepted() int { return len(r.Points()) }

// Words say in a sentence how it ended.
func (r *Report) Words() string {
	v := r.Verdict
	switch {
	case v.Accepted:
		return fmt.Sprintf("The network is %s times as fast as untuned, raced whole in %s.", times(v.Estimate), spelling.Count(v.Pairs, "fresh opening"))
	case v.Pairs > 0:
		return fmt.Sprintf("Nothing is accepted: raced whole in %s, the network was %s times as fast with what was left of the points.", spelling.Count(v.Pairs, "fresh opening"), times(v.Estimate))
	}
	return "Nothing is accepted: no kernel was surely faster than by the rules."
}

// times is how many times as fast an estimate of a ratio of times says, with bounds.
func times(e tune.Estimate) string {
	if e.Pairs == 0 || e.Low <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", 1/e.Ratio, 1/e.High, 1/e.Low)
}

// Gain is the confirmation as times as fast.
func (r Row) Gain() string {
	if !r.Won {
		return ""
	}
	return times(r.Confirm)
}

// GainValue sorts.
func (r Row) GainValue() float64 { return 1 / r.ratio() }

// ratio is the time with what is accepted over the host's.
func (r Row) ratio() float64 {
	if !r.Found.Accepted {
		return 1
	}
	return r.Confirm.Ratio
}

// Tuned is the time of a call with what is accepted.
func (r Row) Tuned() time.Duration { return time.Duration(float64(r.Time) * r.ratio()) }

// Share is of the network's time, in percent.
func (r Row) Share() float64 {
	if r.report.Host <= 0 {
		return 0
	}
	return 100 * float64(r.Weight()) / float64(r.report.Host)
}

// Peak is the share of the roofline's speed that is reached, in percent; 0 where none is known.
func (r Row) Peak() float64 { return peak(r.Found.Task.Peak, r.Tuned()) }

// PeakBefore is the same untuned.
func (r Row) PeakBefore() float64 { return peak(r.Found.Task.Peak, r.Time) }

// PeakGain is what tuning added.
func (r Row) PeakGain() float64 { return r.Peak() - r.PeakBefore() }

func peak(best, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return min(100, 100*float64(best)/float64(took))
}

// Left is the time in a run above the roofline.
func (r Row) Left() time.Duration {
	return max(0, r.Tuned()-r.Found.Task.Peak) * time.Duration(len(r.Steps))
}

// Standing is how far the best has come, in words.
func (r Row) Standing() string {
	switch {
	case r.Found.Accepted:
		return "accepted"
	case r.Won:
		return "withdrawn: the network was not surely faster"
	case r.Host == nil:
		return "cannot be built apart"
	}
	return "by the rules"
}

// Why is what compiling tells of both: moves to and from the stack, instructions, cycles that the rules expect.
func (r Row) Why() []string {
	if r.Built == nil || r.Host == nil {
		return nil
	}
	var list []string
	if a, b := 100*r.Host.Spills, 100*r.Built.Spills; a > 0.5 || b > 0.5 {
		list = append(list, fmt.Sprintf("moves to and from the stack: %.1f → %.1f %% of the inner loops' instructions", a, b))
	}
	if a, b := r.Host.Cycles, r.Built.Cycles; a > 0 && b > 0 && a != b {
		list = append(list, fmt.Sprintf("cycles that the rules expect: %.0f → %.0f", a, b))
	}
	if a, b := r.Host.Code, r.Built.Code; a != b {
		list = append(list, fmt.Sprintf("code: %d → %d bytes", a, b))
	}
	return list
}

// Assembly are the kernel as the rules make it, and as it won; nil where neither is known.
func (r Row) Assembly() []string {
	if both, ok := r.report.Assembly[r.Index]; ok {
		return both[:]
	}
	return nil
}

// Faulty is the number of trials without a time.
func (r Row) Faulty() (n int) {
	for _, t := range r.Trials {
		if t.Fault != records.None {
			n++
		}
	}
	return n
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
