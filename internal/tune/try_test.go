package tune

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"lathe/internal/records"
)

// A pipeline is a machine that races some candidates while others are being built.
type pipeline struct {
	*machine
	mu      sync.Mutex
	beside  int      // batches that began while one was not done
	streams int      // that are not done
	raced   []string // by task and point
	mixed   bool     // a race had several tasks
}

func (p *pipeline) Order(tasks []int) []int {
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, func(a, b int) int { return b - a })
	return tasks
}

func (p *pipeline) Stream(ctx context.Context, list []Candidate) iter.Seq2[Built, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams++; p.streams > 1 {
		p.beside++
	}
	built, err := p.machine.Build(ctx, list)
	return func(yield func(Built, error) bool) {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.streams--
		}()
		for _, b := range built {
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func (p *pipeline) Race(ctx context.Context, list []Built, stop Stop) ([]Samples, error) {
	for _, b := range list {
		p.mixed = p.mixed || stop.Accept == 0 && b.Task != list[0].Task
		p.raced = append(p.raced, identity(b.Point)+string(rune('a'+b.Task)))
	}
	return p.machine.Race(ctx, list, stop)
}

// TestPipeline: candidates of a task race together while others are being built, the next batch begins beside the last race of one, and all trials are
// counted and none is tried twice; of one task alone nothing is proposed before what came before has raced.
func TestPipeline(t *testing.T) {
	for _, tasks := range []int{8, 1} {
		for _, stopping := range []int{100000, 0} {
			p, k := &pipeline{machine: newMachine(3, "spread")}, &kept{}
			o := options(k)
			o.Trials, o.SearchOnly, o.EarlyStopping = 160, true, stopping
			r, err := Run(t.Context(), simulated(tasks), p, p, o)
			if err != nil {
				t.Fatal(err)
			}
			list := k.stage(records.Search)
			if r.Trials > 160 || r.Trials != len(list) || stopping > 0 && tasks > 1 && r.Trials != 160 {
				t.Errorf("%d trials and %d records of 160", r.Trials, len(list))
			}
			slices.Sort(p.raced)
			if all := len(p.raced); p.mixed || len(slices.Compact(p.raced)) != all {
				t.Error("a race had candidates of two tasks, or one twice")
			}
			if began := p.beside > 0; began != (tasks > 1) {
				t.Errorf("%d tasks: %d batches began while one was not done", tasks, p.beside)
			}
			if p.streams != 0 {
				t.Error("what began to be built was left alone")
			}
		}
	}
}
