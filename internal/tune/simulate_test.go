package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// A machine is a compiler and a processor in one: its kernels have a tile with costs, decisions that follow from it, and some that
// matter little. The rules' costs know a part of the truth.
type machine struct {
	*noise
	lie     float64 // times by which the rules' costs are wrong in the logarithm: 1 tells the opposite of the truth
	context float64 // time of any tuned kernel in the network over what races tell
	crash   func(p choice.Point) records.Fault
	cycles  func(p choice.Point) float64 // that the compiler expects; nil: as many of all

	sync.Mutex
	builds, races int
	pairs         int
	passed        func(pairs int) // is told of pairs that were raced
}

var tiles = func() (list []string) {
	for _, vecs := range []int{1, 2, 3, 4} {
		for _, rows := range []int{1, 2, 4, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28} {
			if rows*vecs <= 28 {
				list = append(list, fmt.Sprintf("%d x %d", rows, vecs))
			}
		}
	}
	return list
}()

// time is the truth about a point of a task, over that of the best: latency and loads by the tile, spills of large ones with many
// steps, and what else was decided.
func truth(task int, p choice.Point) float64 {
	var rows, vecs float64
	if _, err := fmt.Sscanf(p["tile"], "%f x %f", &rows, &vecs); err != nil {
		panic(err)
	}
	acc := rows * vecs
	t := 1 + max(0, 8-acc)/8 + 0.6*(rows+vecs)/acc
	steps, _ := strconv.ParseFloat(p["steps"], 64)
	t += 0.15 / steps
	if limit := float64(20 + 4*(task%3)); acc+steps > limit {
		t += 0.04 * (acc + steps - limit)
	}
	if p["prefetch"] == "on" && task%2 == 1 {
		t += 0.12
	}
	if p["order"] == "panels inside" {
		t += []float64{-0.08, 0.05, 0.2}[task%3]
	}
	if p["tail"] == "apart" {
		t -= 0.02
	}
	if p["chunks"] == "4" {
		t -= 0.05
	}
	return t
}

// ask is what one run of the rules asks for.
func (m *machine) ask(task int, p choice.Point) (*choice.Log, error) {
	log := &choice.Log{Chooser: p}
	var values []choice.Value
	least := 0
	for _, text := range tiles {
		base := choice.Point{"tile": text, "steps": "4", "prefetch": "on", "order": "panels outside", "chunks": "1"}
		cost := 1000 * math.Pow(truth(0, base), 1-2*m.lie)
		values = append(values, choice.Value{Text: text, Cost: cost})
		if text == "14 x 2" {
			least = len(values) - 1
		}
	}
	if _, err := log.Decide(choice.Decision{Name: "tile", Values: values, Default: least}); err != nil {
		return nil, err
	}
	steps := choice.Texts("1", "2", "4", "8")
	if _, err := log.Decide(choice.Decision{Name: "steps", Values: steps, Default: 2}); err != nil {
		return nil, err
	}
	if _, err := log.Decide(choice.Whether("prefetch", true)); err != nil {
		return nil, err
	}
	if _, err := log.Decide(choice.Decision{Name: "order", Values: choice.Texts("panels outside", "panels inside")}); err != nil {
		return nil, err
	}
	if log.Taken["order"] == "panels inside" {
		if _, err := log.Decide(choice.Decision{Name: "tail", Values: choice.Texts("masked", "apart")}); err != nil {
			return nil, err
		}
	}
	_, err := log.Decide(choice.Decision{Name: "chunks", Values: choice.Texts("1", "2", "4")})
	if err == nil {
		err = p.Fits(log.Asked)
	}
	return log, err
}

func (m *machine) Build(ctx context.Context, list []Candidate) ([]Built, error) {
	out := make([]Built, len(list))
	for i, c := range list {
		m.builds++
		out[i] = Built{Candidate: c, Took: time.Millisecond}
		log, err := m.ask(c.Task, c.Point)
		if err != nil {
			out[i].Fault, out[i].Message = records.Instantiation, err.Error()
			continue
		}
		out[i].Asked, out[i].Taken = log.Asked, log.Taken
		out[i].Cycles, out[i].Code, out[i].Same = 1000, 4096, len(c.Point) == 0
		if m.cycles != nil && len(c.Point) > 0 {
			out[i].Cycles = m.cycles(log.Taken)
		}
		if m.crash != nil {
			out[i].Fault = m.crash(log.Taken)
		}
	}
	return out, ctx.Err()
}

