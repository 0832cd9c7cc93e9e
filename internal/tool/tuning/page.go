// Package tuning is the report of a tuning as a page of one file: what changed, why that is faster, and what is left.
package tuning

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
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
	Graph    *Graph            // decisions on the graph; nil: they were not looked for
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

// Winners are the tasks whose points won their races, those first that stay, then those that save most.
func (r *Report) Winners() []Row {
	rows := slices.DeleteFunc(r.Rows(), func(r Row) bool { return !r.Won })
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Found.Accepted != b.Found.Accepted {
			if a.Found.Accepted {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Saved(), a.Saved())
	})
	return rows
}

// mostNamed are kernels that LeftWords names.
const mostNamed = 3

// LeftWords say in a sentence how much time of a run is above the roofline, and where most of it is; "" where that is not known.
func (r *Report) LeftWords() string {
	rest, left := r.Rest(), time.Duration(0)
	for _, row := range rest {
		left += row.Left()
	}
	if r.Host <= 0 || left <= 0 {
		return ""
	}
	var names []string
	most := time.Duration(0)
	for _, row := range rest[:min(mostNamed, len(rest))] {
		names, most = append(names, row.Name), most+row.Left()
	}
	return fmt.Sprintf("%.0f of %.0f µs of a run are above the roofline; %.0f %% of that in %s.", micro(left), micro(r.Host), 100*float64(most)/float64(left), strings.Join(names, ", "))
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

// Bounds are those of how many times as fast fresh runs say that a winner is.
func (r Row) Bounds() string { return fmt.Sprintf("%.3f to %.3f", 1/r.Confirm.High, 1/r.Confirm.Low) }

// GainValue is how many times as fast it is.
func (r Row) GainValue() float64 { return 1 / r.Confirm.Ratio }

// TunedAlone is the time of a call by what won, whether the network has it or not.
func (r Row) TunedAlone() time.Duration { return time.Duration(float64(r.Time) * r.Confirm.Ratio) }

// Saved is what that saves of a run, in percent.
func (r Row) Saved() float64 { return r.Share() * (1 - r.Confirm.Ratio) }

// mostNodes are nodes that Where names.
const mostNodes = 3

// Where names nodes of the model, and says how often the kernel runs.
func (r Row) Where() string {
	text := strings.Join(r.Nodes[:min(mostNodes, len(r.Nodes))], ", ")
	if more := len(r.Nodes) - mostNodes; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if n := r.Calls; n > 1 {
		text += "; " + spelling.Count(n, "call")
	}
	return text
}

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
	return max(0, r.Tuned()-r.Found.Task.Peak) * time.Duration(r.Calls)
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
	return r.tried()
}

// tried is what the trials of a kernel say that is as the rules have it.
func (r Row) tried() string {
	best, n := 1.0, 0
	for _, t := range r.Trials {
		if t.Pairs > 0 {
			n++
			best = min(best, t.Ratio)
		}
	}
	switch gain := 1 / best; {
	case n == 0:
		return "by the rules: nothing else was measured"
	case gain < 1.0005:
		return "by the rules: nothing measured was faster"
	case gain < tune.Worthwhile:
		return fmt.Sprintf("by the rules: the best was %.3f times as fast, less than counts", gain)
	default:
		return fmt.Sprintf("by the rules: the best seemed %.3f times as fast, which fresh runs did not confirm", gain)
	}
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
		list = append(list, expectation(a, b))
	}
	if a, b := r.Host.Code, r.Built.Code; a != b {
		list = append(list, fmt.Sprintf("code: %d → %d bytes", a, b))
	}
	return list
}

// expectation is what the model says of two numbers of cycles, of which the second took less time.
func expectation(a, b float64) string {
	const alike = 1 // %
	switch more := 100 * (b/a - 1); {
	case more > alike:
		return fmt.Sprintf("LLVM's model expects %.0f %% more cycles, which the machine does not bear out", more)
	case more < -alike:
		return fmt.Sprintf("LLVM's model expects %.0f %% fewer cycles", -more)
	}
	return "LLVM's model, which knows no caches, expects as many cycles"
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
