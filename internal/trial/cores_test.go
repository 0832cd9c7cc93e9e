package trial

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lathe/internal/choice"
	"lathe/internal/tune"
)

// TestCores: beside a race one builder works, and none where there is one core; the others go on behind it.
func TestCores(t *testing.T) {
	for n, most := range map[int]int64{1: 0, 2: 1, 16: 1} {
		c := newCores(n)
		var building, racing, built atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 40 {
					c.build()
					// Another may have been at work when the race was asked for, which has not begun then.
					if k := building.Add(1); racing.Load() > 0 && k > most {
						t.Errorf("%d cores: %d builders beside a race", n, k)
					}
					time.Sleep(50 * time.Microsecond)
					building.Add(-1)
					built.Add(1)
					c.built()
				}
			})
		}
		for range 10 {
			c.race()
			racing.Store(1)
			time.Sleep(200 * time.Microsecond)
			racing.Store(0)
			c.raced()
		}
		wg.Wait()
		if built.Load() != 240 {
			t.Errorf("%d cores: %d candidates were built", n, built.Load())
		}
	}
}

// TestStream: candidates come in their order whoever builds them, races go on meanwhile, and what nobody waits for any more ends.
func TestStream(t *testing.T) {
	f := open(t)
	var list []tune.Candidate
	for i := range f.Kernels() {
		list = append(list, tune.Candidate{Task: i, Point: choice.Point{}}, tune.Candidate{Task: i, Point: choice.Point{"steps": "2"}})
	}
	order := f.Order([]int{1, 0})
	if !slices.Equal(order, []int{0, 1}) {
		t.Errorf("the network comes to its kernels in the order %v", order)
	}
	n := 0
	for b, err := range f.Stream(t.Context(), list) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Task != list[n].Task || len(b.Point) != len(list[n].Point) {
			t.Errorf("candidate %d is that of kernel %d", n, b.Task)
		}
		if n++; b.Object == "" {
			continue
		}
		if _, err := f.Race(t.Context(), []tune.Built{b}, rule); err != nil {
			t.Fatal(err)
		}
	}
	if n != len(list) {
		t.Errorf("%d of %d candidates", n, len(list))
	}
	for range f.Stream(t.Context(), list) {
		break
	}
}
