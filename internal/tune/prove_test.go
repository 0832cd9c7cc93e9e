package tune

import (
	"testing"
	"time"

	"lathe/internal/choice"
)

// TestByPromise: what the network gains most of comes first, whichever of a task's few or many trials it is, or its division.
func TestByPromise(t *testing.T) {
	trial := func(task int, tile string, ratio float64) *Trial {
		return &Trial{Built: Built{Candidate: Candidate{Task: task, Point: choice.Point{"tile": tile}}}, Estimate: Estimate{Ratio: ratio}}
	}
	of := func(task int, weight time.Duration, best ...*Trial) *search {
		return &search{Task: &Task{Index: task, Time: weight, Calls: 1}, best: best}
	}
	one := of(0, 10*time.Microsecond, trial(0, "a", 0.9))
	many := of(1, 20*time.Microsecond, trial(1, "b", 0.7), trial(1, "c", 0.9), trial(1, "d", 0.9))
	divided := of(2, 100*time.Microsecond)
	divided.division = trial(2, "e", 0.8)
	r := &run{tasks: []*search{one, many, divided}}
	list := []Candidate{one.best[0].Candidate, many.best[1].Candidate, many.best[0].Candidate, divided.division.Candidate}
	r.byPromise(list)
	var got string
	for _, c := range list {
		got += c.Point["tile"]
	}
	if got != "ebca" {
		t.Errorf("order %s, want ebca", got)
	}
	if len(many.best) != 3 || identity(many.best[2].Point) != identity(trial(1, "d", 0).Point) {
		t.Errorf("what was found is not what it was: %v", many.best)
	}
}
