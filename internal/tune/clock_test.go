package tune

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lathe/internal/choice"
)

// A slowMachine takes time for what it does.
type slowMachine struct {
	*machine
	build, packing, opening, run time.Duration
	openings                     int
}

func (m *slowMachine) Build(ctx context.Context, list []Candidate) ([]Built, error) {
	time.Sleep(m.build * time.Duration(len(list)))
	return m.machine.Build(ctx, list)
}

func (m *slowMachine) Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	if m.openings == 0 {
		time.Sleep(m.packing)
	}
	m.openings += opens
	time.Sleep(time.Duration(opens) * (m.opening + time.Duration(2*(beforePairs+pairs))*m.run))
	return m.machine.Networks(ctx, points, opens, pairs)
}

// TestTime: a tuning ends in the time that it was given, the verdict included, within a tenth, where the first look of the verdict fits at all:
// short and long networks, cheap and dear proofs.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		name             string
		limit, opened    time.Duration
		build, pair, run time.Duration
	}{
		{"a network of 30 ms", 30 * time.Second, 4 * time.Second, 20 * time.Millisecond, 2 * time.Millisecond, 30 * time.Millisecond},
		{"a network of 1 ms", 20 * time.Second, time.Second, 10 * time.Millisecond, 100 * time.Microsecond, time.Millisecond},
		{"proofs that run the whole network", 60 * time.Second, 4 * time.Second, 20 * time.Millisecond, 60 * time.Millisecond, 30 * time.Millisecond},
		{"more time than is needed", time.Hour, time.Second, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &slowMachine{machine: newMachine(3, "quiet"), build: c.build, run: c.run, packing: 3 * time.Second, opening: 300 * time.Millisecond}
			m.passed = func(pairs int) { time.Sleep(time.Duration(pairs) * c.pair) }
			o := options(&kept{})
			o.Tuner, o.Trials, o.EarlyStopping, o.Workers = "random", 2000, 100_000, 2
			o.Time, o.Begun, o.Packing, o.Opening, o.Host = c.limit, time.Now(), m.packing, m.opening, c.run
			time.Sleep(c.opened)
			r, err := Run(t.Context(), simulated(8), m, m, o)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(o.Begun)
			t.Logf("%s: %s of %s, %d trials, %d openings, stages %v", c.name, took, c.limit, r.Trials, m.openings, r.Stages)
			if took > c.limit+c.limit/10 {
				t.Errorf("%s: it took %s of %s", c.name, took, c.limit)
			}
			if m.openings < openings[0] || r.Trials < batch {
				t.Errorf("%s: %d trials and %d openings", c.name, r.Trials, m.openings)
			}
		})
	}
}

// TestGrant: where no time is given, proofs on a machine whose races tell nothing take no longer than their share of the search, and neither does the verdict behind
// its first look.
func TestGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slowMachine{machine: newMachine(3, "all"), build: 20 * time.Millisecond, run: 30 * time.Millisecond, packing: 3 * time.Second, opening: time.Second}
		o := options(&kept{})
		o.Tuner, o.Trials, o.EarlyStopping, o.Workers, o.Host = "random", 400, 100_000, 2, m.run
		pass := 10 * time.Millisecond
		m.passed = func(pairs int) { time.Sleep(time.Duration(pairs) * pass) }
		o.Progress = func(p Progress) {
			if p.Stage == Dividing || p.Stage == Proving {
				pass = time.Second
			}
		}
		r, err := Run(t.Context(), simulated(8), m, m, o)
		if err != nil {
			t.Fatal(err)
		}
		before := r.Stages[Noise] + r.Stages[Searching] + r.Stages[Dividing]
		most := max(leastProof, share(proofShare, before))
		t.Logf("%d trials, %d openings, stages %v", r.Trials, m.openings, r.Stages)
		if r.Stages[Proving] > most+someProofs*time.Duration(confirmPairs[0])*pass || r.Stages[Judging] > most+time.Duration(openings[0])*4*time.Second {
			t.Errorf("stages %v, of which proofs and the verdict may take %v each", r.Stages, most)
		}
	})
}
