package tune

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"lathe/internal/choice"
)

// A GraphDecision is one on nodes of the network, before there are kernels, that equal nodes share: they decide alike.
type GraphDecision struct {
	choice.Decision
	Nodes  []string      // of the model; "" for all of the network
	Weight time.Duration // in a run, of the kernels that compute them
}

// OnAll lists a decision on all of a network, which the compiler takes otherwise when it is told so; none where there is nothing to tell.
func OnAll(name, own, other string, run time.Duration) []GraphDecision {
	if other == "" || other == own {
		return nil
	}
	return []GraphDecision{{Decision: choice.Decision{Name: name, Values: []choice.Value{{Text: own}, {Text: other}}}, Nodes: []string{""}, Weight: run}}
}

// A NetworkRacer races the network with points against the one without, as Measurer.Networks does.
type NetworkRacer interface {
	Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error)
}

// GraphOptions steer a search among decisions on the graph.
type GraphOptions struct {
	Host time.Duration // of a run as the compiler decides
	Most int           // networks that are tried
	Time time.Duration // of all, about; 0: any
	// Packing and Opening are as in Options.
	Packing, Opening time.Duration
	// Known are trials of an earlier run that was interrupted, which are not repeated; nil: none.
	Known func(c Candidate) (Estimate, bool)
	// Tried is told of each network that was tried and Judged of each verdict, on so many decisions. Both may be nil.
	Tried  func(t GraphTrial, done, planned int)
	Judged func(n int, v Verdict)
}

// A GraphTrial is a network with one decision taken otherwise.
type GraphTrial struct {
	Decision int // of the list
	Value    string
	Estimate       // of its time over that of the network as the compiler decides
	Err      error // why there is no time
	Known    bool  // by an earlier run
}

// A GraphResult is what is decided otherwise.
type GraphResult struct {
	Trials   []GraphTrial
	Judged   map[int]choice.Point // what the verdict is of, by decision; where it is not accepted, the last that was withdrawn
	Accepted bool
	Verdict  Verdict
}

// Steering of the search.
const (
	costError    = 0.15 // standard deviation of the logarithm of a cost's error against that of another value
	unknownRatio = 1.1  // of a value's time to that of the default, where neither has a cost
	graphOpens   = 2    // openings of a network that is tried
)

// Graph tries other values of decisions on the graph, each in a network of its own, those first of which most is expected. The best of each
// decision go into one network, which is judged as that of a tuning is.
func Graph(ctx context.Context, list []GraphDecision, m NetworkRacer, o GraphOptions) (GraphResult, error) {
	var r GraphResult
	now := time.Now()
	clock := clock{begun: now, started: now, limit: o.Time, host: o.Host, packing: o.Packing, opening: o.Opening}
	pairs := clock.pairs()
	proposals := graphProposals(list)
	proposals = proposals[:min(len(proposals), o.Most)]
	best := map[int]GraphTrial{}
	for i, c := range proposals {
		if i > 0 && clock.over(1) {
			break
		}
		t := GraphTrial{Decision: c.Task, Value: c.Point[list[c.Task].Name]}
		var tuned, host []float64
		var err error
		if o.Known != nil {
			t.Estimate, t.Known = o.Known(c)
		}
		if !t.Known {
			tuned, host, err = m.Networks(ctx, map[int]choice.Point{c.Task: c.Point}, graphOpens, pairs)
		}
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			t.Err = err
		default:
			if !t.Known {
				t.Estimate = Quiet(tuned, host)
			}
			if b, ok := best[c.Task]; t.Ratio < 1 && (!ok || t.Ratio < b.Ratio) {
				best[c.Task] = t
			}
		}
		r.Trials = append(r.Trials, t)
		if o.Tried != nil {
			o.Tried(t, i+1, len(proposals))
		}
	}
	var order []Candidate
	var gains []float64
	for _, t := range slices.SortedFunc(maps.Values(best), func(a, b GraphTrial) int { return cmp.Or(cmp.Compare(a.Ratio, b.Ratio), a.Decision-b.Decision) }) {
		order = append(order, Candidate{t.Decision, choice.Point{list[t.Decision].Name: t.Value}})
		gains = append(gains, 1-t.Ratio)
	}
	said, last := o.Judged, 0
	stay, verdict, err := withdraw(ctx, m, order, gains, pairs, clock.left, func(n int, v Verdict) {
		if last = n; said != nil {
			said(n, v)
		}
	})
	if err != nil {
		return r, err
	}
	r.Verdict, r.Accepted, r.Judged = verdict, stay > 0, map[int]choice.Point{}
	for _, c := range order[:last] {
		r.Judged[c.Task] = c.Point
	}
	return r, nil
}

// graphProposals are all other values, those first that are expected to gain most time in a run.
func graphProposals(list []GraphDecision) []Candidate {
	type proposal struct {
		Candidate
		gain float64
	}
	var all []proposal
	for i, d := range list {
		for k, v := range d.Values {
			ratio := unknownRatio
			if def := d.Values[d.Default].Cost; v.Cost > 0 && def > 0 {
				ratio = v.Cost / def
			}
			if gain := micro(d.Weight) * expectedGain(ratio); k != d.Default && gain > 0 {
				all = append(all, proposal{Candidate{i, choice.Point{d.Name: v.Text}}, gain})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b proposal) int { return cmp.Compare(b.gain, a.gain) })
	out := make([]Candidate, len(all))
	for i, p := range all {
		out[i] = p.Candidate
	}
	return out
}

// expectedGain is the expected improvement (Jones, Schonlau and Welch, Efficient Global Optimization, 1998) of a time of 1 by one that is
// log-normal around ratio with the deviation of costs.
func expectedGain(ratio float64) float64 {
	at := -math.Log(ratio) / costError
	return normal(at) - ratio*math.Exp(costError*costError/2)*normal(at-costError)
}

// normal is the distribution function of a standard normal variable.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
