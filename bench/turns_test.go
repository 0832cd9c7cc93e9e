package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// paced is a run of some time, which writes down when it was made.
type paced struct {
	name  byte
	takes time.Duration
	log   *[]byte
	fail  error
}

func (p paced) Run() error {
	*p.log = append(*p.log, p.name)
	for start := time.Now(); time.Since(start) < p.takes; {
	}
	return p.fail
}

// firsts is the sides in the order in which they begin.
func firsts(log []byte) string {
	var order []byte
	for i, name := range log {
		if i == 0 || name != log[i-1] {
			order = append(order, name)
		}
	}
	return string(order)
}

func TestTakeTurns(t *testing.T) {
	var log []byte
	const budget = 160 * time.Millisecond
	short, long := paced{'a', 20 * time.Microsecond, &log, nil}, paced{'b', 3 * time.Millisecond, &log, nil}
	x, y, err := takeTurns(short, long, budget, 1)
	if err != nil {
		t.Fatal(err)
	}
	if order := firsts(log); !strings.HasPrefix(order, "abab") {
		t.Errorf("sides in the order %s", order)
	}
	if x.batch < 2 || y.batch != 1 {
		t.Errorf("%d and %d runs in a sample", x.batch, y.batch)
	}
	for _, s := range []*sampler{x, y} {
		run := s.runner.(paced)
		if got := s.side(); got.Wall < milliseconds(run.takes) || got.Runs != s.batch*len(s.wall) || got.Runs == 0 {
			t.Errorf("a run of %v gave %+v", run.takes, got)
		}
	}
}

// TestSlowTurns has runs that are longer than the budget: each is made once to warm up and once to count.
func TestSlowTurns(t *testing.T) {
	var log []byte
	slow := func(name byte) paced { return paced{name, 20 * time.Millisecond, &log, nil} }
	x, y, err := takeTurns(slow('a'), slow('b'), 10*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(log) != "abab" || x.side().Runs != 1 || y.side().Runs != 1 {
		t.Errorf("runs %s, %d and %d counted", log, x.side().Runs, y.side().Runs)
	}
}

func TestFailingTurns(t *testing.T) {
	var log []byte
	bad := errors.New("no run")
	if _, _, err := takeTurns(paced{'a', 0, &log, nil}, paced{'b', 0, &log, bad}, time.Millisecond, 1); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
}
