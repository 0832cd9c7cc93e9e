package tune

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lathe/internal/choice"
)

// noise is what a busy machine does to the times of neighbouring passes.
type noise struct {
	*rand.Rand
	spread float64 // of a sample, log-normal
	tail   float64 // share of samples that something interrupted, by a Pareto factor
	step   float64 // probability of a pass that the clock changes for what follows
	drift  float64 // of the clock in a pass
	level  float64
}

// noises are machines from quiet to hardly usable.
func noises(r *rand.Rand) map[string]*noise {
	return map[string]*noise{
		"quiet":  {Rand: r, spread: 0.003, level: 1},
		"spread": {Rand: r, spread: 0.03, level: 1},
		"tails":  {Rand: r, spread: 0.01, tail: 0.25, level: 1},
		"steps":  {Rand: r, spread: 0.01, step: 0.1, level: 1},
		"drift":  {Rand: r, spread: 0.01, drift: 0.004, level: 1},
		"all":    {Rand: r, spread: 0.05, tail: 0.15, step: 0.05, drift: 0.002, level: 1},
	}
}

// sample is the time of a kernel in the next pass.
func (n *noise) sample(time float64) float64 {
	if n.Float64() < n.step {
		n.level = 0.7 + 0.6*n.Float64()
	}
	n.level *= 1 + n.drift
	if n.level > 2 {
		n.level = 1
	}
	t := time * n.level * math.Exp(n.spread*n.NormFloat64())
	if n.Float64() < n.tail {
		t *= math.Pow(1-n.Float64(), -1/1.5)
	}
	return t
}

// pairs are samples of a candidate and of the host, which take turns at being first.
func (n *noise) pairs(ratio float64, count int) (times, host []float64) {
	for i := range count {
		var t, h float64
		if i%2 == 0 {
			t, h = n.sample(100*ratio), n.sample(100)
		} else {
			h, t = n.sample(100), n.sample(100*ratio)
		}
		times, host = append(times, t), append(host, h)
	}
	return times, host
}

// race takes samples until the candidate leaves.
func (n *noise) race(s Stop, ratio float64) (times, host []float64) {
	for {
		t, h := n.pairs(ratio, s.Next(len(times))-len(times))
		times, host = append(times, t...), append(host, h...)
		if s.Leaves(0, times, host) {
			return times, host
		}
	}
}

func TestSlowerIsNotConfirmed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, n := range noises(r) {
		for _, ratio := range []float64{1, 1.002, 1.03} {
			accepted, tries := 0, 4000
			for range tries {
				s := confirming()
				if s.accepted(Ratios(n.race(s, ratio))) {
					accepted++
				}
			}
			if share := float64(accepted) / float64(tries); share >= 0.01 {
				t.Errorf("%s: %.2f %% of candidates with %g times the host's time are accepted", name, 100*share, ratio)
			}
		}
		accepted, tries := 0, 500
		for range tries {
			s := confirming()
			if s.accepted(Ratios(n.race(s, 0.85))) {
				accepted++
			}
		}
		want := map[string]int{"quiet": 500, "spread": 500, "tails": 490, "steps": 450, "drift": 490}[name]
		if accepted < want {
			t.Errorf("%s: %d of %d candidates with 0.85 times the host's time are accepted", name, accepted, tries)
		}
	}
}

// TestGate: most of what is not worthwhile leaves a confirmation at its gate, and nothing is accepted there.
func TestGate(t *testing.T) {
	s := confirming()
	n := noises(rand.New(rand.NewPCG(13, 14)))["quiet"]
	for _, c := range []struct {
		ratio       float64
		least, most int // of those that leave at the gate
	}{{1, 150, 200}, {0.9, 0, 2}} {
		left := 0
		for range 200 {
			if times, _ := n.race(s, c.ratio); len(times) <= confirmGate {
				left++
			}
		}
		if left < c.least || left > c.most {
			t.Errorf("%d of 200 candidates with %g times the host's time leave at the gate", left, c.ratio)
		}
	}
	times, host := slices.Repeat([]float64{0.5}, confirmGate), slices.Repeat([]float64{1}, confirmGate)
	if s.accepted(Ratios(times, host)) || s.Leaves(0, times, host) {
		t.Error("a candidate is accepted at the gate")
	}
}

