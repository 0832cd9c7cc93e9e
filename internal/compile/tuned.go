package compile

import (
	"fmt"
	"maps"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/records"
)

// Tuned are records of tuning by which kernels are compiled, where there are some, and what came of them.
type Tuned struct {
	Book    *records.Book // nil: none
	Network string        // digest by which its records know the network
}

// A TunedReport says how much of a network records decided.
type TunedReport struct {
	Kernels int      // that could have records: those of regions have none
	Taken   int      // of them, those compiled by a record
	Others  int      // of these, those whose record is of another network's verdict
	Unfit   []string // records that no longer fit, each as a line; the rules decide then
}

// find gives kernels the points of their records: those outside of regions, for whose kernels nothing is tuned.
func (t *Tuned) find(j *job, p *program) {
	if t.Book == nil {
		return
	}
	for _, s := range p.steps {
		if s.bodies != nil || j.Choices[s.name] != nil {
			continue
		}
		r, ok := t.Book.Best(recordKey(s.kernel, j.Target), t.Network)
		if !ok {
			continue
		}
		if s.record = r.Point; r.Built != nil && len(r.Built.Taken) > 0 {
			s.record = r.Built.Taken // relief has no part in it
		}
		s.foreign = r.Network != t.Network
	}
}

// point are the decisions that are given for k, by hand or by a record.
func (j *job) point(k *kernel) choice.Point {
	if p := j.Choices[k.name]; p != nil {
		return p
	}
	return k.record
}

// drop leaves k, whose record does not fit, to the rules.
func (k *kernel) drop(why error) {
	k.unfit = fmt.Sprintf("kernel %s: %v", k.name, why)
	k.record = nil
}

// fitsRecord refuses a record of k by which p decided otherwise than it says.
func (k *kernel) fitsRecord(p *impl.Plan) error {
	for _, name := range slices.Sorted(maps.Keys(k.record)) {
		if p.Taken[name] != k.record[name] {
			return fmt.Errorf("decision %s has no value %q here", name, k.record[name])
		}
	}
	return nil
}

// report sums up what became of the records of p's kernels.
func (t *Tuned) report(p *program) *TunedReport {
	if t.Book == nil {
		return nil
	}
	r := &TunedReport{}
	for _, s := range p.steps {
		if s.bodies != nil {
			continue
		}
		r.Kernels++
		if s.unfit != "" {
			r.Unfit = append(r.Unfit, s.unfit)
		}
		if s.record != nil {
			r.Taken++
			if s.foreign {
				r.Others++
			}
		}
	}
	return r
}
