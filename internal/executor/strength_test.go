package executor

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestStrength: whatever number of workers takes the least time comes to be the one that runs are made by, though times vary, and also
// where another one becomes the fastest later. Where all are the fastest few runs are made by others.
func TestStrength(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 4, 6, 16} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(workers)))
			s := newStrength(workers)
			for change := range 3 {
				best := bestOf(r, workers)
				var others, wrong int
				const runs = 6000
				for run := range runs {
					n := s.next()
					took := time.Millisecond * time.Duration(100*max(best, n)/min(best, n)) / 100
					took += took * time.Duration(r.IntN(10)) / 100
					if r.IntN(50) == 0 { // another program had the CPU
						took += time.Duration(r.IntN(4)) * time.Millisecond
					}
					if n != best {
						if others++; run > runs-1000 {
							wrong++
						}
					}
					s.ran(took)
				}
				if wrong > 20 {
					t.Errorf("seed %d, %d workers, change %d: %d of the last 1000 runs were made by others than the fastest, which are %d", seed, workers, change, wrong, best)
				}
				if change == 0 && best == workers && others > runs/200 {
					t.Errorf("seed %d, %d workers: %d of %d runs were made by fewer, which are slower", seed, workers, others, runs)
				}
			}
		}
	}
}

// bestOf is a number of workers that halving finds.
func bestOf(r *rand.Rand, workers int) int {
	for workers > 1 && r.IntN(2) == 0 {
		workers /= 2
	}
	return workers
}

// TestLongerRuns: runs by few workers that have come to be long are made by more again, where that is faster.
func TestLongerRuns(t *testing.T) {
	s := newStrength(4)
	for range 2000 { // one is the fastest
		s.ran(time.Duration(s.next()) * time.Millisecond)
	}
	for range 4000 {
		s.ran(4 * longestRun / time.Duration(s.next()))
	}
	if n := s.next(); n != 4 {
		t.Errorf("%d workers make runs of %v that 4 make in a fourth of it", n, 4*longestRun)
	}
}

// TestWholeCrew: all workers take part in some of many runs, however few are the fastest.
func TestWholeCrew(t *testing.T) {
	s := newStrength(8)
	whole := 0
	for run := range 2 * wholeCrew {
		n := s.next()
		if run >= wholeCrew/2 && n == 8 {
			whole++
		}
		s.ran(time.Duration(n) * time.Millisecond)
	}
	if whole != 2 {
		t.Errorf("all workers took part in %d of %d runs", whole, 2*wholeCrew)
	}
}

// TestLongRuns: whose runs are long meets no trial.
func TestLongRuns(t *testing.T) {
	s := newStrength(4)
	for run := range 2000 {
		if n := s.next(); n != 4 {
			t.Fatalf("%d workers make run %d of %v", n, run, 2*longestRun)
		}
		s.ran(2 * longestRun)
	}
}
