package explain

import (
	"math"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// An expectation is the roofline of a target: arithmetic at the peak and bytes at the bandwidth of the nearest memory that
// can hold them, whichever takes longer.
type expectation struct {
	core      target.Speed
	workers   int
	l2, l3    int
	constants int64 // bytes of all constants: what a run streams
}

func newExpectation(m *bundle.Manifest, t *target.Target, workers int) *expectation {
	e := &expectation{core: t.Speed(), workers: workers, l2: t.L2, l3: t.L3 * t.NumCores}
	e.constants = constants(m.Steps)
	return e
}

func constants(steps []bundle.Step) (bytes int64) {
	for _, s := range steps {
		bytes += s.Constants + constants(s.Body)
	}
	return bytes
}

// Expected is the least time in ms that the steps of a manifest take by the model of a target, without the meetings of
// workers between them.
func Expected(m *bundle.Manifest, t *target.Target, workers int) float64 {
	e, sum := newExpectation(m, t, workers), 0.0
	for _, s := range m.Steps {
		ms, _ := e.of(s)
		sum += ms
	}
	return sum
}

// of returns the time of a step in ms and what it comes from.
func (e *expectation) of(s bundle.Step) (ms float64, limit string) {
	if s.Trips > 0 {
		return e.ofLoop(s)
	}
	workers := e.workers
	if s.Workers > 0 {
		workers = min(workers, s.Workers)
	}
	n := float64(workers)
	peak := e.core.Float32
	switch s.Multiply {
	case "":
		peak /= 2 // one operation where a multiply-add is two
	case "int8", "uint8":
		if peak = e.core.Int8; s.Rule == "matrix" {
			peak = max(peak, e.core.Tiles)
		}
	case "float64", "int64":
		peak /= 2
	}
	compute := float64(s.FLOPs) / (peak * n)
	other := s.Bytes - s.Constants
	memory := float64(s.Constants)/(e.bandwidth(e.constants, workers)*n) + float64(other)/(e.bandwidth(other, workers)*n)
	limit = "compute"
	if memory > compute {
		limit = "memory"
	}
	return math.Max(compute, memory) / 1e6, limit
}

// ofLoop takes what iterations read for what they find in the nearest cache that holds it all.
func (e *expectation) ofLoop(s bundle.Step) (ms float64, limit string) {
	inside, longest := e.inside(s), 0.0
	for _, b := range s.Body {
		one, by := inside.of(b)
		if ms += one; one >= longest {
			longest, limit = one, by
		}
	}
	ms *= float64(s.Trips)
	if s.Parts > 0 {
		rounds := (s.Parts + e.workers - 1) / e.workers
		ms *= float64(rounds) / float64(s.Parts)
	}
	return ms, limit
}

// inside is e for one iteration of a loop.
func (e *expectation) inside(s bundle.Step) *expectation {
	in := *e
	in.constants = constants(s.Body)
	return &in
}

// bandwidth is what a core reads bytes with that come round again after as many.
func (e *expectation) bandwidth(bytes int64, workers int) float64 {
	switch {
	case bytes <= int64(e.l2*workers):
		return e.core.L2
	case bytes <= int64(e.l3):
		return e.core.L3
	}
	return e.core.Memory
}

// Each is the time in ms that one call of every kernel of a manifest takes at least by the model of a target, by name.
func Each(m *bundle.Manifest, t *target.Target, workers int) map[string]float64 {
	times := map[string]float64{}
	newExpectation(m, t, workers).each(m.Steps, times)
	return times
}

func (e *expectation) each(steps []bundle.Step, times map[string]float64) {
	for _, s := range steps {
		if s.Trips > 0 {
			e.inside(s).each(s.Body, times)
			continue
		}
		times[s.Name], _ = e.of(s)
	}
}
