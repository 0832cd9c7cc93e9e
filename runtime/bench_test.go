package runtime

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

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

// TestOpenMapsWeights opens 100 MB of weights, of which none come into memory before a run reads them.
func TestOpenMapsWeights(t *testing.T) {
	path := writeFixture(t, large)
	before := mapped(t)
	m, err := Open(path, WithMappedWeights())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if grown := mapped(t) - before; grown > 20<<10 {
		t.Errorf("opening 100 MB brings %d KB of files into memory", grown)
	}
}

// TestWeightsAreShared: a clone reads the weights that Open brought into memory, and runs after the first module is closed.
func TestWeightsAreShared(t *testing.T) {
	m, err := Open(writeFixture(t, large))
	if err != nil {
		t.Fatal(err)
	}
	clone, err := m.Clone()
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Close()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	x := setFixture(t, clone, 1, 0)
	if err := clone.Run(); err != nil {
		t.Fatal(err)
	}
	checkFixture(t, clone, x)
}

// mapped is how much of mapped files this process has in memory, in KB.
func mapped(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "RssFile:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kb
		}
	}
	t.Fatal("/proc/self/status has no RssFile")
	return 0
}
