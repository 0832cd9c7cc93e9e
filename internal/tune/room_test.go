package tune

import (
	"testing"
	"time"
)

// TestUnderrated: where kernels are faster than their rooflines, all have room as by rooflines that they keep; a short one that is does not count.
func TestUnderrated(t *testing.T) {
	right := []Task{
		{Time: 100 * time.Microsecond, Peak: 80 * time.Microsecond, Calls: 4}, {Time: 200 * time.Microsecond, Peak: 120 * time.Microsecond, Calls: 2},
		{Time: 5 * time.Microsecond, Peak: 20 * time.Microsecond, Calls: 1}, {Time: 50 * time.Microsecond, Calls: 1},
	}
	if f := underrated(right); f != 1 {
		t.Errorf("rooflines that hold are too low by %v", f)
	}
	wrong := append([]Task(nil), right...)
	for i := range wrong {
		wrong[i].Peak *= 2
	}
	f := underrated(wrong)
	if f < 1.5 || f > 1.7 {
		t.Errorf("rooflines of half the rate, one of which a kernel beats by 1.6, are too low by %v", f)
	}
	a, b := &search{Task: &right[1], tooLow: 1}, &search{Task: &wrong[1], tooLow: f}
	if a.room() < 0.39 || b.room() < 0.2 || (&search{Task: &wrong[1], tooLow: 1}).room() > leastRoom {
		t.Errorf("rooms are %v and %v", a.room(), b.room())
	}
}
