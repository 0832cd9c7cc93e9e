package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestTuneReport: the table has two lines for a network, and what is surely slower, or another package without a reason, is told.
func TestTuneReport(t *testing.T) {
	same := func(v float64) []float64 { return []float64{v, v, v, v, v, v, v, v, v} }
	r := &tuneReport{CPU: "a CPU", CPUs: 2, Trials: 10, Limit: "1m0s", Busy: 0.5, Pairs: 9, Rows: []tuneRow{
		{Model: "good", Seed: 1, Accepted: 2, Untuned: []float64{4, 2, 6}, Tuned: []float64{1, 2, 3}, Ratios: []float64{2, 1.9, 2.1, 2, 2, 2, 2, 2, 1.8}},
		{Model: "same", Seed: 1, Same: true, Untuned: []float64{1}, Tuned: []float64{1}, Ratios: same(0.9)},
		{Model: "bad", Seed: 2, Accepted: 1, Untuned: []float64{1}, Tuned: []float64{2}, Ratios: same(0.5)},
		{Model: "odd", Seed: 2, Untuned: []float64{1}, Tuned: []float64{1}, Ratios: same(1)},
	}}
	for i, want := range [][2]bool{{false, false}, {false, false}, {true, false}, {false, true}} {
		if got := [2]bool{r.Rows[i].Slower(), r.Rows[i].Broken()}; got != want {
			t.Errorf("%s: slower, broken are %v, want %v", r.Rows[i].Model, got, want)
		}
	}
	var text, page bytes.Buffer
	r.markdown(&text)
	for _, line := range []string{"| good | 4.00 | 4.00 | 6.00 | 2.00 | 1.63 |", "| good - OPTIMIZED | 2.00 | 2.00 | 3.00 | 1.00 | 0.82 |", "| good | 1 | 2.000 (1.900-2.000) | 2 |", "| same | 1 | 0.900 (0.900-0.900) | none: the same package, byte for byte |", "At most 10 trials and about 1m0s of each tuning; meanwhile a load took 50 % of a processor."} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the table lacks %q:\n%s", line, &text)
		}
	}
	if err := tuneTemplate.Write(&page, "x", r); err != nil || !strings.Contains(page.String(), "good - OPTIMIZED") {
		t.Errorf("page: %v", err)
	}
	folder := t.TempDir()
	if err := r.write(folder); err != nil {
		t.Error(err)
	}
	if err := r.tell(folder); err == nil || !strings.Contains(err.Error(), "bad, seed 2") {
		t.Errorf("a slower package: %v", err)
	}
}
