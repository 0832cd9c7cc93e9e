package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"lathe/internal/tool/machine"
	"lathe/internal/tool/profile"
	"lathe/runtime"
)

// row is the outcome for one network, batch and number of threads. Times are in milliseconds.
type row struct {
	Model   string  `json:"model"`
	Batch   int     `json:"batch"`
	Threads int     `json:"threads"`
	Lathe   *timing `json:"lathe,omitempty"`
	Peers   []rival `json:"peers,omitempty"` // in the order of the report's
	// GFLOP is the arithmetic of the model as it was given, and of the kernels: algorithms may need less.
	GFLOP        float64       `json:"gflop"`
	GFLOPKernels float64       `json:"gflop_kernels"`
	Effective    float64       `json:"effective_gflop_per_s"` // of the model as it was given, by the lowest median of a block
	PeakShare    float64       `json:"peak_share"`            // of the kernels' arithmetic: 1 is the measured peak of its types
	EffShare     float64       `json:"effective_share"`       // the same of the model as it was given
	Quantised    bool          `json:"quantised"`             // most of the arithmetic is on bytes, or the model has quantised layers
	Compile      compileCost   `json:"compile"`
	RunPeakMB    float64       `json:"run_peak_mb"`
	LongestMs    float64       `json:"longest_wait_ms"`
	Reclaim      []int         `json:"reclaim_mb_per_s,omitempty"` // of several threads: how fast a core writes what another has read, before the runs and behind them
	Busy         float64       `json:"busy,omitempty"`             // part of a processor that a load took
	Gap          time.Duration `json:"gap_ns,omitempty"`           // before each run
	Share        float64       `json:"share,omitempty"`            // under load: of the runs that one thread without it would do in the time that is left of all processors
	Skipped      string        `json:"skipped,omitempty"`          // why there is nothing to measure
	Error        string        `json:"error,omitempty"`
}

// rival is a peer beside Lathe.
type rival struct {
	Name       string  `json:"name"`
	Time       *timing `json:"time,omitempty"`
	Ratio      float64 `json:"ratio,omitempty"`       // the peer's median through Lathe's; under load of means
	QuietRatio float64 `json:"quiet_ratio,omitempty"` // the same of the lowest medians of a block
	CPURatio   float64 `json:"cpu_ratio,omitempty"`   // of the CPU times of a run; one thread only, for others spin
	Difference float64 `json:"difference"`            // relative L2 distance of the outputs
	SameTop    bool    `json:"same_top"`              // the greatest value of each output is at the same place, or at one of the peer's that is as great but for the distance
	Share      float64 `json:"share,omitempty"`       // as the row's
	Missing    string  `json:"missing,omitempty"`     // why there is no time
}

// timing summarises the counted runs of one side.
type timing struct {
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	CPU    float64 `json:"cpu"`    // median of the CPU time of a run, all threads
	Lowest float64 `json:"lowest"` // lowest median of a block: what the machine does when it does nothing else
	Min    float64 `json:"min"`
	Runs   int     `json:"runs"`
}

// describe reads from the manifest how much a run computes, and how long that takes at the peaks.
func (r *row) describe(info *runtime.Info, peaks machine.Peaks) (bestMs float64) {
	r.GFLOP = float64(info.FLOPs) / 1e9
	var bytes float64
	best := profile.Peaks{Float32: peaks.Float32(), Int8: peaks.Int8, Tiles: peaks.Tiles}
	for _, s := range info.Steps {
		gflop := float64(s.FLOPs) / 1e9
		r.GFLOPKernels += gflop
		if s.Multiply == "int8" || s.Multiply == "uint8" {
			bytes += gflop
		}
		bestMs += gflop / best.Of(s) * 1e3
		r.Quantised = r.Quantised || slices.ContainsFunc(s.Ops, isQuantised)
	}
	r.Quantised = r.Quantised || bytes > r.GFLOPKernels/2
	return bestMs
}

// finish derives what follows from the times. Runs are of two kinds under a load that comes and goes, of which a median is one: ratios are of
// means then.
func (r *row) finish(bestMs float64) {
	r.Effective = r.GFLOP / r.Lathe.Lowest * 1e3
	r.PeakShare = bestMs / r.Lathe.Lowest
	r.EffShare = r.PeakShare
	if r.fewerOperations() {
		r.EffShare *= r.GFLOP / r.GFLOPKernels
	}
	for i := range r.Peers {
		p := &r.Peers[i]
		if p.Time == nil {
			continue
		}
		p.Ratio, p.QuietRatio = p.Time.Median/r.Lathe.Median, p.Time.Lowest/r.Lathe.Lowest
		if r.Busy > 0 || r.Gap > 0 {
			p.Ratio = p.Time.Mean / r.Lathe.Mean
		}
		if r.Threads == 1 {
			p.CPURatio = p.Time.CPU / r.Lathe.CPU
		}
	}
}

// underLoad derives from the row of one thread that no load met what r has of the processors that a load left.
func (r *row) underLoad(one *row) {
	left := float64(r.Threads) - r.Busy
	share := func(one, all *timing) float64 {
		if one == nil || all == nil {
			return 0
		}
		return one.Mean / all.Mean / left
	}
	r.Share = share(one.Lathe, r.Lathe)
	for i := range r.Peers {
		r.Peers[i].Share = share(one.Peers[i].Time, r.Peers[i].Time)
	}
}

// fewerOperations reports whether the kernels need notably less arithmetic than the model as it was given.
func (r *row) fewerOperations() bool {
	return r.GFLOPKernels > 0 && r.GFLOPKernels < 0.97*r.GFLOP
}

// compare sets the distance of outputs from a peer's.
func (p *rival) compare(ours, theirs [][]float64) {
	p.SameTop = len(ours) == len(theirs)
	if !p.SameTop {
		p.Difference = math.Inf(1)
		return
	}
	for i, want := range theirs {
		if len(ours[i]) != len(want) {
			p.Difference, p.SameTop = math.Inf(1), false
			return
		}
		p.Difference = math.Max(p.Difference, distance(ours[i], want))
		p.SameTop = p.SameTop && (len(want) == 0 || sameTop(ours[i], want))
	}
	p.Difference = math.Min(p.Difference, math.MaxFloat64) // JSON has no infinity
}

// Greatest distances that count as agreement.
const (
	floatTolerance     = 1e-4
	quantisedTolerance = 5e-2
)

// agrees reports whether the outputs are as close as they have to be.
func (r *row) agrees(p rival) bool {
	if p.Time == nil {
		return true
	}
	if r.Quantised {
		return p.Difference <= quantisedTolerance && p.SameTop
	}
	return p.Difference <= floatTolerance
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

// sameTop reports whether the peer's value where ours is greatest is its greatest, but for what values of that mean square differ by
// at the distance of both: of the 98,304 values of BERT's last layer, the two greatest are closer to each other.
func sameTop(ours, theirs []float64) bool {
	var norm float64
	for _, v := range theirs {
		norm += v * v
	}
	rms := math.Sqrt(norm / float64(len(theirs)))
	return theirs[top(theirs)]-theirs[top(ours)] <= 2*distance(ours, theirs)*rms
}

// top is the place of the greatest value.
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
	for _, d := range wall {
		t.Mean += milliseconds(d) / float64(len(wall))
	}
	t.Median, t.CPU, t.Runs = milliseconds(median(wall)), milliseconds(median(cpu)), len(wall)
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func isQuantised(op string) bool { return strings.HasPrefix(op, "qnn.") }
