package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"lathe/internal/child"
	"lathe/internal/choice"
	"lathe/internal/measure"
	"lathe/internal/records"
	"lathe/internal/tune"
)

// A measurer is a process that has the network open.
type measurer struct {
	process *child.Process[measure.Question, measure.Answer]
	all     bool
	loaded  int
	workers int
	at      atomic.Int64 // steps of the walk that have run, about
}

// measurer is the process for one worker's part, or for all workers; it is started where there is none.
func (f *Farm) measurer(ctx context.Context, all bool) (*measurer, error) {
	at := &f.parts
	if all {
		at = &f.all
	}
	m := *at
	if m == nil {
		m = &measurer{all: all}
		*at = m
	}
	if m.process != nil && m.loaded < mostLoaded {
		return m, nil
	}
	m.end()
	from := time.Now()
	p, err := child.Start[measure.Question, measure.Answer](child.Command{Path: f.Program, Args: f.Measurer})
	if err != nil {
		return nil, err
	}
	a, err := p.Ask(ctx, measure.Question{Open: &f.host, All: all}, openLimit)
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("measuring the network: %w", err)
	}
	f.starting = time.Since(from)
	m.process, m.loaded, m.workers = p, 0, a.Workers
	m.at.Store(0)
	return m, nil
}

func (m *measurer) end() {
	if m.process != nil {
		m.process.Close()
		m.process = nil
	}
}

// WorkersOfUse is how many workers the network uses.
func (f *Farm) WorkersOfUse(ctx context.Context) (int, error) {
	m, err := f.measurer(ctx, false)
	if err != nil {
		return 0, err
	}
	return m.workers, nil
}

// Profile is the time of a call of each task's own kernel: one worker's part of it.
func (f *Farm) Profile(ctx context.Context, passes int) ([]time.Duration, error) {
	m, err := f.measurer(ctx, false)
	if err != nil {
		return nil, err
	}
	a, err := m.process.Ask(ctx, measure.Question{Profile: passes}, openLimit)
	if err != nil {
		m.process = nil
		return nil, err
	}
	list := make([]time.Duration, len(a.Times))
	for i, us := range a.Times {
		list[i] = time.Duration(us * float64(time.Microsecond))
	}
	return list, nil
}

// A racer is a candidate in a race.
type racer struct {
	*tune.Samples
	object string
	id     int
}

