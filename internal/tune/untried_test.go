package tune

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// TestUntried: of a kernel with many decisions each is changed by itself within 60 trials, also those of which the model expects no gain, and the
// one that gains is found.
func TestUntried(t *testing.T) {
	const decisions = 14
	var asked []choice.Decision
	taken := choice.Point{}
	for i := range decisions {
		d := choice.Decision{Name: fmt.Sprintf("d%02d", i)}
		for v := range 4 {
			d.Values = append(d.Values, choice.Value{Text: fmt.Sprint(v)})
		}
		asked = append(asked, d)
		taken[d.Name] = "0"
	}
	// slow is a model of trials of other kernels: whatever changes the decision takes twice as long.
	slow := func(name string) *Prior {
		var list []records.Record
		r := rand.New(rand.NewPCG(3, 4))
		for range 400 {
			built := maps.Clone(taken)
			ratio := 1 + 0.01*r.Float64()
			for d := range built {
				if r.IntN(3) == 0 {
					if built[d] = fmt.Sprint(r.IntN(4)); d == name && built[d] != "0" {
						ratio *= 2
					}
				}
			}
			list = append(list, records.Record{
				Stage: records.Search, Ratio: ratio, Low: ratio, High: ratio, Work: &records.Work{FLOPs: 1e6, Time: 10, Lanes: 8},
				Built: &records.Built{Taken: built, Cost: 1}, Rule: &records.Built{Taken: taken, Cost: 1},
			})
		}
		p, err := TrainPrior(list)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, gains := range []string{"d03", "d12", "d13"} {
		g := guide{Rand: rand.New(rand.NewPCG(1, 0)), model: newModel(slow(gains))}
		s := &search{Task: &Task{FLOPs: 1e6}, lanes: 8, seen: map[string]bool{identity(nil): true}, asks: func(string) bool { return true }}
		s.root = &Built{Candidate: Candidate{0, choice.Point{}}, Taken: taken, Asked: asked}
		for len(s.trials) < 60 {
			for _, p := range ranked(s, 4, &g) {
				b := Built{Candidate: Candidate{0, p}, Taken: union(taken, p), Asked: asked}
				ratio := 1.0
				if b.Taken[gains] != "0" {
					ratio = 0.9
				}
				s.add(&Trial{Built: b, Estimate: Estimate{ratio, ratio, ratio, 9}})
			}
			g.model.learn([]*search{s})
		}
		for _, d := range asked {
			alone := false
			for i, a := range s.trials {
				for _, b := range append(s.trials[:i:i], &Trial{Built: *s.root}) {
					p, q := maps.Clone(a.Taken), maps.Clone(b.Taken)
					p[d.Name], q[d.Name] = "", ""
					alone = alone || a.Taken[d.Name] != b.Taken[d.Name] && maps.Equal(p, q)
				}
			}
			if !alone {
				t.Errorf("%s gains, and is expected to lose: no trial tells of %s", gains, d.Name)
			}
		}
		if s.ratio() != 0.9 {
			t.Errorf("%s gains, and is expected to lose: it is not found", gains)
		}
	}
}
