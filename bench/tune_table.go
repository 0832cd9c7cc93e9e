package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"lathe/internal/evaluate/metrics"
	"lathe/internal/host"
	"lathe/internal/tool/webpage"
	"lathe/internal/tune"
)

//go:embed tune.html
var tuneContent string

var tuneTemplate = webpage.New(tuneContent, nil)

// A tuneReport is what tuning networks came to.
type tuneReport struct {
	Time   time.Time `json:"time"`
	CPU    string    `json:"cpu"`
	CPUs   int       `json:"cpus"`
	Target string    `json:"target"`
	Trials int       `json:"trials"` // at most
	Limit  string    `json:"limit,omitempty"`
	Busy   float64   `json:"busy"` // part of a processor that other work took
	Pairs  int       `json:"pairs"`
	Rows   []tuneRow `json:"rows"`
}

// A tuneRow is a network with a seed. Times are in ms, of all processes.
type tuneRow struct {
	Model    string    `json:"model"`
	Seed     int       `json:"seed"`
	Threads  int       `json:"threads"`
	Seconds  float64   `json:"seconds"` // of tuning
	Trials   int       `json:"trials"`
	TrialMs  float64   `json:"trial_ms"`
	Spread   float64   `json:"spread"` // of equal kernels
	Accepted int       `json:"accepted"`
	Same     bool      `json:"same"` // both packages are the same file
	Untuned  []float64 `json:"untuned"`
	Tuned    []float64 `json:"tuned"`
	Ratios   []float64 `json:"ratios"` // by how much the tuned process of a pair is as fast, by their quietest runs
}

func newTuneReport(s *tuneSettings) *tuneReport {
	r := &tuneReport{Time: time.Now().UTC().Truncate(time.Second), CPU: host.CPUName(), CPUs: host.CPUs(), Target: s.target, Trials: s.trials, Busy: s.busy, Pairs: s.pairs}
	if s.time > 0 {
		r.Limit = s.time.String()
	}
	return r
}

// Bounds says in words what each tuning was allowed, and how it was judged.
func (r *tuneReport) Bounds() string {
	text := fmt.Sprintf("At most %d trials", r.Trials)
	if r.Limit != "" {
		text += " and about " + r.Limit + " of each tuning"
	}
	if r.Busy > 0 {
		text += fmt.Sprintf("; meanwhile a load took %.0f %% of a processor", 100*r.Busy)
	}
	return text + fmt.Sprintf(". Times are of whole runs in %d pairs of fresh processes that took turns.", r.Pairs)
}

// Gain is the median of the pairs' ratios with bounds, the upper one of which holds with 95 %.
func (r tuneRow) Gain() tune.Estimate { return tune.Estimated(r.Ratios, 0.9) }

// Slower reports that the tuned package is surely slower.
func (r tuneRow) Slower() bool { return !r.Same && r.Gain().High < 1 }

// Broken reports that nothing was accepted, and that the package is another all the same.
func (r tuneRow) Broken() bool { return r.Accepted == 0 && !r.Same }

// Changed is how many kernels changed, in words where the package is the untuned one.
func (r tuneRow) Changed() string {
	if r.Same {
		return "none: the same package, byte for byte"
	}
	return fmt.Sprint(r.Accepted)
}

// Lines are the two rows of the table.
func (r tuneRow) Lines() []tuneLine {
	return []tuneLine{{r.Model, metrics.Summarise(r.Untuned)}, {r.Model + " - OPTIMIZED", metrics.Summarise(r.Tuned)}}
}

// A tuneLine is of one package.
type tuneLine struct {
	Name string
	*metrics.Times
}

func (r tuneRow) String() string {
	g := r.Gain()
	text := fmt.Sprintf("%-20s seed %d: %.3f times as fast (%.3f-%.3f), %d kernels changed; %d trials in %.0f s, %.0f ms each", r.Model, r.Seed, g.Ratio, g.Low, g.High,
		r.Accepted, r.Trials, r.Seconds, r.TrialMs)
	switch {
	case r.Slower():
		text += "; SLOWER"
	case r.Broken():
		text += "; ANOTHER PACKAGE"
	}
	return text
}

// markdown writes the table.
func (r *tuneReport) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s, %d processors, target %s. %s\n\n", r.CPU, r.CPUs, r.Target, r.Bounds())
	fmt.Fprintln(w, "| model | mean (ms) | median (ms) | max (ms) | min (ms) | std (ms) |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range r.Rows {
		for _, l := range row.Lines() {
			fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", l.Name, l.Mean, l.Median, l.Max, l.Min, l.Std)
		}
	}
	fmt.Fprintln(w, "\n| model | seed | times as fast (bounds of 95 % each) | kernels changed | trials | seconds | ms a trial |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range r.Rows {
		g := row.Gain()
		fmt.Fprintf(w, "| %s | %d | %.3f (%.3f-%.3f) | %s | %d | %.0f | %.0f |\n", row.Model, row.Seed, g.Ratio, g.Low, g.High, row.Changed(), row.Trials, row.Seconds, row.TrialMs)
	}
}

// base is where files of the report lie, without what their names end in.
func (r *tuneReport) base(folder string) string {
	return filepath.Join(folder, "tune-"+r.Time.Format("20060102-150405"))
}

// write saves the report in all forms.
func (r *tuneReport) write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	base := r.base(folder)
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".json", append(text, '\n'), 0o666); err != nil {
		return err
	}
	for ext, write := range map[string]func(io.Writer) error{
		".md":   func(w io.Writer) error { r.markdown(w); return nil },
		".html": func(w io.Writer) error { return tuneTemplate.Write(w, "Untuned and tuned", r) },
	} {
		f, err := os.Create(base + ext)
		if err != nil {
			return err
		}
		if err := write(f); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// tell prints the table, and fails where a tuned package is slower.
func (r *tuneReport) tell(folder string) error {
	fmt.Println()
	r.markdown(os.Stdout)
	fmt.Println("\n" + r.base(folder) + ".html")
	for _, row := range r.Rows {
		if row.Slower() || row.Broken() {
			return fmt.Errorf("%s, seed %d: the tuned package is slower, or another without a reason", row.Model, row.Seed)
		}
	}
	return nil
}
