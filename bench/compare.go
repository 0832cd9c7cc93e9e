package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"lathe"
	"lathe/bench/process"
	"lathe/runtime"
)

// row is the outcome for one network on one number of threads. Times are in milliseconds.
type row struct {
	Model      string      `json:"model"`
	Threads    int         `json:"threads"`
	Lathe      *timing     `json:"lathe,omitempty"`
	ORT        *timing     `json:"onnxruntime,omitempty"`
	Ratio      float64     `json:"ratio,omitempty"`       // ONNX Runtime's median through Lathe's
	QuietRatio float64     `json:"quiet_ratio,omitempty"` // the same of the lowest medians of a block
	GFLOP      float64     `json:"gflop"`                 // of one run, by the package
	GFLOPS     float64     `json:"gflop_per_s"`           // by the lowest median of a block
	PeakShare  float64     `json:"peak_share,omitempty"`  // of the measured multiply-add peak; float32 networks only
	Quantised  bool        `json:"quantised"`
	Compile    compileCost `json:"compile"`
	RunPeakMB  float64     `json:"run_peak_mb"`
	CPURatio   float64     `json:"cpu_ratio,omitempty"` // of the CPU times of a run; one thread only, for others spin
	Difference float64     `json:"difference"`          // relative L2 distance of the outputs
	SameTop    bool        `json:"same_top"`            // the greatest value of each output is at the same place
	LongestMs  float64     `json:"longest_wait_ms"`
	Error      string      `json:"error,omitempty"`
}

// timing summarises the counted runs of one side.
type timing struct {
	Median float64 `json:"median"`
	CPU    float64 `json:"cpu"`    // median of the CPU time of a run, all threads
	Lowest float64 `json:"lowest"` // lowest median of a block: what the machine does when it does nothing else
	Min    float64 `json:"min"`
	Runs   int     `json:"runs"`
}

// Greatest distances that count as agreement.
const (
	floatTolerance     = 1e-4
	quantisedTolerance = 5e-2
)

// comparison is what all rows share.
type comparison struct {
	*settings
	work  string
	peaks map[int]float64 // GFLOP/s by threads
}

// compareAll measures all networks, prints a table as it grows and writes the results.
func compareAll(s *settings, work string) error {
	c := &comparison{settings: s, work: work, peaks: map[int]float64{}}
	version := ""
	if s.peer != noPeer {
		stop, err := startORT(s.peer)
		if err != nil {
			return err
		}
		defer stop()
		version = ort.GetVersion()
	}
	p, err := newPeak()
	if err != nil {
		return fmt.Errorf("peak: %w", err)
	}
	defer p.close()
	for _, n := range s.threads {
		c.peaks[n] = p.gflops(n)
	}
	debug.SetGCPercent(400)
	r := &report{Lathe: lathe.Version(), ORT: version, Peaks: c.peaks, Target: s.target}
	r.head()
	others, err := process.Watch()
	if err != nil {
		return err
	}
	for _, model := range s.models {
		for _, row := range c.model(model) {
			r.add(row)
		}
	}
	if r.OthersShare, err = others.Share(); err != nil {
		return err
	}
	r.foot()
	return errors.Join(r.write(s.results), r.verdict())
}

// model measures one network on every number of threads.
func (c *comparison) model(model string) []row {
	pack := filepath.Join(c.work, modelName(model)+".tar")
	defer os.Remove(pack)
	cost, err := compilePackage(c.settings, model, pack)
	if err != nil {
		return []row{{Model: modelName(model), Error: "compile: " + err.Error()}}
	}
	var rows []row
	for _, n := range c.threads {
		r := row{Model: modelName(model), Threads: n, Compile: cost}
		if err := c.measure(&r, model, pack); err != nil {
			r.Error = err.Error()
		}
		rows = append(rows, r)
	}
	return rows
}

