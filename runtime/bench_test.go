package runtime

import (
	"fmt"
	"testing"
	"time"

	"lathe/internal/bundle"
)

// BenchmarkStep is what a call costs beyond the work: one small step on a number of workers that never sleep.
func BenchmarkStep(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			m := openFixture(b, WithWorkers(workers))
			setFixture(b, m, 0, 0)
			for b.Loop() {
				if err := m.RunSteps(0, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBarrier is a run with 2000 barriers.
func BenchmarkBarrier(b *testing.B) {
	m := openFixture(b, WithWorkers(2))
	setFixture(b, m, 0, 0)
	for b.Loop() {
		if err := m.RunSteps(3, 4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/barrier")
}

// large gives the package 100 MB of weights in 200 parameters.
func large(c *bundle.Contents) {
	data := make([]byte, 1<<19)
	for i := range 200 {
		c.Params = append(c.Params, bundle.Param{Name: fmt.Sprint("weight", i), DType: "uint8", Shape: []int{len(data)}, Data: data})
	}
}

func BenchmarkOpen(b *testing.B) {
	path := writeFixture(b, large)
	for b.Loop() {
		m, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}

// TestOpenMapsWeights opens 100 MB in a time in which they cannot have been read. The best of some attempts counts: the
// machine may be busy with other tests.
func TestOpenMapsWeights(t *testing.T) {
	path := writeFixture(t, large)
	best := time.Hour
	for range 10 {
		start := time.Now()
		m, err := Open(path)
		best = min(best, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	if best > 5*time.Millisecond {
		t.Errorf("opening 100 MB takes %v", best)
	}
}
