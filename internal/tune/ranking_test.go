package tune

import (
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"lathe/internal/records"
	"lathe/internal/testkit/golden"
)

// convolutions are trials of nine convolutions on a Xeon, by kernel in their order.
func convolutions(t *testing.T) (order []string, by map[string][]records.Record) {
	t.Helper()
	f, err := os.Open("testdata/convolutions.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	c, err := records.Read(z)
	if err != nil {
		t.Fatal(err)
	}
	by = map[string][]records.Record{}
	for _, r := range c.Records {
		if by[r.Kernel] == nil {
			order = append(order, r.Kernel)
		}
		by[r.Kernel] = append(by[r.Kernel], r)
	}
	return order, by
}

// ranking is the share of pairs of trials that differ by 5 % or more and are put in the right order.
func ranking(m *model, trials []records.Record) float64 {
	y := make([]float64, len(trials))
	for i, r := range trials {
		y[i] = m.predict(m.words.features(m.words.work(r.Work), r.Rule, r.Built))
	}
	right, all := 0.0, 0.0
	for i, a := range trials {
		for j, b := range trials[:i] {
			if math.Abs(math.Log(a.Ratio/b.Ratio)) < 0.05 {
				continue
			}
			all++
			if (y[i] < y[j]) == (a.Ratio < b.Ratio) {
				right++
			}
		}
	}
	return right / max(1, all)
}

// TestRanking: a model of eight convolutions ranks the trials of the ninth, as it always has.
func TestRanking(t *testing.T) {
	order, by := convolutions(t)
	if len(order) != 9 {
		t.Fatalf("%d kernels", len(order))
	}
	var text strings.Builder
	sum := 0.0
	for i, held := range order {
		var others []records.Record
		for _, k := range order {
			if k != held {
				others = append(others, by[k]...)
			}
		}
		p, err := TrainPrior(others)
		if err != nil {
			t.Fatal(err)
		}
		share := ranking(newModel(p), by[held])
		sum += share / 9
		fmt.Fprintf(&text, "%d: %.0f %% of pairs in order\n", i, 100*share)
	}
	if sum < 0.7 {
		t.Errorf("%.0f %% of pairs are in order", 100*sum)
	}
	golden.Check(t, "ranking", []byte(text.String()))
}

// TestRefit: fitting the trials of a long run takes a moment.
func TestRefit(t *testing.T) {
	_, by := convolutions(t)
	m := newModel(embedded())
	var list []example
	for len(list) < 1000 {
		for _, trials := range by {
			for _, r := range trials {
				if e, ok := m.words.example(r); ok {
					list = append(list, e)
				}
			}
		}
	}
	least := time.Hour
	for range 5 {
		from := time.Now()
		fit(list[:1000], m.prior, refit)
		least = min(least, time.Since(from))
	}
	t.Logf("%v for 1000 trials", least)
	if limit := 5 * time.Second; least > limit { // as long as a hundred times what a quiet machine takes
		t.Errorf("a refit takes %v", least)
	}
}