func (c *comparison) measure(r *row, model, pack string) error {
	life, err := runOnce(pack, model, r.Threads, 0)
	if err != nil {
		return err
	}
	r.RunPeakMB = life.PeakMB
	m, err := runtime.Open(pack, runtime.WithWorkers(r.Threads))
	if err != nil {
		return err
	}
	defer m.Close()
	inputs, err := inputsOf(model, m.Inputs())
	if err != nil {
		return err
	}
	for i, t := range inputs {
		if err := m.SetInputIndex(i, t); err != nil {
			return err
		}
	}
	r.describe(m.Info())
	ours := &side{run: m.Run}
	sides := []*side{ours}
	if c.peer != noPeer {
		if err := m.Run(); err != nil {
			return err
		}
		o, err := openORT(model, r.Threads, m, inputs)
		if err != nil {
			return err
		}
		defer o.close()
		sides = append(sides, &side{run: o.session.Run})
		defer func() { r.compareOutputs(m, o) }()
	}
	longest, err := interleave(sides, c.repeat)
	if err != nil {
		return err
	}
	r.LongestMs = milliseconds(longest)
	r.Lathe = summary(ours.blocks)
	if len(sides) > 1 {
		r.ORT = summary(sides[1].blocks)
		r.Ratio = r.ORT.Median / r.Lathe.Median
		r.QuietRatio = r.ORT.Lowest / r.Lathe.Lowest
		if r.Threads == 1 {
			r.CPURatio = r.ORT.CPU / r.Lathe.CPU
		}
	}
	r.GFLOPS = r.GFLOP / r.Lathe.Lowest * 1e3
	if !r.Quantised {
		r.PeakShare = r.GFLOPS / c.peaks[r.Threads]
	}
	return nil
}

// describe reads from the manifest how much a run computes, and whether on quantised values.
func (r *row) describe(info *runtime.Info) {
	for _, s := range info.Steps {
		r.GFLOP += float64(s.FLOPs) / 1e9
		r.Quantised = r.Quantised || slices.ContainsFunc(s.Ops, func(op string) bool { return strings.HasPrefix(op, "qnn.") })
	}
}

// compareOutputs sets the distance of Lathe's outputs from ONNX Runtime's. Lathe's are read again after its last run.
func (r *row) compareOutputs(m *runtime.Module, o *ortSession) {
	r.SameTop = true
	for i, theirs := range o.outputs {
		t, err := m.Output(i)
		if err != nil {
			r.Error = err.Error()
			return
		}
		ours, err := t.Numbers()
		if err != nil {
			r.Error = err.Error()
			return
		}
		t.Data = theirs.GetData()
		want, err := t.Numbers()
		if err != nil {
			r.Error = err.Error()
			return
		}
		r.Difference = math.Max(r.Difference, distance(ours, want))
		r.SameTop = r.SameTop && (len(want) == 0 || top(ours) == top(want))
	}
}

// agrees reports whether the outputs, where there are two to compare, are as close as they have to be.
func (r *row) agrees() bool {
	if r.ORT == nil {
		return true
	}
	if r.Quantised {
		return r.Difference <= quantisedTolerance && r.SameTop
	}
	return r.Difference <= floatTolerance
}

// distance is the relative L2 distance; NaN counts as infinitely far.
func distance(got, want []float64) float64 {
	var diff, norm float64
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	switch d := math.Sqrt(diff / norm); {
	case diff == 0:
		return 0
	case math.IsNaN(d):
		return math.Inf(1)
	default:
		return d
	}
}

func top(v []float64) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

func summary(blocks []block) *timing {
	t := &timing{Lowest: math.Inf(1), Min: math.Inf(1)}
	var wall, cpu []time.Duration
	for _, b := range blocks {
		wall, cpu = append(wall, b.wall...), append(cpu, b.cpu...)
		t.Lowest = min(t.Lowest, milliseconds(median(b.wall)))
		t.Min = min(t.Min, milliseconds(slices.Min(b.wall)))
	}
	t.Median, t.CPU, t.Runs = milliseconds(median(wall)), milliseconds(median(cpu)), len(wall)
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
