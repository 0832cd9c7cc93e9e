package main

import (
	"errors"
	"testing"
)

// TestUnmoved: a tuning counts that ends on the machine it began on, and other runs count that are as fast as those were.
func TestUnmoved(t *testing.T) {
	together, apart := []float64{2.3, 2.24, 2.25, 9}, []float64{3.2, 3.3, 3.25, 9}
	for _, c := range []struct {
		ends   [][]float64 // of tunings that begin with cores together
		tuned  int
		failed bool
	}{
		{[][]float64{together}, 1, false},
		{[][]float64{apart, apart, together, apart}, 3, false},
		{[][]float64{apart, apart, apart, apart, apart, apart, together}, mostMoved, true},
	} {
		n := 0
		same, err := unmoved(func() ([]float64, error) { return together, nil }, func() ([]float64, error) { n++; return c.ends[n-1], nil })
		if n != c.tuned || (err != nil) != c.failed {
			t.Errorf("tuned %d times, want %d: %v", n, c.tuned, err)
		}
		if err == nil && (!same(together) || same(apart)) {
			t.Error("runs of the other state count")
		}
	}
	bad := errors.New("no such file")
	if _, err := unmoved(func() ([]float64, error) { return together, nil }, func() ([]float64, error) { return nil, bad }); err != bad {
		t.Errorf("%v", err)
	}
}