// A race of the search seldom loses what is better than the best, and ends early for what is much worse.
func TestSearchRaces(t *testing.T) {
	n := noises(rand.New(rand.NewPCG(3, 4)))["tails"]
	s := searching(map[int]float64{0: 0.9})
	lost, pairs := 0, 0
	for range 1000 {
		if times, _ := n.race(s, 0.85); len(times) < 25 {
			lost++
		}
		times, _ := n.race(s, 1.2)
		pairs += len(times)
	}
	if lost > 50 || pairs > 9000 {
		t.Errorf("%d of 1000 better candidates are lost; worse ones take %d pairs each", lost, pairs/1000)
	}
}

func TestEstimated(t *testing.T) {
	for _, c := range []struct {
		n          int
		confidence float64
		low, high  float64
	}{
		// Conover, Practical Nonparametric Statistics, table of the binomial distribution.
		{5, 0.9, 1, 5}, {9, 0.9, 2, 8}, {15, 0.9, 4, 12}, {25, 0.9, 8, 18}, {25, 0.99, 6, 20}, {3, 0.9, 1, 3}, {1, 0.9, 1, 1},
	} {
		samples := make([]float64, c.n)
		for i, p := range rand.New(rand.NewPCG(5, 6)).Perm(c.n) {
			samples[i] = float64(p + 1)
		}
		if e := Estimated(samples, c.confidence); e.Low != c.low || e.High != c.high || e.Ratio != float64(c.n+1)/2 {
			t.Errorf("%d samples, confidence %g: %+v, want %g to %g", c.n, c.confidence, e, c.low, c.high)
		}
	}
	if e := Estimated(nil, 0.9); e.Low != 0 || !math.IsInf(e.High, 1) {
		t.Errorf("without samples: %+v", e)
	}
	if got := Ratios([]float64{1, 2, 3, math.NaN()}, []float64{2, 0, 0, 1}); len(got) != 1 || got[0] != 0.5 {
		t.Errorf("ratios %v", got)
	}
}

// TestBounds counts how often bounds contain the median that they are for.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{5, 9, 15, 25, 81} {
		inside, tries := 0, 20000
		samples := make([]float64, n)
		for range tries {
			for i := range samples {
				samples[i] = math.Exp(r.NormFloat64())
			}
			if e := Estimated(samples, 0.9); e.Low <= 1 && 1 <= e.High {
				inside++
			}
		}
		if share := float64(inside) / float64(tries); share < 0.895 {
			t.Errorf("bounds of %d samples contain the median in %.1f %%", n, 100*share)
		}
	}
}

func TestLooks(t *testing.T) {
	s := searching(nil)
	var looks []int
	for n := s.Next(0); n > 0; n = s.Next(n) {
		looks = append(looks, n)
	}
	if len(looks) != 5 || looks[4] != 25 {
		t.Errorf("looks %v", looks)
	}
	s.Least = 7
	if n := s.Next(0); n != 9 {
		t.Errorf("at least 7 pairs: the first look is at %d", n)
	}
	s.Least = 100
	if n := s.Next(0); n != 100 || s.Next(100) != 0 || !s.Leaves(0, make([]float64, 100), make([]float64, 100)) {
		t.Errorf("at least 100 pairs: the first look is at %d", n)
	}
}

