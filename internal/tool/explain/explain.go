// Package explain tells what the compiler chose for each kernel of a package and what a model of the target expects of it.
// It reads the manifest alone, so that a package is explained long after it was compiled, and depends on nothing
// measured: the same package gives the same text everywhere.
package explain

import (
	"cmp"
	"fmt"
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// A Report explains one package.
type Report struct {
	Model   string       `json:"model"`
	Target  string       `json:"target"`
	Workers int          `json:"workers"` // that the times are for
	Core    target.Speed `json:"core"`    // what one core is expected to do, per ns
	Kernels []Kernel     `json:"kernels"`
	Rules   []Total      `json:"rules"` // the slowest first
	Sum     Total        `json:"sum"`
	FLOPs   int64        `json:"model_flops"` // of the model as it was given; algorithms may need fewer
}

// A Kernel is one step of the package.
type Kernel struct {
	Index int `json:"index"`
	bundle.Step
	Ms    float64 `json:"expected_ms"`
	Limit string  `json:"limit"` // what the time comes from: compute or memory
	// Inside are the steps of one iteration of a loop, in place of the step's Body.
	Inside []Kernel `json:"body,omitempty"`
}

// A Total sums up kernels.
type Total struct {
	Rule    string  `json:"rule,omitempty"`
	Kernels int     `json:"kernels"`
	FLOPs   int64   `json:"flops"`
	Bytes   int64   `json:"bytes"`
	Ms      float64 `json:"expected_ms"`
}

func (t *Total) add(k Kernel) {
	t.Kernels++
	t.FLOPs += k.FLOPs
	t.Bytes += k.Bytes
	t.Ms += k.Ms
}

// Explain reads a manifest. Times are for the given number of workers, 0 for the target's cores.
func Explain(m *bundle.Manifest, workers int) (*Report, error) {
	spec, err := target.Parse(m.Target.String)
	if err != nil {
		return nil, err
	}
	t, err := spec.Resolve(func() (target.Host, error) {
		return target.Host{}, fmt.Errorf("the package was compiled for %q, which leaves the machine open", m.Target.String)
	})
	if err != nil {
		return nil, err
	}
	if workers == 0 {
		workers = t.NumCores
	}
	if m.MaxWorkers > 0 {
		workers = min(workers, m.MaxWorkers)
	}
	e := newExpectation(m, t, workers)
	r := &Report{Model: m.Source.File, Target: m.Target.String, Workers: workers, Core: e.core, FLOPs: m.FLOPs}
	rules := map[string]*Total{}
	for i, s := range m.Steps {
		k := e.kernel(i, s)
		r.Kernels = append(r.Kernels, k)
		r.Sum.add(k)
		if rules[s.Rule] == nil {
			rules[s.Rule] = &Total{Rule: s.Rule}
		}
		rules[s.Rule].add(k)
	}
	for _, t := range rules {
		r.Rules = append(r.Rules, *t)
	}
	slices.SortFunc(r.Rules, func(a, b Total) int { return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(a.Rule, b.Rule)) })
	return r, nil
}

// kernel is what is expected of step i, and of those in it.
func (e *expectation) kernel(i int, s bundle.Step) Kernel {
	k := Kernel{Index: i, Step: s}
	k.Ms, k.Limit = e.of(s)
	inside := e.inside(s)
	for i, b := range s.Body {
		k.Inside = append(k.Inside, inside.kernel(i, b))
	}
	return k
}
