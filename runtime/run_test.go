package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lathe/internal/bundle"
)

// wantError checks that err mentions all parts, in one line.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", parts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not mention %q", err, p)
		}
	}
}

func TestRun(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			m := openFixture(t, WithWorkers(workers))
			if m.Workers() != workers {
				t.Fatalf("%d workers, want %d", m.Workers(), workers)
			}
			for seed := range 5 {
				x := setFixture(t, m, seed, 0)
				if err := m.Run(); err != nil {
					t.Fatal(err)
				}
				checkFixture(t, m, x)
			}
		})
	}
}

// TestSleepingWorkers lets the workers fall asleep between runs.
func TestSleepingWorkers(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	for seed := range 20 {
		x := setFixture(t, m, seed, 0)
		if err := m.RunSteps(0, 3); err != nil {
			t.Fatal(err)
		}
		checkFixture(t, m, x)
		time.Sleep(time.Millisecond)
	}
}

func TestFault(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	setFixture(t, m, 0, 42)
	wantError(t, m.Run(), "status 42")
	x := setFixture(t, m, 0, 0)
	if err := m.Run(); err != nil {
		t.Fatalf("a fault stays after the run: %v", err)
	}
	checkFixture(t, m, x)
}

func TestRunSteps(t *testing.T) {
	m := openFixture(t)
	x := setFixture(t, m, 3, 0)
	for i := range m.Info().Steps {
		if err := m.RunSteps(i, i+1); err != nil {
			t.Fatal(err)
		}
	}
	checkFixture(t, m, x)
	for _, r := range [][2]int{{-1, 1}, {2, 1}, {0, 5}} {
		wantError(t, m.RunSteps(r[0], r[1]), "model with 4")
	}
}

func TestProfile(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	if _, err := m.Profile(3); err == nil {
		t.Error("a profile without inputs gives no error")
	}
	x := setFixture(t, m, 1, 0)
	p, err := m.Profile(3)
	if err != nil {
		t.Fatal(err)
	}
	times := p.Steps
	if len(p.Runs) != 3 || p.Run() <= 0 || p.Sum() <= 0 {
		t.Errorf("runs %v, sum %v", p.Runs, p.Sum())
	}
	if len(times) != 4 || times[0].Name != "scale" || times[0].FLOPs != fixtureN || !slices.Equal(times[0].Nodes, []string{"mul"}) {
		t.Errorf("profile: %+v", times)
	}
	for i, s := range times {
		if s.Index != i || s.Min <= 0 || s.Median < s.Min {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if times[3].Median < times[0].Median {
		t.Errorf("2000 barriers take %v, 1024 multiplications %v", times[3].Median, times[0].Median)
	}
	checkFixture(t, m, x)
	_, err = m.Profile(0)
	wantError(t, err, "0 runs")
}

// TestProfileTakesTurns: a first run, then whole ones and ones by step in turns; and an error ends a profile.
func TestProfileTakesTurns(t *testing.T) {
	order, failing := "", errors.New("it fails")
	whole := func() error { order += "w"; return nil }
	byStep := func(lap func(int)) error {
		order += "s"
		for step := range 3 {
			lap(step - 1)
		}
		if len(order) > 7 {
			return failing
		}
		return nil
	}
	if p, err := profile(make([]Step, 2), 3, whole, byStep); err != nil || order != "wwswsws" || len(p.Runs) != 3 || len(p.Steps) != 2 {
		t.Errorf("%s: %+v, %v", order, p, err)
	}
	if _, err := profile(make([]Step, 2), 3, whole, byStep); !errors.Is(err, failing) || order != "wwswswswws" {
		t.Errorf("%s: %v", order, err)
	}
}

func TestMedian(t *testing.T) {
	if m := median([]time.Duration{9, 1, 5}); m != 5 {
		t.Errorf("median of three is %d", m)
	}
	if m := median([]time.Duration{4, 1, 9, 2}); m != 3 {
		t.Errorf("median of four is %d", m)
	}
}

func TestBusy(t *testing.T) {
	m := openFixture(t)
	setFixture(t, m, 0, 0)
	if err := m.enter(); err != nil {
		t.Fatal(err)
	}
	_, errOutput := m.Output(0)
	_, errProfile := m.Profile(1)
	_, errClone := m.Clone()
	for name, err := range map[string]error{
		"Run": m.Run(), "SetInput": m.SetInputIndex(0, fixtureX()), "BindInput": m.BindInput("x", fixtureX().Data),
		"Output": errOutput, "Profile": errProfile, "Clone": errClone, "Close": m.Close(),
	} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s of a running module: %v", name, err)
		}
	}
	m.leave()
	if err := m.Run(); err != nil {
		t.Error(err)
	}
}

func fixtureX() Tensor { return Tensor{"float32", []int{1, fixtureN}, make([]byte, 4*fixtureN)} }

// TestConcurrentRuns runs one module from several goroutines: each run is right or refused.
func TestConcurrentRuns(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	x := setFixture(t, m, 7, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := m.RunSteps(0, 3); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := m.RunSteps(0, 3); err != nil {
		t.Fatal(err)
	}
	checkFixture(t, m, x)
}

// TestClones runs clones at the same time, also after the original is closed.
func TestClones(t *testing.T) {
	m, err := Open(writeFixture(t, nil), WithWorkers(2))
	if err != nil {
		t.Fatal(err)
	}
	clones := make([]*Module, 3)
	for i := range clones {
		if clones[i], err = m.Clone(); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, c := range clones {
		wg.Go(func() {
			defer c.Close()
			for seed := range 10 {
				x := setFixture(t, c, 10*i+seed, 0)
				if err := c.RunSteps(0, 3); err != nil {
					t.Error(err)
				}
				checkFixture(t, c, x)
			}
		})
	}
	wg.Wait()
}

// TestTwoLibraries opens packages with different code: the dynamic linker must not take one for the other, at the same
// time or in the place of one that was closed.
func TestTwoLibraries(t *testing.T) {
	_, seven := fixtureLibraries(t)
	path := writeFixture(t, nil)
	other := writeFixture(t, func(c *bundle.Contents) { c.Library = seven })
	for range 3 {
		a, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Open(other)
		if err != nil {
			t.Fatal(err)
		}
		for m, extra := range map[*Module]float32{a: 0, b: 7} {
			x := setFixture(t, m, 5, 0)
			if err := m.Run(); err != nil {
				t.Fatal(err)
			}
			checkFixturePlus(t, m, x, extra)
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
