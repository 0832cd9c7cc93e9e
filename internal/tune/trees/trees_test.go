package trees

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// examples are of a function of five features, of which the last is noise and the fourth often lacks.
func examples(n int, seed uint64) (x [][]float64, y, w []float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		row := []float64{float64(r.IntN(8)), r.Float64(), math.Exp2(float64(r.IntN(6))), r.Float64(), r.NormFloat64()}
		v := 0.1*row[0] + math.Sin(6*row[1]) + 0.2*math.Log2(row[2])*row[1] + row[3]
		if r.IntN(3) == 0 {
			v += 0.5 - row[3]
			row[3] = math.NaN()
		}
		x, y, w = append(x, row), append(y, v+0.05*r.NormFloat64()), append(w, float64(1+r.IntN(2)))
	}
	return x, y, w
}

// left is the share of the variance that a model does not explain.
func left(m *Model, x [][]float64, y []float64) float64 {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	var rest, all float64
	for i, row := range x {
		rest += math.Pow(y[i]-m.Predict(row), 2)
		all += math.Pow(y[i]-mean, 2)
	}
	return rest / all
}

func TestFit(t *testing.T) {
	x, y, w := examples(1000, 1)
	m := Fit(x, y, w, Options{})
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	fresh, truth, _ := examples(1000, 2)
	if rest := left(m, fresh, truth); rest > 0.05 {
		t.Errorf("%.1f %% of the variance of fresh examples is left", 100*rest)
	}
	if again := Fit(x, y, w, Options{}); !reflect.DeepEqual(m, again) {
		t.Error("equal examples give other trees")
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var read Model
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(&read, m) {
		t.Errorf("a model changes on its way through JSON (%v)", err)
	}
}

// TestWeights: an example with weight 3 counts as three. There are so few that every value has a bin.
func TestWeights(t *testing.T) {
	x, y, w := examples(bins-2, 3)
	var tx [][]float64
	var ty, tw []float64
	for i := range x {
		w[i] = float64(1 + i%3)
		for range 1 + i%3 {
			tx, ty, tw = append(tx, x[i]), append(ty, y[i]), append(tw, 1)
		}
	}
	a, b := Fit(x, y, w, Options{Rounds: 3}), Fit(tx, ty, tw, Options{Rounds: 3})
	for _, row := range x {
		if p, q := a.Predict(row), b.Predict(row); math.Abs(p-q) > 1e-9 {
			t.Fatalf("%g and %g", p, q)
		}
	}
}

func TestFew(t *testing.T) {
	for n := range 4 {
		x, y, w := examples(n, 4)
		if m := Fit(x, y, w, Options{}); math.IsNaN(m.Predict([]float64{1})) || m.Check() != nil {
			t.Errorf("%d examples give a bad model", n)
		}
	}
	// Only whether it is there tells.
	var x [][]float64
	var y, w []float64
	for i := range 20 {
		x, y, w = append(x, []float64{math.NaN()}), append(y, -1), append(w, 1)
		if i%2 == 1 {
			x[i], y[i] = []float64{7}, 1
		}
	}
	m := Fit(x, y, w, Options{})
	if there, lacks := m.Predict([]float64{3}), m.Predict(nil); there < 0.9 || lacks > -0.9 {
		t.Errorf("there %g, lacking %g", there, lacks)
	}
}

func TestCheck(t *testing.T) {
	x, y, w := examples(50, 5)
	for i, damage := range []func(m *Model){
		func(m *Model) { m.Features = 2; m.Trees[0].Feature[0] = 2 }, func(m *Model) { m.Trees[1].Feature[3] = -2 },
		func(m *Model) { m.Trees[1].Threshold[3] = math.NaN() }, func(m *Model) { m.Trees[2].Value[0] = math.Inf(1) }, func(m *Model) { m.Features = -1 },
	} {
		m := Fit(x, y, w, Options{Rounds: 3})
		if damage(m); m.Check() == nil {
			t.Errorf("damage %d is not found", i)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 0))
	x := make([][]float64, 1000)
	y, w := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		x[i] = make([]float64, 40)
		for f := range x[i] {
			x[i][f] = r.Float64()
		}
		y[i], w[i] = x[i][0]+x[i][1]*x[i][2], 1
	}
	for b.Loop() {
		Fit(x, y, w, Options{})
	}
}