func (m *machine) ratio(b Built) float64 {
	log, err := m.ask(b.Task, nil)
	if err != nil {
		panic(err)
	}
	return truth(b.Task, b.Taken) / truth(b.Task, log.Taken)
}

func (m *machine) Race(ctx context.Context, list []Built, stop Stop) ([]Samples, error) {
	out := make([]Samples, len(list))
	for i, b := range list {
		m.races++
		s := &out[i]
		s.Task = b.Task
		if b.Taken["prefetch"] == "crash" {
			s.Fault = records.RuntimeDevice
			continue
		}
		ratio := m.ratio(b)
		if s.Times, s.Host = m.noise.pairs(ratio, 3); stop.Out > 0 && Estimated(Ratios(s.Times, s.Host), 0.9).Ratio > stop.Out {
			continue
		}
		s.Times, s.Host = nil, nil
		for {
			n := stop.Next(len(s.Times)) - len(s.Times)
			t, h := m.noise.pairs(ratio, n)
			m.pairs += n
			s.Times, s.Host = append(s.Times, t...), append(s.Host, h...)
			if m.passed(n); stop.Over() || stop.Leaves(b.Task, s.Times, s.Host) {
				break
			}
		}
	}
	return out, ctx.Err()
}

func (m *machine) Noise(ctx context.Context, _ time.Duration) ([]float64, error) {
	return Ratios(m.noise.pairs(1, 50)), ctx.Err()
}

func (m *machine) Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	sum, all := 0.0, 0.0
	for i, t := range simulated(8) {
		r := 1.0
		if p, ok := points[i]; ok {
			log, err := m.ask(i, p)
			if err != nil {
				return nil, nil, err
			}
			r = m.ratio(Built{Candidate: Candidate{Task: i}, Taken: log.Taken}) * (1 + m.context)
		}
		sum, all = sum+r*float64(t.Weight()), all+float64(t.Weight())
	}
	for range opens {
		place := math.Exp(0.01 * m.NormFloat64())
		t, h := m.noise.pairs(sum/all*place, pairs)
		tuned, host = append(tuned, t...), append(host, h...)
	}
	return tuned, host, ctx.Err()
}

// simulated are tasks of a network.
func simulated(n int) []Task {
	list := make([]Task, n)
	for i := range list {
		anchor := fmt.Sprint("anchor", i/2)
		list[i] = Task{
			Index: i, Name: fmt.Sprint("kernel", i), Ops: []string{"nn.conv2d"}, Calls: 1 + i%2, FLOPs: 1e8, Bytes: 1e6,
			Key:  records.Key{Kernel: fmt.Sprint("key", i), Anchor: anchor, Target: "x86_64", Class: "c", Workers: 1},
			Time: time.Duration(500+100*i) * time.Microsecond, Peak: 250 * time.Microsecond,
			Shapes: []string{fmt.Sprintf("float32[1,%d,56,56]", 16<<(i%3))},
		}
	}
	return list
}

func newMachine(seed uint64, kind string) *machine {
	return &machine{noise: noises(rand.New(rand.NewPCG(seed, 99)))[kind], passed: func(int) {}}
}

// best is the least time of a task's points over the rules', by trying all.
func (m *machine) best(task int, dividing bool) float64 {
	least := math.Inf(1)
	for _, tile := range tiles {
		for _, steps := range []string{"1", "2", "4", "8"} {
			for _, prefetch := range []string{"off", "on"} {
				for _, order := range []string{"panels outside", "panels inside"} {
					for _, chunks := range []string{"1", "4"} {
						p := choice.Point{"tile": tile, "steps": steps, "prefetch": prefetch, "order": order, "chunks": chunks}
						if order == "panels inside" {
							p["tail"] = "apart"
						}
						if dividing || chunks == "1" {
							least = min(least, m.ratio(Built{Candidate: Candidate{Task: task}, Taken: p}))
						}
					}
				}
			}
		}
	}
	return least
}

// kept are the records of a run.
type kept struct{ list []records.Record }

func (k *kept) add(r records.Record) error { k.list = append(k.list, r); return nil }

func (k *kept) stage(s records.Stage) []records.Record {
	return slices.DeleteFunc(slices.Clone(k.list), func(r records.Record) bool { return r.Stage != s })
}
