package tune

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// Steering of a tuning.
const (
	batch     = 16   // candidates that are built and raced together
	enough    = 0.01 // of the network's time, below which all tasks together promise too little to go on
	forDivide = 0.1  // share of the trials for divisions among workers
	longest   = 20   // tasks whose division is tuned
	finalists = 2    // of a task that are confirmed
	noiseTime = 500 * time.Millisecond
)

// A run is one tuning.
type run struct {
	Options
	ctx      context.Context
	builder  Builder
	measurer Measurer
	tuner    Tuner
	guide    guide
	tasks    []*search
	result   Result
	begun    time.Time
	clock    clock
	new      int // trials of this run
}

// Run tunes tasks. Tasks are numbered as in the list that the builder and the measurer know, of which they may be some. What was
// found until ctx ended is in the records; the result is of no use then.
func Run(ctx context.Context, tasks []Task, b Builder, m Measurer, o Options) (Result, error) {
	tuner, err := tunerNamed(o.Tuner)
	if err != nil {
		return Result{}, err
	}
	r := &run{Options: o, ctx: ctx, builder: b, measurer: m, tuner: tuner, begun: time.Now()}
	r.guide = guide{Rand: rand.New(rand.NewPCG(o.Seed, 0)), model: newModel(embedded())}
	r.guide.model.off = !tuner.learns
	r.By.Seed, r.By.Tuner = o.Seed, tuner.Name
	tooLow := underrated(tasks)
	for i := range tasks {
		s := &search{Task: &tasks[i], lanes: o.Lanes, seen: map[string]bool{}, asks: r.asks, tooLow: tooLow}
		r.tasks = append(r.tasks, s)
	}
	if r.Host == 0 {
		for _, s := range r.tasks {
			r.Host += s.Weight()
		}
	}
	r.clock = clock{begun: r.Begun, started: r.begun, limit: r.Time, host: r.Host, packing: r.Packing, opening: r.Opening}
	if r.Begun.IsZero() {
		r.clock.begun = r.begun
	}
	r.result.Stages = map[Stage]time.Duration{}
	var searched time.Duration
	for _, step := range []struct {
		Stage
		do func() error
	}{{Noise, r.listen}, {Searching, r.roots}, {Searching, r.resume}, {Searching, r.search}, {Dividing, r.divide}, {Proving, r.prove}, {Judging, r.judge}} {
		if r.SearchOnly && step.Stage != Noise && step.Stage != Searching {
			continue
		}
		from := time.Now()
		switch step.Stage {
		case Proving:
			searched = time.Since(r.begun)
			r.clock.grant(searched)
		case Judging:
			r.clock.grant(searched)
		}
		if err := step.do(); err != nil {
			return r.result, err
		}
		r.result.Stages[step.Stage] += time.Since(from)
	}
	if r.SearchOnly {
		for _, s := range r.tasks {
			r.result.Found = append(r.result.Found, Found{Task: s.Task, Host: s.root, Trials: s.trials})
		}
	}
	r.result.Took = time.Since(r.begun)
	return r.result, nil
}

// asks leaves the division among workers to a stage of its own: one worker's share does not tell of it.
func (r *run) asks(name string) bool { return !Divides(name) }

// listen measures how much equal kernels differ.
func (r *run) listen() error {
	r.say(Progress{Stage: Noise})
	ratios, err := r.measurer.Noise(r.ctx, noiseTime)
	if err != nil {
		return err
	}
	r.result.Noise = Estimated(ratios, searchBounds)
	if n := len(ratios); n > 0 {
		s := slices.Sorted(slices.Values(ratios))
		r.result.Spread = s[n-1-n/20] - s[n/20]
	}
	return nil
}

// roots builds every task as the rules have it, which tells its space.
func (r *run) roots() error {
	list := make([]Candidate, len(r.tasks))
	for i, s := range r.tasks {
		list[i] = Candidate{s.Index, choice.Point{}}
		s.seen[identity(choice.Point{})] = true
	}
	for part := range slices.Chunk(list, batch) {
		built, err := r.build(part)
		if err != nil {
			return err
		}
		for i := range built {
			if built[i].Fault == records.None {
				r.of(part[i].Task).root = &built[i]
			}
		}
	}
	return nil
}

