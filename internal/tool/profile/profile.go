// Package profile tells where the time of a run goes: by kernel and by operator, against what the machine does at best
// where that is known, as a table or as a page.
package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lathe/runtime"
)

// Peaks are what the machine does at best with the threads of the run. Zero is unknown.
type Peaks struct {
	Float32 float64 `json:"float32_gflop_per_s"`
	Int8    float64 `json:"int8_gop_per_s"`
	Tiles   float64 `json:"tiles_gop_per_s"` // int8 by registers of matrices
	Read    float64 `json:"read_gb_per_s"`   // from memory
}

// matrixRule schedules products by registers of matrices.
const matrixRule = "matrix"

// Of is the peak of a step's arithmetic.
func (p Peaks) Of(s runtime.Step) float64 {
	switch s.Multiply {
	case "int8", "uint8":
		if p.Tiles > 0 && s.Rule == matrixRule {
			return p.Tiles
		}
		if p.Int8 > 0 {
			return p.Int8
		}
	case "float64", "int64":
		return p.Float32 / 2
	}
	return p.Float32
}

// A Run is the profile of one package.
type Run struct {
	Title   string
	Model   string // file it was compiled from
	Lathe   string // version that compiled it
	Target  string
	CPU     string // of this machine; "" = not known
	Date    time.Time
	Threads int
	Peaks   Peaks
	Whole   []float64 // whole runs in us, in order
	Median  float64   // of them
	Kernels []Kernel  // the most time lost first; without peaks the most time
	Groups  []Group   // by operator, the most time first
	Sum     Cost      // of the kernels
	FLOPs   int64     // of the model as it was given
}

// A Cost is time and what was done in it.
type Cost struct {
	Us    float64
	Share float64 // percent of the sum
	FLOPs int64
	Bytes int64
	// Best is the time in us that the arithmetic takes at the peak, or the bytes from memory, whichever is longer; what
	// stays in caches may be quicker. Zero without peaks.
	Best float64
}

// Lost is the time in us beyond the best.
func (c Cost) Lost() float64 { return max(0, c.Us-c.Best) }

// GFLOPS and GBs are speeds; 0 where the time is too short to have been measured.
func (c Cost) GFLOPS() float64 { return rate(c.FLOPs, c.Us) }
func (c Cost) GBs() float64    { return rate(c.Bytes, c.Us) }

// rate is n per ns.
func rate(n int64, us float64) float64 {
	if us <= 0 {
		return 0
	}
	return float64(n) / us / 1e3
}

// A Kernel is one step.
type Kernel struct {
	runtime.StepTime
	Cost
	Peak float64 // percent of the peak of its arithmetic; 0: unknown, or there is hardly any
	Read float64 // percent of the speed of memory, where moving the bytes takes longer than the arithmetic; else 0
}

// How says by which rule the kernel was scheduled, and why.
func (k Kernel) How() string {
	if k.Why == "" {
		return k.Rule
	}
	return k.Rule + ": " + k.Why
}

// A Group holds the kernels of one operator.
type Group struct {
	Operator string
	Kernels  int
	Cost
}

// New sums up what runtime.Module.Profile measured. The caller says when and on which CPU.
func New(title string, info *runtime.Info, threads int, p *runtime.Profile, peaks Peaks) *Run {
	r := &Run{
		Title: title, Model: info.Source.File, Lathe: info.Lathe, Target: info.Target.String, Threads: threads, Peaks: peaks,
		Median: us(p.Run()), FLOPs: info.FLOPs,
	}
	for _, d := range p.Runs {
		r.Whole = append(r.Whole, us(d))
	}
	groups := map[string]*Group{}
	for _, s := range p.Steps {
		k := Kernel{StepTime: s, Cost: Cost{Us: us(s.Median), FLOPs: s.FLOPs, Bytes: s.Bytes}}
		if peak := peaks.Of(s.Step); peak > 0 {
			k.Best = float64(s.FLOPs) / peak / 1e3
			if s.Multiply != "" {
				k.Peak = 100 * k.GFLOPS() / peak
			}
		}
		if peaks.Read > 0 {
			if moving := float64(s.Bytes) / peaks.Read / 1e3; moving > k.Best {
				k.Best, k.Read = moving, 100*k.GBs()/peaks.Read
			}
		}
		r.Kernels = append(r.Kernels, k)
		r.Sum.add(k.Cost)
		name := operator(s.Step)
		if groups[name] == nil {
			groups[name] = &Group{Operator: name}
		}
		groups[name].Kernels++
		groups[name].add(k.Cost)
	}
	for i := range r.Kernels {
		r.Kernels[i].Share = r.share(r.Kernels[i].Us)
	}
	for _, g := range groups {
		g.Share = r.share(g.Us)
		r.Groups = append(r.Groups, *g)
	}
	r.Sum.Share = r.share(r.Sum.Us)
	slices.SortStableFunc(r.Kernels, func(a, b Kernel) int { return cmp.Compare(b.Lost(), a.Lost()) })
	slices.SortFunc(r.Groups, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Us, a.Us), cmp.Compare(a.Operator, b.Operator)) })
	return r
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// apart is the factor between a whole run and the sum of its steps from which on the steps do not tell about the run.
const apart = 1.5

// Doubt says that the steps do not tell where the time of a run goes, or is empty.
func (r *Run) Doubt() string {
	switch sum := r.Sum.Us; {
	case sum <= 0 || r.Median <= 0: // nothing to compute, or too quick for the clock
		return ""
	case sum > apart*r.Median:
		return fmt.Sprintf("The steps took %.1f times a whole run when they were timed: other work on this machine slows them down. %s.", sum/r.Median, r.better())
	case r.Median > apart*sum:
		return fmt.Sprintf("A whole run took %.1f times the sum of its steps: other work on this machine slows it down. %s.", r.Median/sum, r.better())
	}
	return ""
}

// better says what helps against other work: workers that wait for each other suffer most from it.
func (r *Run) better() string {
	if r.Threads > 1 {
		return "Use --threads 1, or a quiet machine"
	}
	return "Use a quiet machine, or more runs (--repeat)"
}

// Measured reports whether there is something to compare with.
func (r *Run) Measured() bool { return r.Peaks.Float32 > 0 }

func (c *Cost) add(d Cost) {
	c.Us += d.Us
	c.FLOPs += d.FLOPs
	c.Bytes += d.Bytes
	c.Best += min(d.Best, d.Us) // a kernel quicker than from memory makes up for no other
}

func (r *Run) share(us float64) float64 {
	if r.Sum.Us <= 0 {
		return 0
	}
	return 100 * us / r.Sum.Us
}

// operator is what a step's kernels are grouped by.
func operator(s runtime.Step) string {
	if s.Anchor != "" {
		return s.Anchor
	}
	return strings.Join(s.Ops, " ")
}
