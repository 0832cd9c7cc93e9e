package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

func options(k *kept) Options {
	return Options{Trials: 480, Seed: 1, Workers: 1, Network: "net", Sink: k.add}
}

// TestRun looks at what every tuner finds within 60 trials a task.
func TestRun(t *testing.T) {
	for _, tuner := range Tuners {
		m, k := newMachine(1, "spread"), &kept{}
		o := options(k)
		o.Tuner = tuner.Name
		res, err := Run(t.Context(), simulated(8), m, m, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Trials != len(k.stage(records.Search)) || res.Trials > o.Trials {
			t.Errorf("%s: %d trials, %d records", tuner.Name, res.Trials, len(k.stage(records.Search)))
		}
		if !res.Verdict.Accepted || res.Verdict.High >= 1 {
			t.Errorf("%s: verdict %+v", tuner.Name, res.Verdict)
		}
		lost := 0.0
		for _, f := range res.Found {
			got := 1.0
			if f.Accepted {
				got = m.ratio(*f.Built)
			}
			lost += math.Log(got / m.best(f.Index, false))
		}
		lost = math.Exp(lost/8) - 1
		t.Logf("%s: %.1f %% above the best, %d trials, %d pairs, %s; %s", tuner.Name, 100*lost, res.Trials, m.pairs, res.Took, res.Ended)
		if limit := map[string]float64{"xgb": 0.03, "droplet": 0.05}[tuner.Name]; limit > 0 && lost > limit {
			t.Errorf("%s ends %.1f %% above the best", tuner.Name, 100*lost)
		}
	}
}

// TestNeverSlower: whatever the model says, and whatever races say that networks do not, what is accepted is faster.
func TestNeverSlower(t *testing.T) {
	for _, c := range []struct {
		name         string
		lie, context float64
		noise        string
	}{{"costs tell the opposite", 1, 0, "all"}, {"costs tell nothing", 0.5, 0, "tails"}, {"kernels are slower in the network", 0, 1.5, "spread"}, {"a little slower", 0, 0.2, "tails"}} {
		for seed := range uint64(4) {
			m, k := newMachine(seed, c.noise), &kept{}
			m.lie, m.context = c.lie, c.context
			o := options(k)
			o.Trials, o.Seed = 128, seed
			res, err := Run(t.Context(), simulated(8), m, m, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range res.Found {
				if !f.Accepted {
					continue
				}
				if got := m.ratio(*f.Built) * (1 + c.context); got >= 1 && c.context == 0 {
					t.Errorf("%s, seed %d: %s takes %.2f times as long", c.name, seed, f.Name, got)
				}
			}
			quiet := newMachine(seed, "quiet")
			quiet.context = c.context
			quiet.spread = 0
			if tuned, host, err := quiet.Networks(t.Context(), res.Points(), 99, 1); err != nil || len(res.Points()) > 0 && Estimated(Ratios(tuned, host), 0.9).Ratio >= 1 {
				t.Errorf("%s, seed %d: the network takes %.3f times as long", c.name, seed, Estimated(Ratios(tuned, host), 0.9).Ratio)
			}
			if c.context >= 1.5 && len(res.Points()) > 0 {
				t.Errorf("%s, seed %d: %v is accepted", c.name, seed, res.Points())
			}
			for _, r := range k.stage(records.Network) {
				if r.Accepted != (res.Points()[index(r.Kernel)] != nil) || r.Verdict == nil {
					t.Errorf("the record of %s's verdict says %v", r.Kernel, r.Accepted)
				}
			}
		}
	}
}

func index(kernel string) int { return int(kernel[len("key")] - '0') }

// TestGrid: every legal point is proposed, and each once.
func TestGrid(t *testing.T) {
	m := newMachine(2, "quiet")
	task := simulated(1)[0]
	all := func(string) bool { return true }
	root, err := m.Build(t.Context(), []Candidate{{0, choice.Point{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &search{Task: &task, root: &root[0], seen: map[string]bool{identity(choice.Point{}): true}, asks: all}
	taken := map[string]bool{identity(root[0].Taken): true}
	for {
		var list []Candidate
		for _, p := range grid(s, batch, nil) {
			list = append(list, Candidate{0, p})
		}
		if len(list) == 0 {
			break
		}
		built, err := m.Build(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range built {
			if b.Fault != records.None || taken[identity(b.Taken)] {
				t.Fatalf("%v is not legal (%s), or proposed twice", b.Point, b.Message)
			}
			taken[identity(b.Taken)] = true
			s.add(&Trial{Built: b})
		}
	}
	// Tiles, steps, prefetch, order with its tail, chunks.
	if want := len(tiles) * 4 * 2 * (1 + 2) * 3; len(taken) != want {
		t.Errorf("%d points instead of %d", len(taken), want)
	}
}

// TestResume ends a run in the middle: the next one has its trials, and tries none of them again.
func TestResume(t *testing.T) {
	for _, tuner := range []string{"xgb", "gridsearch"} {
		m, k := newMachine(3, "spread"), &kept{}
		ctx, cancel := context.WithCancel(t.Context())
		o := options(k)
		o.Tuner, o.Trials = tuner, 200
		o.Sink = func(r records.Record) error {
			if len(k.list) == 90 {
				cancel()
			}
			return k.add(r)
		}
		if _, err := Run(ctx, simulated(8), m, m, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("the run ends with %v", err)
		}
		o.Sink, o.Records = k.add, append([]records.Record(nil), k.list...)
		res, err := Run(t.Context(), simulated(8), m, m, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Resumed != len(o.Records) || res.Trials != 200 || len(k.stage(records.Search)) != 200 {
			t.Errorf("%s: %d resumed of %d, %d trials, %d records", tuner, res.Resumed, len(o.Records), res.Trials, len(k.list))
		}
		seen := map[string]bool{}
		for _, r := range k.stage(records.Search) {
			if id := r.Kernel + identity(r.Point); seen[id] {
				t.Errorf("%s: %v is tried twice", tuner, r.Point)
			} else {
				seen[id] = true
			}
		}
	}
}

// TestStarts: points of earlier runs of another network, and of neighbours, come first.
func TestStarts(t *testing.T) {
	m, k := newMachine(4, "quiet"), &kept{}
	good := choice.Point{"tile": "8 x 2", "order": "panels inside", "tail": "apart"}
	tasks := simulated(2)
	earlier := records.Record{Version: 1, Key: tasks[0].Key, Point: good, Ratio: 0.8, Low: 0.79, High: 0.81, Stage: records.Search, Network: "another"}
	bad := earlier
	bad.Point, bad.Ratio = choice.Point{"tile": "1 x 1"}, 1.4
	o := options(k)
	o.Trials, o.Records = 16, []records.Record{bad, earlier}
	o.Starts = map[int][]choice.Point{1: {{"tile": "7 x 2", "steps": "no such value"}}}
	if _, err := Run(t.Context(), tasks, m, m, o); err != nil {
		t.Fatal(err)
	}
	first := map[string]choice.Point{}
	for _, r := range k.list {
		if first[r.Kernel] == nil {
			first[r.Kernel] = r.Point
		}
		if reflect.DeepEqual(r.Point, bad.Point) {
			t.Errorf("what was slow is tried")
		}
	}
	if !reflect.DeepEqual(first["key0"], good) || !reflect.DeepEqual(first["key1"], good) {
		t.Errorf("first points %v", first)
	}
	found := false
	for _, r := range k.list {
		found = found || r.Kernel == "key1" && reflect.DeepEqual(r.Point, choice.Point{"tile": "7 x 2"}) && r.Fault == records.None
	}
	if !found {
		t.Error("a starting point is not tried")
	}
}

func TestReplay(t *testing.T) {
	m, k := newMachine(5, "quiet"), &kept{}
	o := options(k)
	o.Trials = 64
	if _, err := Run(t.Context(), simulated(8), m, m, o); err != nil {
		t.Fatal(err)
	}
	again := &kept{}
	o.Replay, o.Sink = k.list, again.add
	if _, err := Run(t.Context(), simulated(8), m, m, o); err != nil {
		t.Fatal(err)
	}
	first, second := k.stage(records.Search), again.stage(records.Search)
	if len(first) != len(second) {
		t.Fatalf("%d points of %d", len(second), len(first))
	}
	for i := range first {
		if first[i].Kernel != second[i].Kernel || !reflect.DeepEqual(first[i].Point, second[i].Point) {
			t.Errorf("trial %d is %v instead of %v", i, second[i].Point, first[i].Point)
		}
	}
}

// TestSeed: equal results lead to equal proposals.
func TestSeed(t *testing.T) {
	points := func(seed uint64) (list []string) {
		m, k := newMachine(6, "quiet"), &kept{}
		o := options(k)
		o.Trials, o.Seed = 128, seed
		if _, err := Run(t.Context(), simulated(8), m, m, o); err != nil {
			t.Fatal(err)
		}
		for _, r := range k.stage(records.Search) {
			list = append(list, r.Kernel+identity(r.Point))
		}
		return list
	}
	one := points(1)
	if !reflect.DeepEqual(one, points(1)) {
		t.Error("a seed gives other points the second time")
	}
	if reflect.DeepEqual(one, points(2)) {
		t.Error("another seed gives the same points")
	}
}

// TestFaults: points that do not build and that crash are recorded, and the search goes on.
func TestFaults(t *testing.T) {
	m, k := newMachine(7, "spread"), &kept{}
	m.crash = func(p choice.Point) records.Fault {
		if strings.HasSuffix(p["tile"], "x 3") {
			return records.RuntimeDevice
		}
		return records.None
	}
	res, err := Run(t.Context(), simulated(8), m, m, options(k))
	if err != nil {
		t.Fatal(err)
	}
	faults := 0
	for _, r := range k.list {
		if r.Fault != records.None {
			faults++
			if r.Ratio != 0 || r.Accepted {
				t.Errorf("a fault with a result: %+v", r)
			}
		}
	}
	if faults == 0 || faults != res.Faults || !res.Verdict.Accepted {
		t.Errorf("%d faults recorded, %d counted, verdict %v", faults, res.Faults, res.Verdict.Accepted)
	}
}

// TestHopeless: what the compiler expects to take many times as long as the rules' kernel is a trial, and is not run.
func TestHopeless(t *testing.T) {
	m, k := newMachine(7, "quiet"), &kept{}
	m.cycles = func(p choice.Point) float64 {
		if strings.HasSuffix(p["tile"], "x 3") {
			return 1000 * (hopeless + 1)
		}
		return 1000 * hopeless
	}
	res, err := Run(t.Context(), simulated(8), m, m, options(k))
	if err != nil {
		t.Fatal(err)
	}
	skipped, faults := 0, 0
	for _, r := range k.stage(records.Search) {
		if r.Fault != records.None {
			faults++
			continue
		}
		if not := strings.HasSuffix(r.Built.Taken["tile"], "x 3"); not != (len(r.Times) == 0) || not && r.Ratio != 0 {
			t.Errorf("%v has the times %v and the ratio %g", r.Built.Taken, r.Times, r.Ratio)
		} else if not {
			skipped++
		}
	}
	if skipped == 0 || res.Faults != faults || !res.Verdict.Accepted {
		t.Errorf("%d were not run, %d faults instead of %d, verdict %v", skipped, res.Faults, faults, res.Verdict.Accepted)
	}
}

// TestDivision: with several workers their division is tuned as well, and confirmed by all of them.
func TestDivision(t *testing.T) {
	m, k := newMachine(8, "quiet"), &kept{}
	o := options(k)
	o.Workers = 2
	res, err := Run(t.Context(), simulated(8), m, m, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Found {
		if f.Accepted && (f.Taken["chunks"] != "4" || f.Workers != 2) {
			t.Errorf("%s: chunks %s, confirmed with %d workers", f.Name, f.Taken["chunks"], f.Workers)
		}
	}
	if !res.Verdict.Accepted {
		t.Error("nothing is accepted")
	}
}

func TestLimits(t *testing.T) {
	m := newMachine(9, "quiet")
	full := errors.New("the disk is full")
	o := Options{Trials: 32, Sink: func(records.Record) error { return full }}
	if _, err := Run(t.Context(), simulated(2), m, m, o); !errors.Is(err, full) {
		t.Errorf("the sink's error becomes %v", err)
	}
	if _, err := Run(t.Context(), simulated(2), m, m, Options{Tuner: "xgbb"}); err == nil || !strings.Contains(err.Error(), "did you mean xgb?") {
		t.Errorf("an unknown tuner gives %v", err)
	}
	k := &kept{}
	o = options(k)
	o.Trials, o.EarlyStopping = 0, 20
	res, err := Run(t.Context(), simulated(8), m, m, o)
	if err != nil || res.Trials == 0 || res.Ended == "" {
		t.Errorf("%d trials, ended as %q, %v", res.Trials, res.Ended, err)
	}
	o.Tuner, o.EarlyStopping, o.Trials = "random", 10_000, 640
	if res, err := Run(t.Context(), simulated(8), m, m, o); err != nil || res.Trials != 640 {
		t.Errorf("without an early end: %d trials, ended as %q, %v", res.Trials, res.Ended, err)
	}
	o.Time = time.Nanosecond
	if res, err := Run(t.Context(), simulated(8), m, m, o); err != nil || res.Ended != "the time was used up" {
		t.Errorf("ended as %q, %v", res.Ended, err)
	}
	if res, err := Run(t.Context(), nil, m, m, o); err != nil || len(res.Found) != 0 {
		t.Errorf("no tasks: %v", err)
	}
}

// TestSearchOnly: a search by itself uses all of its trials for searching, and neither confirms nor judges.
func TestSearchOnly(t *testing.T) {
	m, k := newMachine(8, "quiet"), &kept{}
	o := options(k)
	o.Workers, o.SearchOnly, o.Trials, o.EarlyStopping = 2, true, 40, 1000
	res, err := Run(t.Context(), simulated(2), m, m, o)
	if err != nil || res.Trials != 40 || len(res.Found) != 2 || res.Verdict.Accepted {
		t.Errorf("%d trials, %d found, verdict %v, %v", res.Trials, len(res.Found), res.Verdict.Accepted, err)
	}
	for _, r := range k.list {
		if r.Stage != records.Search || r.Raced > 1 || r.Accepted {
			t.Errorf("trial %d is of stage %s with %d workers, accepted %v", r.By.Trial, r.Stage, r.Raced, r.Accepted)
		}
	}
}

// codeOf is what some compiler makes of a point: tile, steps and chunks decide.
func codeOf(taken choice.Point) string {
	return identity(choice.Point{"tile": taken["tile"], "steps": taken["steps"], "chunks": taken["chunks"]})
}

// twins is a machine with that compiler.
type twins struct {
	*machine
	t     *testing.T
	raced map[string]bool
}

func (m *twins) Build(ctx context.Context, list []Candidate) ([]Built, error) {
	built, err := m.machine.Build(ctx, list)
	for i := range built {
		built[i].Object = codeOf(built[i].Taken)
	}
	return built, err
}

func (m *twins) Race(ctx context.Context, list []Built, stop Stop) ([]Samples, error) {
	for _, b := range list {
		id := fmt.Sprint(b.Task, stop.Workers, b.Object)
		if stop.Accept == 0 && m.raced[id] {
			m.t.Errorf("the code of %v races again", b.Point)
		}
		m.raced[id] = true
	}
	return m.machine.Race(ctx, list, stop)
}

// TestTwins: points of equal code race once, and have one time.
func TestTwins(t *testing.T) {
	m, k := &twins{newMachine(4, "spread"), t, map[string]bool{}}, &kept{}
	o := options(k)
	o.Tuner, o.Trials, o.Workers = "random", 300, 2
	if _, err := Run(t.Context(), simulated(4), m, m, o); err != nil {
		t.Fatal(err)
	}
	times, again := map[string]float64{}, 0
	for _, r := range k.stage(records.Search) {
		if r.Fault != records.None || r.Ratio <= 0 || r.Ratio == 1 {
			continue
		}
		id := fmt.Sprint(r.Kernel, r.Raced, codeOf(r.Built.Taken))
		if before, ok := times[id]; ok {
			if again++; r.Ratio != before {
				t.Errorf("%v takes %v, and the same code %v", r.Point, r.Ratio, before)
			}
		}
		times[id] = r.Ratio
	}
	if again == 0 {
		t.Error("no code was met again")
	}
}