func (r *run) of(task int) *search {
	i := slices.IndexFunc(r.tasks, func(s *search) bool { return s.Index == task })
	return r.tasks[i]
}

func (r *run) build(list []Candidate) ([]Built, error) {
	defer func(from time.Time) { r.result.Built += time.Since(from) }(time.Now())
	built, err := r.builder.Build(r.ctx, list)
	if err == nil && len(built) != len(list) {
		err = fmt.Errorf("%d of %d candidates came back from being built", len(built), len(list))
	}
	return built, err
}

func (r *run) race(list []Built, stop Stop) ([]Samples, error) {
	defer func(from time.Time) { r.result.Raced += time.Since(from) }(time.Now())
	stop.Number, stop.Least, stop.MinSample = max(stop.Number, r.Number), max(stop.Least, r.Repeat), r.MinSample
	samples, err := r.measurer.Race(r.ctx, list, stop)
	if err == nil && len(samples) != len(list) {
		err = fmt.Errorf("%d of %d candidates came back from the race", len(samples), len(list))
	}
	return samples, err
}

// search tries points until the budget is used, or too little is promised.
func (r *run) search() error {
	if r.Replay != nil {
		return r.replay()
	}
	budget := r.Trials
	if r.Workers > 1 && !r.SearchOnly {
		budget -= int(forDivide * float64(budget))
	}
	var next *trying
	for {
		if r.result.Ended = r.ends(budget, 0); r.result.Ended != "" {
			next.leave()
			return nil
		}
		if next == nil {
			next = r.begin(r.propose(r.room(budget, 0)))
		}
		if next == nil {
			r.result.Ended = "every point was tried"
			return nil
		}
		var err error
		if next, err = r.try(next, budget); err != nil {
			next.leave()
			return err
		}
	}
}

// room is how many candidates are proposed together, beside some that are under way.
func (r *run) room(budget, underWay int) int {
	if budget <= 0 {
		return batch
	}
	return max(0, min(batch, budget-r.result.Trials-underWay))
}

// ends says why the search is over when those trials that are under way have ended; "" while it goes on.
func (r *run) ends(budget, underWay int) string {
	sum := 0.0
	for _, s := range r.tasks {
		if r.EarlyStopping > 0 && s.since >= r.EarlyStopping {
			s.done = true
		}
		sum += s.promises()
	}
	switch {
	case r.Trials > 0 && r.result.Trials+underWay >= budget:
		return "the trials were used up"
	case r.clock.over(forSearch):
		return "the time was used up"
	case sum == 0 && r.result.Trials > 0, r.EarlyStopping == 0 && r.result.Trials > 0 && sum < enough*micro(r.Host):
		return "no task promised enough"
	}
	return ""
}

// propose divides a batch among tasks by what they promise, as seats of a parliament are by d'Hondt, several at a time.
func (r *run) propose(n int) []Candidate {
	seats := make([]int, len(r.tasks))
	for left := n; left > 0; {
		best, at := 0.0, -1
		for i, s := range r.tasks {
			if s.racing {
				continue // what it promises is being found
			}
			if p := s.promises() / float64(seats[i]/r.tuner.beside+1); p > best {
				best, at = p, i
			}
		}
		if at < 0 {
			break
		}
		more := min(r.tuner.beside, left)
		seats[at] += more
		left -= more
	}
	var list []Candidate
	for i, s := range r.tasks {
		if seats[i] == 0 {
			continue
		}
		points := r.tuner.next(s, seats[i], &r.guide)
		s.done = s.done || len(points) == 0
		for _, p := range points {
			list = append(list, Candidate{s.Index, p})
		}
	}
	if len(list) == 0 && slices.ContainsFunc(r.tasks, func(s *search) bool { return s.promises() > 0 && !s.racing }) {
		return r.propose(n) // those without points left are done
	}
	return list
}