// Race races candidates, those of a task together, in the order in which the network comes to their steps. One that ends the measurer, or
// keeps it silent, takes those beside it down, which are split to find it.
func (f *Farm) Race(ctx context.Context, list []tune.Built, stop tune.Stop) ([]tune.Samples, error) {
	out := make([]tune.Samples, len(list))
	groups := map[int][]*racer{}
	for i, b := range list {
		out[i].Task = b.Task
		groups[b.Task] = append(groups[b.Task], &racer{Samples: &out[i], object: b.Object})
	}
	m, err := f.measurer(ctx, stop.Workers > 1)
	if err != nil {
		return nil, err
	}
	f.cores.race()
	defer f.cores.raced()
	for _, task := range f.onTheWay(m, slices.Collect(maps.Keys(groups)), behind(stop)) {
		if err := f.race(ctx, groups[task], stop); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Order sorts tasks in the order in which the network comes to their steps in a search.
func (f *Farm) Order(tasks []int) []int {
	m := f.parts
	if m == nil {
		m = &measurer{}
	}
	return f.onTheWay(m, slices.Clone(tasks), measure.Emptied)
}

// onTheWay sorts tasks in the order in which the network comes to their steps.
func (f *Farm) onTheWay(m *measurer, tasks []int, behind measure.Behind) []int {
	ahead := func(task int) int {
		steps := f.host.Tasks[task].Steps
		at := steps[m.next(steps, behind)].Index - int(m.at.Load())
		if at < 0 {
			at += f.host.Steps
		}
		return at
	}
	slices.SortFunc(tasks, func(a, b int) int { return cmp.Or(ahead(a)-ahead(b), a-b) })
	return tasks
}

// behind is how samples are taken: proofs behind the steps that are there in a run, and a search behind what empties the caches of the cores that
// take part, for what it forgoes is little.
func behind(stop tune.Stop) measure.Behind {
	switch {
	case stop.Accept > 0:
		return measure.Windowed
	case stop.Workers > 1:
		return measure.Near
	}
	return measure.Emptied
}

// next is the number of the step of a task to which the network comes next.
func (m *measurer) next(steps []measure.Step, behind measure.Behind) int {
	for i, s := range steps {
		if from, _ := s.From(behind); from >= int(m.at.Load()) {
			return i
		}
	}
	return 0
}

// race is Race for some of the candidates of a task.
func (f *Farm) race(ctx context.Context, list []*racer, stop tune.Stop) error {
	for _, r := range list {
		r.Times, r.Host = nil, nil
	}
	m, err := f.measurer(ctx, stop.Workers > 1)
	if err != nil {
		return err
	}
	err = f.run(ctx, m, list, stop)
	if err == nil || ctx.Err() != nil {
		if err != nil {
			m.process = nil
		}
		return err
	}
	death, died := errors.AsType[*child.Death](err)
	if failed, ok := errors.AsType[*child.Error](err); ok {
		death = &child.Death{Cause: failed.Message}
		m.end() // the network may be half way through
	} else if !died {
		return err
	}
	m.process = nil
	if len(list) > 1 {
		half := len(list) / 2
		if err := f.race(ctx, list[:half], stop); err != nil {
			return err
		}
		return f.race(ctx, list[half:], stop)
	}
	list[0].Fault, list[0].Message = records.RuntimeDevice, death.Cause
	if death.Silent {
		list[0].Fault = records.RunTimeout
	}
	return nil
}

// run races in one process. Looks of a proof are at one step of the task after the other.
func (f *Farm) run(ctx context.Context, m *measurer, list []*racer, stop tune.Stop) error {
	task := list[0].Task
	steps := f.host.Tasks[task].Steps
	at := measure.Position{Task: task, Behind: behind(stop)}
	move := func() {
		at.Step = m.next(steps, at.Behind)
		m.at.Store(int64(steps[at.Step].Index + 1))
	}
	move()
	var load []measure.Candidate
	for _, r := range list {
		f.ids++
		r.id = f.ids
		load = append(load, measure.Candidate{ID: r.id, Task: task, Code: f.code(r.object)})
	}
	m.loaded += len(load)
	a, err := m.process.Ask(ctx, measure.Question{At: at, Load: load, Out: stop.Out}, f.limit(len(load)))
	if err != nil {
		return err
	}
	var racing []*racer
	for i, c := range a.Checks {
		r := list[i]
		switch {
		case c.Wrong != "":
			r.Fault, r.Message = records.WrongAnswer, c.Wrong
		case stop.Out > 0 && c.Time > stop.Out*c.Host:
			r.Times, r.Host = []float64{c.Time}, []float64{c.Host}
		default:
			racing = append(racing, r)
		}
	}
	for len(racing) > 0 {
		var wants []measure.Want
		for _, r := range racing {
			wants = append(wants, measure.Want{ID: r.id, Pairs: max(1, stop.Next(len(r.Times))-len(r.Times))})
		}
		a, err := m.process.Ask(ctx, measure.Question{At: at, Race: wants}, f.limit(len(racing))*3)
		if err != nil {
			return err
		}
		var stay []*racer
		for i, p := range a.Pairs {
			r := racing[i]
			r.Times, r.Host = append(r.Times, p.Times...), append(r.Host, p.Host...)
			enough := f.Pairs > 0 && stop.Accept == 0 && stop.Next(len(r.Times)) > max(f.Pairs, stop.Least)
			short := sum(r.Times) < micro(stop.MinSample)
			if next := stop.Next(len(r.Times)); next > 0 && !stop.Over() && (short || !enough && !stop.Leaves(r.Task, r.Times, r.Host)) {
				stay = append(stay, r)
			}
		}
		if racing = stay; stop.Accept > 0 {
			move()
		}
	}
	return nil
}

func sum(list []float64) (s float64) {
	for _, v := range list {
		s += v
	}
	return s
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Noise races the tasks' own kernels against themselves, as candidates race while searching, for a time but each once. A ratio is of all of
// them together: long kernels count as in a run, and what a clock's resolution does to short ones does not.
func (f *Farm) Noise(ctx context.Context, d time.Duration) ([]float64, error) {
	m, err := f.measurer(ctx, false)
	if err != nil {
		return nil, err
	}
	const pairs = 3
	var ratios []float64
	for end := time.Now().Add(d); len(ratios) == 0 || time.Now().Before(end); {
		var times, host [pairs]float64
		for i := range f.tasks {
			a, err := m.process.Ask(ctx, measure.Question{At: measure.Position{Task: i}, Race: []measure.Want{{ID: i, Pairs: pairs, Host: true}}}, openLimit)
			if err != nil {
				m.process = nil
				return nil, err
			}
			for _, p := range a.Pairs {
				for k := range min(pairs, len(p.Times), len(p.Host)) {
					times[k], host[k] = times[k]+p.Times[k], host[k]+p.Host[k]
				}
			}
		}
		ratios = append(ratios, tune.Ratios(times[:], host[:])...)
	}
	return ratios, nil
}

// Networks races packages, in a process for each opening.
func (f *Farm) Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	path, err := f.packed(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	if tuned, host, err = f.duel(ctx, path, opens, pairs); err == nil {
		f.last = [2][]float64{tuned, host}
	}
	return tuned, host, err
}

// duel races a package against the network's own.
func (f *Farm) duel(ctx context.Context, path string, opens, pairs int) (tuned, host []float64, err error) {
	for range opens {
		first := f.opened % 2 // who is opened first may lie better
		f.opened++
		duel := measure.Duel{Workers: f.Workers, Pairs: pairs}
		duel.Packages[first], duel.Packages[1-first] = path, f.host.Package
		p, err := child.Start[measure.Question, measure.Answer](child.Command{Path: f.Program, Args: f.Measurer})
		if err != nil {
			return nil, nil, err
		}
		a, err := p.Ask(ctx, measure.Question{Networks: &duel}, openLimit)
		p.Close()
		if err != nil {
			return nil, nil, fmt.Errorf("racing whole networks: %w", err)
		}
		if a.Differs != "" {
			return nil, nil, &tune.WrongError{What: a.Differs}
		}
		tuned, host = append(tuned, a.Duel[first]...), append(host, a.Duel[1-first]...)
	}
	return tuned, host, nil
}

// packed is the package with points, which stays until there is another.
func (f *Farm) packed(ctx context.Context, points map[int]choice.Point) (string, error) {
	if f.tuned != "" && maps.EqualFunc(points, f.points, maps.Equal[choice.Point, choice.Point]) {
		return f.tuned, nil
	}
	if f.tuned != "" {
		os.Remove(f.tuned)
	}
	f.tuned, f.points = "", points
	path := filepath.Join(f.folder, "tuned.tar")
	if _, err := f.Pack(ctx, points, path); err != nil {
		return "", err
	}
	f.tuned = path
	return path, nil
}

// Runs are times of whole runs by the last verdict, with points and without, microseconds. Where there was none, they are of the network without
// points only.
func (f *Farm) Runs(ctx context.Context) (tuned, host []float64, err error) {
	if f.last[1] == nil {
		const opens, pairs = 2, 9
		_, host, err = f.Networks(ctx, nil, opens, pairs)
		return nil, host, err
	}
	return f.last[0], f.last[1], nil
}
