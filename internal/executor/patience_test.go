package executor

import (
	"testing"
	"time"
)

// TestPauses: patience is counted in pauses of this CPU, of which a longer time has more.
func TestPauses(t *testing.T) {
	short, long := pausesOf(idlePatience), pausesOf(stepPatience)
	if short == 0 || long < short*uint32(stepPatience/idlePatience) {
		t.Errorf("%d pauses in %v and %d in %v", short, idlePatience, long, stepPatience)
	}
	if p := pause(); p < 1 || p > float64(time.Millisecond) {
		t.Errorf("a pause of %g ns", p)
	}
}