// measure races what was built, writes records, and returns the trials in that order. While searching, code that was raced before does not
// race again.
func (r *run) measure(built []Built, stop Stop, stage records.Stage) ([]*Trial, error) {
	racing := make([]Built, 0, len(built))
	raced := make([]bool, len(built))
	for i, b := range built {
		again := stage == records.Search && (r.twin(&b, stop.Workers, nil) != nil || slices.ContainsFunc(racing, func(c Built) bool { return c.twin(&b) }))
		if raced[i] = r.races(&b) && !again; raced[i] {
			racing = append(racing, b)
		}
	}
	var samples []Samples
	if len(racing) > 0 {
		var err error
		if samples, err = r.race(racing, stop); err != nil {
			return nil, err
		}
	}
	var trials []*Trial
	for i, b := range built {
		t := &Trial{Built: b, Fault: b.Fault, Tuner: r.tuner.Name, Workers: stop.Workers}
		var s Samples
		switch {
		case b.Same:
			t.Estimate = Estimate{1, 1, 1, 1} // it is the host's code
		case raced[i]:
			s, samples = samples[0], samples[1:]
			t.Fault, t.Message = s.Fault, s.Message
			if t.Estimate = Quiet(s.Times, s.Host); stage == records.Confirm {
				t.Estimate = Estimated(Ratios(s.Times, s.Host), searchBounds)
			}
		case r.races(&b):
			twin := r.twin(&b, stop.Workers, trials)
			t.Estimate, t.Fault, t.Message = twin.Estimate, twin.Fault, twin.Message
		}
		if stage == records.Search {
			r.new++
			r.result.Trials++
			t.Index = r.result.Trials
		}
		rec := r.record(t, s, stage)
		rec.Accepted = stage == records.Confirm && t.ok() && stop.accepted(Ratios(s.Times, s.Host))
		t.won = rec.Accepted
		if err := r.write(rec); err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// twin is an earlier trial of the same code by as many workers, or one among more; nil: there is none.
func (r *run) twin(b *Built, workers int, more []*Trial) *Trial {
	for _, t := range slices.Concat(r.of(b.Task).trials, more) {
		if t.Workers == workers && t.Built.twin(b) {
			return t
		}
	}
	return nil
}

// twin reports that both have the same code.
func (b *Built) twin(c *Built) bool {
	return b.Task == c.Task && b.Object == c.Object && b.Object != ""
}

// races reports a candidate that is run: other code than the host's, of which the compiler does not expect that it takes many times as long.
func (r *run) races(b *Built) bool {
	if b.Fault != records.None || b.Same {
		return false
	}
	root := r.of(b.Task).root
	return root == nil || !(root.Cycles > 0) || b.Cycles <= hopeless*root.Cycles
}

// take adds a trial to its task and passes a gain on to its neighbours.
func (r *run) take(t *Trial) {
	s := r.of(t.Task)
	s.add(t)
	if t.Fault != records.None {
		r.result.Faults++
	}
	if s.since == 0 {
		for _, other := range r.tasks {
			if other != s && other.Anchor == s.Anchor && s.Anchor != "" {
				other.starts = append(other.starts, t.Point)
			}
		}
	}
	p := Progress{Stage: Searching, Task: s.Task, Best: s.rate(s.ratio()), Done: len(s.trials), Planned: len(s.trials)}
	if r.Trials > 0 {
		p.Planned = max(p.Done, r.Trials/len(r.tasks))
	}
	if t.ok() {
		p.Current = s.rate(t.Ratio)
	}
	r.say(p)
}

// rate is the speed at a ratio, GFLOP/s.
func (s *search) rate(ratio float64) float64 {
	if s.Time <= 0 {
		return 0
	}
	return s.FLOPs / (float64(s.Time.Nanoseconds()) * ratio)
}

// say tells what is going on.
func (r *run) say(p Progress) {
	if r.Progress == nil {
		return
	}
	p.Took, p.Trials, p.Budget, p.Faults = time.Since(r.begun), r.result.Trials, r.Trials, r.result.Faults
	p.Host, p.Expected, p.Tasks = r.Host, r.Host, len(r.tasks)
	for i, s := range r.tasks {
		if s.Task == p.Task {
			p.Number = i + 1
		}
		p.Expected -= time.Duration((1 - s.ratio()) * float64(s.Weight()))
	}
	if r.Trials > 0 && r.new > 0 && p.Stage == Searching {
		p.Left = p.Took / time.Duration(r.new) * time.Duration(max(0, r.Trials-r.result.Trials))
	}
	if r.Time > 0 {
		if left := max(0, r.clock.left()); p.Left == 0 || left < p.Left {
			p.Left = left
		}
	}
	r.Progress(p)
}

// micro is a time in microseconds.
func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
