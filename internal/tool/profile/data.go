package profile

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Data is a profile for programs. Times are in us.
type Data struct {
	Model   string     `json:"model"`
	Lathe   string     `json:"lathe"` // version that compiled the package
	Target  string     `json:"target"`
	CPU     string     `json:"cpu"`
	Date    string     `json:"date"` // RFC 3339
	Threads int        `json:"threads"`
	Run     float64    `json:"run_us"`  // median of whole runs
	Runs    []float64  `json:"runs_us"` // all of them
	Sum     float64    `json:"steps_us"`
	Doubt   string     `json:"doubt,omitempty"` // why the steps may not tell about the run
	Peaks   *Peaks     `json:"peaks,omitempty"` // of this machine with these threads
	FLOPs   int64      `json:"model_flops"`
	Steps   []StepData `json:"steps"` // the most time lost first
}

// StepData is one step.
type StepData struct {
	Index    int      `json:"index"`
	Name     string   `json:"name"`
	Operator string   `json:"operator"`
	Nodes    []string `json:"nodes"`
	Rule     string   `json:"rule"`
	Why      string   `json:"why"`
	Us       float64  `json:"us"`
	Min      float64  `json:"min_us"`
	Best     float64  `json:"best_us"` // at the machine's peak; 0 where that is not known
	FLOPs    int64    `json:"flops"`
	Bytes    int64    `json:"bytes"`
}

// Data returns the profile for programs.
func (r *Run) Data() *Data {
	d := &Data{
		Model: r.Model, Lathe: r.Lathe, Target: r.Target, CPU: r.CPU, Date: r.Date.Format(time.RFC3339), Threads: r.Threads,
		Run: r.Median, Runs: r.Whole, Sum: r.Sum.Us, Doubt: r.Doubt(), FLOPs: r.FLOPs, Steps: []StepData{},
	}
	if r.Measured() {
		d.Peaks = &r.Peaks
	}
	for _, k := range r.Kernels {
		d.Steps = append(d.Steps, StepData{
			Index: k.Index, Name: k.Name, Operator: operator(k.Step), Nodes: append([]string{}, k.Nodes...), Rule: k.Rule, Why: k.Why,
			Us: k.Us, Min: us(k.Min), Best: k.Best, FLOPs: k.StepTime.FLOPs, Bytes: k.StepTime.Bytes,
		})
	}
	return d
}

// CSV writes a row for each step in the order they run, with a head.
func (r *Run) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := make([][]string, len(r.Kernels))
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, s := range r.Data().Steps {
		rows[s.Index] = []string{
			fmt.Sprint(s.Index), s.Name, s.Operator, strings.Join(s.Nodes, " "), s.Rule, number(s.Us), number(s.Min), number(s.Best),
			fmt.Sprint(s.FLOPs), fmt.Sprint(s.Bytes),
		}
	}
	if err := c.Write([]string{"index", "name", "operator", "nodes", "rule", "us", "min_us", "best_us", "flops", "bytes"}); err != nil {
		return err
	}
	return c.WriteAll(rows)
}
