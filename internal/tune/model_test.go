package tune

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// trials are records of runs of tasks with points at random.
func trials(t *testing.T, tasks []Task, n int) []records.Record {
	t.Helper()
	m, k := newMachine(20, "tails"), &kept{}
	o := options(k)
	o.Tuner, o.Trials, o.Lanes = "random", n, 16
	if _, err := Run(t.Context(), tasks, m, m, o); err != nil {
		t.Fatal(err)
	}
	return k.stage(records.Search)
}

// rankedWell is the share of pairs of tiles of a task that a model puts in the right order.
func rankedWell(m *model, k *machine, task Task, t *testing.T) float64 {
	t.Helper()
	built, err := k.Build(t.Context(), []Candidate{{task.Index, choice.Point{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &search{Task: &task, root: &built[0], lanes: 16, seen: map[string]bool{}}
	var points []choice.Point
	for _, tile := range tiles {
		for _, steps := range []string{"1", "8"} {
			points = append(points, choice.Point{"tile": tile, "steps": steps})
		}
	}
	m.sort(s, points)
	right, all := 0.0, 0.0
	for i, p := range points {
		for _, q := range points[i+1:] {
			a, b := k.of(t, task.Index, p), k.of(t, task.Index, q)
			if math.Abs(a-b) < 0.03*a {
				continue
			}
			all++
			if a < b {
				right++
			}
		}
	}
	return right / all
}

func (m *machine) of(t *testing.T, task int, p choice.Point) float64 {
	t.Helper()
	log, err := m.ask(task, p)
	if err != nil {
		t.Fatal(err)
	}
	return m.ratio(Built{Candidate: Candidate{Task: task}, Taken: log.Taken})
}

// TestPrior: a prior of some kernels ranks the points of others, and one that is written and read is the same.
func TestPrior(t *testing.T) {
	tasks := simulated(8)
	p, err := TrainPrior(trials(t, tasks[:6], 400))
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadPrior(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := read.Text(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("a prior changes when it is read (%v)", err)
	}
	k := newMachine(21, "quiet")
	if share := rankedWell(newModel(read), k, tasks[6], t); share < 0.75 {
		t.Errorf("%.0f %% of pairs of another kernel are in order", 100*share)
	}
	if same, err := TrainPrior(trials(t, tasks[:6], 400)); err != nil || !slices.Equal(same.Names, p.Names) {
		t.Errorf("equal records give other features (%v)", err)
	}
	if _, err := TrainPrior(nil); err == nil {
		t.Error("no records make a prior")
	}
}

// TestEmbedded reads what is part of the program.
func TestEmbedded(t *testing.T) {
	if _, err := ReadPrior(priorText); err != nil {
		t.Fatal(err)
	}
}

func TestExtents(t *testing.T) {
	for text, want := range map[string][]int{"const float32[64,3,7,7]:ABCD32a": {64, 3, 7, 7}, "float32[]": nil, "float32": nil, "float32[a]": nil, "int8[1, 2]": {1, 2}, "x[0]": nil} {
		if got := extents(text); !slices.Equal(got, want) {
			t.Errorf("%s: %v instead of %v", text, got, want)
		}
	}
}

func FuzzReadPrior(f *testing.F) {
	f.Add(priorText)
	f.Add([]byte(`{"names":["a"],"model":{"features":1,"trees":[{"f":[0],"t":[1],"v":[2]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPrior(text)
		if err != nil {
			return
		}
		m := newModel(p)
		if y := m.predict([]float64{1, math.NaN()}); math.IsNaN(y) {
			t.Fatal("a prior expects nothing")
		}
	})
}
