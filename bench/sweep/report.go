package sweep

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// A Side is how long one run of one side takes, in milliseconds: medians.
type Side struct {
	Wall float64 `json:"wall_ms"`
	CPU  float64 `json:"cpu_ms"`
	Runs int     `json:"runs"`
}

// An Output is how far an output is from the peer's: the relative L2 distance.
type Output struct {
	DType    string  `json:"dtype"`
	Distance float64 `json:"distance"`
}

// A Measurement is what one process found, with both sides in turns.
type Measurement struct {
	Lathe   Side     `json:"lathe"`
	Peer    Side     `json:"peer"`
	Outputs []Output `json:"outputs,omitempty"`
}

// Ratio is the peer's time through Lathe's, of processor time or of wall time; above 1 Lathe is faster.
func (m Measurement) Ratio(processor bool) float64 {
	if processor {
		return m.Peer.CPU / m.Lathe.CPU
	}
	return m.Peer.Wall / m.Lathe.Wall
}

// Middle returns the measurement whose ratio is the median; of an even number, the lower of both.
func Middle(list []Measurement, processor bool) Measurement {
	s := slices.SortedFunc(slices.Values(list), func(a, b Measurement) int {
		return cmp.Compare(a.Ratio(processor), b.Ratio(processor))
	})
	return s[(len(s)-1)/2]
}

// A Result is the outcome of a case.
type Result struct {
	Family string `json:"family"`
	Name   string `json:"name"` // with the family
	Measurement
	Ratio          float64   `json:"ratio,omitempty"`
	Repeats        []float64 `json:"repeats,omitempty"` // the ratios whose median counts
	CompileSeconds float64   `json:"compile_s,omitempty"`
	CompileMB      float64   `json:"compile_mb,omitempty"`
	Wrong          bool      `json:"wrong,omitempty"` // an output is further from the peer's than the family's kind allows
	Missing        string    `json:"missing,omitempty"`
	Error          string    `json:"error,omitempty"`
}

// Settle sets what counts from the first measurement and those that repeat it, if any.
func (r *Result) Settle(f Family, first Measurement, repeats []Measurement, processor bool) {
	r.Measurement = first
	if len(repeats) > 0 {
		r.Measurement = Middle(repeats, processor)
	}
	for _, m := range repeats {
		r.Repeats = append(r.Repeats, m.Ratio(processor))
	}
	r.Ratio = r.Measurement.Ratio(processor)
	r.Wrong = slices.ContainsFunc(r.Outputs, func(o Output) bool { return o.Distance > f.allowed(o.DType) })
}

// allowed is the greatest distance of an output of a type.
func (f Family) allowed(dtype string) float64 {
	kind := f.Kind
	if kind == (Kind{}) {
		kind = single
	}
	if kind.Integers || strings.HasPrefix(dtype, "float") {
		return kind.Tolerance
	}
	return 0
}

// A Report is a sweep's results and what they hold for.
type Report struct {
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Lathe    string    `json:"lathe"`
	Peer     string    `json:"peer"`
	Target   string    `json:"target"`
	Level    int       `json:"level"`
	CPU      string    `json:"cpu"`
	Features []string  `json:"features"`
	Cores    int       `json:"cores"`
	// Load is the load average over a minute before and after, and OthersShare the part of all CPUs' time that other
	// processes took meanwhile.
	Load        [2]string `json:"load"`
	OthersShare float64   `json:"others_share"`
	Threads     int       `json:"threads"`
	Processor   bool      `json:"processor_time"` // ratios are of processor time, else of wall time
	Results     []Result  `json:"results"`
}

// Summary is what a group of results comes to.
type Summary struct {
	Family    string
	Count     int
	Mean      float64 // geometric
	Least     float64
	LeastName string
	Below95   float64 // share of ratios below 0.95
	Below80   float64 // and below 0.8
}

// summarise reads the results that have a ratio.
func summarise(family string, results []Result) Summary {
	s := Summary{Family: family, Least: math.Inf(1)}
	var logs, below95, below80 float64
	for _, r := range results {
		if r.Ratio == 0 {
			continue
		}
		s.Count++
		logs += math.Log(r.Ratio)
		if r.Ratio < s.Least {
			s.Least, s.LeastName = r.Ratio, r.Name
		}
		if r.Ratio < 0.95 {
			below95++
		}
		if r.Ratio < 0.8 {
			below80++
		}
	}
	n := float64(s.Count)
	s.Mean, s.Below95, s.Below80 = math.Exp(logs/n), below95/n, below80/n
	return s
}

// Summaries are those of the families by their geometric means, the least first, and that of all.
func (r *Report) Summaries() (families []Summary, all Summary) {
	groups := map[string][]Result{}
	for _, x := range r.Results {
		groups[x.Family] = append(groups[x.Family], x)
	}
	for name, list := range groups {
		if s := summarise(name, list); s.Count > 0 {
			families = append(families, s)
		}
	}
	slices.SortFunc(families, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(a.Mean, b.Mean), cmp.Compare(a.Family, b.Family))
	})
	return families, summarise("all", r.Results)
}

// sorted are the results with the least ratio first; those without one come last.
func (r *Report) sorted() []Result {
	place := func(x Result) float64 {
		if x.Ratio == 0 {
			return math.Inf(1)
		}
		return x.Ratio
	}
	return slices.SortedFunc(slices.Values(r.Results), func(a, b Result) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name))
	})
}

// Read reads a report.
func Read(file string) (*Report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	return r, json.Unmarshal(b, r)
}

// Write writes a report.
func (r *Report) Write(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
