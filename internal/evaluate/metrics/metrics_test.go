package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// three is a matrix that is computed by hand below; class 2 is never predicted, class 3 has no samples.
//
//	truth 0: 3 0 0 1
//	truth 1: 2 4 0 0
//	truth 2: 1 1 0 0
func three() *Confusion {
	c := NewConfusion(4)
	for _, x := range []struct{ truth, predicted, n int }{{0, 0, 3}, {0, 3, 1}, {1, 0, 2}, {1, 1, 4}, {2, 0, 1}, {2, 1, 1}} {
		for range x.n {
			c.Add(x.truth, x.predicted)
		}
	}
	return c
}

func TestConfusion(t *testing.T) {
	c := three()
	if c.Total() != 12 || c.Hits() != 7 || c.At(1, 0) != 2 {
		t.Errorf("%d of %d", c.Hits(), c.Total())
	}
	classes := c.PerClass()
	for i, want := range []Class{
		{Class: 0, Support: 4, Predicted: 6, Precision: 3.0 / 6, Recall: 3.0 / 4, F1: 2 * 3.0 / 10},
		{Class: 1, Support: 6, Predicted: 5, Precision: 4.0 / 5, Recall: 4.0 / 6, F1: 2 * 4.0 / 11},
		{Class: 2, Support: 2},
		{Class: 3, Predicted: 1},
	} {
		got := classes[i]
		if got.Support != want.Support || got.Predicted != want.Predicted {
			t.Errorf("class %d: %+v", i, got)
		}
		near(t, "precision", got.Precision, want.Precision)
		near(t, "recall", got.Recall, want.Recall)
		near(t, "F1", got.F1, want.F1)
	}
	m := Mean(classes)
	near(t, "mean precision", m.Precision, (0.5+0.8)/3)
	near(t, "mean recall", m.Recall, (0.75+2.0/3)/3)
	near(t, "mean F1", m.F1, (0.6+8.0/11)/3)
	near(t, "weighted precision", m.WeightedPrecision, (4*0.5+6*0.8)/12)
	near(t, "weighted F1", m.WeightedF1, (4*0.6+6*8.0/11)/12)
	near(t, "G-mean", m.GMean, 0)
	if !slices.Equal(m.Absent, []int{3}) {
		t.Errorf("absent %v", m.Absent)
	}
	near(t, "G-mean of two", Mean(classes[:2]).GMean, math.Sqrt(0.75*2.0/3))
}

// The lab's figures of the same matrix, with rows and columns exchanged as it has them.
func TestLab(t *testing.T) {
	c := NewConfusion(2)
	for _, x := range []struct{ truth, predicted, n int }{{0, 0, 3}, {0, 1, 1}, {1, 0, 2}, {1, 1, 4}} {
		for range x.n {
			c.Add(x.truth, x.predicted)
		}
	}
	l := c.LabOf(9)
	near(t, "accuracy", l.Accuracy, 0.7)
	near(t, "precision", l.Precision, (3.0/4+4.0/6)/2)
	near(t, "sensitivity", l.Sensitivity, (3.0/5+4.0/5)/2)
	near(t, "G-mean", l.GMean, math.Sqrt(3.0/5*4.0/5))
	near(t, "top 5", l.Top5, 9.0/20)
	if l := three().LabOf(12); !math.IsNaN(l.Precision) || !math.IsNaN(l.Sensitivity) {
		t.Errorf("with an absent class: %+v", l)
	}
}

// Wilson's interval for 81 of 263 is 0.2553 to 0.3662 (Newcombe, Two-sided confidence intervals, 1998, table I), for 0 of 20 0 to
// 0.1611.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {0, 0, 0, 1}} {
		i := Wilson(c.hits, c.n)
		if math.Abs(i.Low-c.low) > 5e-5 || math.Abs(i.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %+v", c.hits, c.n, i)
		}
	}
}

func TestRank(t *testing.T) {
	nan := float32(math.NaN())
	s := []float32{0.5, nan, 2, 2, -1}
	if Best(s) != 2 || !slices.Equal(Top(s, 9), []int{2, 3, 0, 4, 1}) || !slices.Equal(Top(s, 2), []int{2, 3}) {
		t.Errorf("best %d, top %v", Best(s), Top(s, 9))
	}
	for place, class := range Top(s, 9) {
		if r := Rank(s, class); r != place {
			t.Errorf("class %d has rank %d, want %d", class, r, place)
		}
	}
}

// AUC against its definition, all pairs; and by hand: of 3 x 2 pairs 4 are right and one is equal.
func TestAUC(t *testing.T) {
	near(t, "AUC", AUC([]float32{0.9, 0.4, 0.4, 0.6, 0.1}, []bool{true, true, false, true, false}), (5+0.5)/6)
	near(t, "one kind", AUC([]float32{1, 2}, []bool{true, true}), 0)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + r.IntN(30)
		scores, positive := make([]float32, n), make([]bool, n)
		for i := range n {
			scores[i], positive[i] = float32(r.IntN(8)), r.IntN(2) == 0
		}
		right, pairs := 0.0, 0.0
		for i := range n {
			for j := range n {
				if !positive[i] || positive[j] {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[j]:
					right++
				case scores[i] == scores[j]:
					right += 0.5
				}
			}
		}
		near(t, "AUC", AUC(scores, positive), ratio(right, pairs))
	}
}

// Of 10 samples that differ, 2 or fewer go one way in (1 + 10 + 45) / 1024 of all cases.
func TestMcNemar(t *testing.T) {
	near(t, "2 and 8", McNemar(2, 8), 2*56.0/1024)
	near(t, "8 and 2", McNemar(8, 2), 2*56.0/1024)
	near(t, "0 and 5", McNemar(0, 5), 2.0/32)
	near(t, "3 and 3", McNemar(3, 3), 1)
	near(t, "none", McNemar(0, 0), 1)
}

func TestSQNR(t *testing.T) {
	var e Energies
	e.Add([]float32{3, 4}, []float32{3, 3.5})
	near(t, "SQNR", e.SQNR(), 10*math.Log10(100))
	if s := (Energies{1, 0}).SQNR(); !math.IsInf(s, 1) {
		t.Errorf("no noise: %v", s)
	}
}

func TestTimes(t *testing.T) {
	s := Summarise([]float64{4, 1, 3, 2, 10})
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"mean", s.Mean, 4}, {"median", s.Median, 3}, {"min", s.Min, 1}, {"max", s.Max, 10}, {"std", s.Std, math.Sqrt((0 + 9 + 1 + 4 + 36) / 5.0)}, {"p90", s.P90, 4 + 0.6*6}, {"p99", s.P99, 4 + 0.96*6}} {
		near(t, c.name, c.got, c.want)
	}
	if one := Summarise([]float64{2}); one.Median != 2 || one.P99 != 2 || one.Std != 0 {
		t.Errorf("%+v", one)
	}
}
