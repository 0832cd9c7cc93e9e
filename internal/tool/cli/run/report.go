package run

import (
	"math"

	"lathe/internal/tensor"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/profile"
	"lathe/internal/types"
	"lathe/runtime"
)

// A report is what --json prints. Keys are added, never renamed.
type report struct {
	File    string         `json:"file"`
	Model   string         `json:"model"` // that the package was compiled from
	Target  string         `json:"target"`
	Threads int            `json:"threads"`
	Inputs  []tensorReport `json:"inputs"`
	Outputs []outputReport `json:"outputs"`
	Times   *timesReport   `json:"times_ms,omitempty"` // with --print-time
	Profile *profile.Data  `json:"profile,omitempty"`  // with --profile
}

type tensorReport struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

type outputReport struct {
	tensorReport
	NaN int         `json:"nan"`           // elements that are no numbers
	Top []topReport `json:"top,omitempty"` // with --print-top or --labels
}

type topReport struct {
	Class       int        `json:"class"`
	Label       string     `json:"label,omitempty"`
	Value       cli.Number `json:"value"`
	Probability cli.Number `json:"probability"`
}

type timesReport struct {
	Mean   float64   `json:"mean"`
	Median float64   `json:"median"`
	Max    float64   `json:"max"`
	Min    float64   `json:"min"`
	Std    float64   `json:"std"`
	All    []float64 `json:"all"` // --repeat measurements, each the average of --number runs
}

func (r *report) begin(path string, m *runtime.Module) {
	info := m.Info()
	r.File, r.Model, r.Target, r.Threads = path, info.Source.File, info.Target.String, m.Workers()
	r.Inputs, r.Outputs = []tensorReport{}, []outputReport{}
	for _, t := range m.Inputs() {
		r.Inputs = append(r.Inputs, tensorReport{t.Name, t.DType, append([]int{}, t.Shape...)})
	}
}

func (s *scores) ranking(n int, labels []string) []topReport {
	p, _ := s.probabilities()
	var list []topReport
	for _, i := range s.top(n) {
		t := topReport{Class: i, Value: cli.Number(s.values[i]), Probability: cli.Number(p[i])}
		if i < len(labels) {
			t.Label = labels[i]
		}
		list = append(list, t)
	}
	return list
}

// countNaN counts the elements that are no numbers.
func countNaN(t runtime.Tensor) int {
	d, err := types.ParseDType(t.DType)
	if err != nil || !d.IsFloat() {
		return 0
	}
	n := 0
	v := tensor.Over(d, t.Shape, t.Data)
	for i := range v.Len() {
		if math.IsNaN(v.Float(i)) {
			n++
		}
	}
	return n
}