// TestSignedRank compares with tables, and with the sum of probabilities of all signs.
func TestSignedRank(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		p      float64
	}{
		{nil, 1}, {[]float64{0.5}, 0.5}, {[]float64{2}, 1}, {[]float64{0.9, 0.8, 0.7, 0.6}, 1. / 16}, {[]float64{0.9, 0.8, 1.01, 0.6}, 2. / 16},
		// Conover, table A12: of 9 pairs a sum of ranks of at most 8 has the probability 0.0488, of 2 0.0059.
		{[]float64{0.5, 0.6, 0.7, 0.8, 1.18, 0.9, 1.1, 0.95, 0.99}, 25. / 512},
		{[]float64{0.5, 0.6, 0.7, 0.8, 0.81, 0.9, 0.94, 1.04, 0.99}, 3. / 512},
	} {
		if p := signedRank(c.ratios); math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.ratios, p, c.p)
		}
	}
}

// TestQuiet: the least times tell a difference through disturbances that hide it from the median, and bounds hold the ratio.
func TestQuiet(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	n := &noise{Rand: r, spread: 0.003, tail: 0.5, level: 1}
	off, worse := 0, 0
	for range 1000 {
		times, host := n.pairs(0.95, 9)
		e := Quiet(times, host)
		if math.Abs(e.Ratio/0.95-1) > 0.02 {
			off++
		}
		if m := Estimated(Ratios(times, host), 0.9); math.Abs(m.Ratio/0.95-1) > 0.02 {
			worse++
		}
		if e.Low > e.Ratio || e.Ratio > e.High {
			t.Fatalf("%+v", e)
		}
	}
	if off > 150 || worse < 2*off {
		t.Errorf("%d of 1000 are off by 2 %%, of medians %d", off, worse)
	}
	if e := Quiet(nil, nil); e.Low != 0 || !math.IsInf(e.High, 1) {
		t.Errorf("without samples: %+v", e)
	}
}

// networks are openings of packages: each has a factor of its own, for where memory lies.
type networks struct {
	Measurer
	*noise
	ratios map[int]float64 // of the network, by task whose point is in it
	wrong  map[int]bool    // tasks whose point computes something else
	calls  int
}

func (m *networks) Networks(_ context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	m.calls++
	ratio := 1.0
	for task := range points {
		if ratio *= m.ratios[task]; m.wrong[task] {
			return nil, nil, &WrongError{"output 0"}
		}
	}
	for range opens {
		place := math.Exp(0.015 * m.NormFloat64())
		t, h := m.pairs(ratio*place, pairs)
		tuned, host = append(tuned, t...), append(host, h...)
	}
	return tuned, host, nil
}

func ever() time.Duration { return math.MaxInt64 }

// TestOpenings: a verdict has the openings that it needs, and no more of them where they can tell nothing, or time is up.
func TestOpenings(t *testing.T) {
	const tries = 40
	for _, c := range []struct {
		name            string
		ratio, promised float64
		left            func() time.Duration
		accepted        int // at least
		most            int // openings on average
	}{
		{"a large gain", 0.9, 0.1, ever, tries, 14},
		{"a gain that openings tell", 0.985, 0.015, ever, tries * 3 / 4, 40},
		{"a gain that was not promised", 0.985, 0, ever, tries / 2, 40},
		{"nothing", 1, 0.05, ever, 0, 25},
		{"a promise too small to be told", 0.999, 0.001, ever, 0, 15},
		{"no time", 0.99, 0.01, func() time.Duration { return 0 }, 0, 10},
	} {
		noise := noises(rand.New(rand.NewPCG(5, 6)))["quiet"]
		opens, accepted := 0, 0
		for range tries {
			h := hearing{leastOpen, c.promised, c.left}
			v, err := judge(t.Context(), &networks{noise: noise, ratios: map[int]float64{0: c.ratio}}, map[int]choice.Point{0: nil}, h)
			if err != nil {
				t.Fatal(err)
			}
			if opens += len(v.Opens); v.Accepted {
				accepted++
			}
		}
		if mean := float64(opens) / tries; mean > float64(c.most) || accepted < c.accepted {
			t.Errorf("%s: %d accepted, at least %d should be; %.1f openings on average, at most %d are needed", c.name, accepted, c.accepted, mean, c.most)
		}
		t.Logf("%s: %d of %d accepted, %.1f openings", c.name, accepted, tries, float64(opens)/tries)
	}
}

func TestVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name, n := range noises(r) {
		for _, c := range []struct {
			ratio       float64
			least, most float64
		}{{1, 0, 0.01}, {1.01, 0, 0.005}, {0.93, 0.95, 1}} {
			accepted, tries := 0, 3000
			for range tries {
				v, err := judge(t.Context(), &networks{noise: n, ratios: map[int]float64{0: c.ratio}}, map[int]choice.Point{0: nil}, hearing{leastOpen, 1 - c.ratio, ever})
				if err != nil {
					t.Fatal(err)
				}
				if v.Accepted {
					accepted++
				}
			}
			if share := float64(accepted) / float64(tries); share > c.most || name != "all" && name != "steps" && share < c.least {
				t.Errorf("%s: %.1f %% of networks with %g times the time are accepted", name, 100*share, c.ratio)
			}
		}
	}
}

func TestWithdraw(t *testing.T) {
	order := make([]Candidate, 8)
	for i := range order {
		order[i].Task = i
	}
	n := noises(rand.New(rand.NewPCG(11, 12)))["quiet"]
	all := func(ratio float64) map[int]float64 {
		m := map[int]float64{}
		for i := range order {
			m[i] = ratio
		}
		return m
	}
	gains := slices.Repeat([]float64{0.03}, len(order))
	spoilt := all(0.97)
	spoilt[6] = 1.4
	for _, c := range []struct {
		name   string
		ratios map[int]float64
		stay   int
	}{{"all good", all(0.97), 8}, {"none good", all(1.02), 0}, {"an uncertain one is bad", spoilt, 4}} {
		m := &networks{noise: n, ratios: c.ratios}
		stay, v, err := withdraw(t.Context(), m, order, gains, leastOpen, ever, func(int, Verdict) {})
		if err != nil {
			t.Fatal(err)
		}
		if stay != c.stay || v.Accepted != (stay > 0) {
			t.Errorf("%s: %d stay, accepted is %v", c.name, stay, v.Accepted)
		}
	}
	rounds := 0
	few := slices.Repeat([]float64{1e-4}, len(order))
	if _, _, err := withdraw(t.Context(), &networks{noise: n, ratios: all(1.001)}, order, few, leastOpen, ever, func(int, Verdict) { rounds++ }); err != nil || rounds != 1 {
		t.Errorf("what promises nothing that openings could tell is judged %d times: %v", rounds, err)
	}
}

// TestWrong: points with which the network computes something else are never accepted, however fast, and the others are.
func TestWrong(t *testing.T) {
	order := []Candidate{{Task: 0}, {Task: 1}, {Task: 2}, {Task: 3}}
	gains := []float64{0.1, 0.1, 0.1, 0.1}
	for _, c := range []struct {
		wrong map[int]bool
		stay  int
	}{{map[int]bool{3: true}, 2}, {map[int]bool{1: true}, 1}, {map[int]bool{0: true}, 0}, {nil, 4}} {
		m := &networks{noise: noises(rand.New(rand.NewPCG(3, 4)))["quiet"], ratios: map[int]float64{0: 0.9, 1: 0.9, 2: 0.9, 3: 0.9}, wrong: c.wrong}
		stay, v, err := withdraw(t.Context(), m, order, gains, leastOpen, ever, func(int, Verdict) {})
		if err != nil || stay != c.stay || v.Accepted != (stay > 0) || (v.Wrong != "") != (stay == 0) {
			t.Errorf("wrong are %v: %d stay, want %d; %+v %v", c.wrong, stay, c.stay, v, err)
		}
	}
}
