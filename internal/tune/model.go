package tune

import (
	"cmp"
	"math"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/records"
	"lathe/internal/tune/trees"
)

// Steering of the model.
const (
	weightPast  = 2    // of an example of an earlier run
	weightOwn   = 4    // of one of this run
	mostPast    = 2000 // examples of earlier runs that are learnt from
	fewExamples = 16   // of this run and earlier ones, below which there is no model beside the prior
)

// A model expects times of points over those of the rules, in the logarithm to base 2: what the prior knows, and what it does not explain
// of the trials of this run and earlier ones.
type model struct {
	words *vocabulary
	prior *trees.Model // nil: none
	own   *trees.Model // nil: too few trials
	past  []example
	off   bool // nobody asks
}

// An example is a trial that is learnt from.
type example struct {
	x         []float64
	y, weight float64
}

func newModel(p *Prior) *model {
	m := &model{words: newVocabulary(p.Names)}
	if len(p.Model.Trees) > 0 {
		m.prior = &p.Model
	}
	return m
}

func (m *model) trained() bool { return m.prior != nil || m.own != nil }

func (m *model) predict(x []float64) float64 {
	y := 0.0
	if m.prior != nil {
		y += m.prior.Predict(x)
	}
	if m.own != nil {
		y += m.own.Predict(x)
	}
	return y
}

// sort orders points of a task, those that are expected to be fastest first. Without a model they stay as they are.
func (m *model) sort(s *search, points []choice.Point) {
	if !m.trained() {
		return
	}
	type ranked struct {
		choice.Point
		y float64
	}
	work, rule := m.words.work(s.work()), s.root.told()
	list := make([]ranked, len(points))
	for i, p := range points {
		list[i] = ranked{p, m.predict(m.words.features(work, rule, s.expected(p)))}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.y, b.y) })
	for i := range list {
		points[i] = list[i].Point
	}
}

// recall takes records of earlier runs for examples, the latest of too many.
func (m *model) recall(list []records.Record) {
	list = list[max(0, len(list)-mostPast):]
	for _, r := range list {
		if r.Built != nil {
			r.Built = unbuilt(r.Built)
		}
		if e, ok := m.words.example(r); ok {
			e.weight *= weightPast
			m.past = append(m.past, e)
		}
	}
}

// unbuilt leaves out what only a build tells. It is not known of the points that are to be ranked, and what lacks it seems to have little of it.
func unbuilt(b *records.Built) *records.Built { return &records.Built{Taken: b.Taken, Cost: b.Cost} }

// example is what a record teaches; races by all workers and what lacks what building told teach nothing.
func (v *vocabulary) example(r records.Record) (e example, ok bool) {
	if r.Stage != records.Search || r.Raced > 1 || r.Built == nil || r.Rule == nil || r.Work == nil || r.Fault == records.None && r.Ratio <= 0 {
		return e, false
	}
	y := failed
	if r.Fault == records.None {
		y = r.Ratio
	}
	return example{v.features(v.work(r.Work), r.Rule, r.Built), math.Log2(y), certainty(r.Low, r.High)}, true
}

// certainty is the weight of a time with such bounds: that of one without noise is 1, and of bounds as wide as ordinary differences between
// points a half. What has no time is certain.
func certainty(low, high float64) float64 {
	const ordinary = 0.1
	if low <= 0 || high <= low {
		return 1
	}
	wide := math.Log(high/low) / ordinary
	return 1 / (1 + wide*wide)
}

// learn fits the model to all trials.
func (m *model) learn(tasks []*search) {
	if m.off {
		return
	}
	list := slices.Clone(m.past)
	for _, s := range tasks {
		if s.root == nil {
			continue
		}
		work, rule := m.words.work(s.work()), s.root.told()
		for _, t := range s.trials {
			if t.Workers <= 1 && len(t.Taken) > 0 {
				list = append(list, example{m.words.features(work, rule, unbuilt(t.told())), math.Log2(t.ratio()), weightOwn * certainty(t.Low, t.High)})
			}
		}
	}
	if len(list) < fewExamples {
		return
	}
	m.own = fit(list, m.prior, refit)
}

// refit is of a model that is fitted again behind every batch: half the trees of a prior, for half its time.
var refit = trees.Options{Rounds: 75, Rate: 0.2}

// fit learns what a prior does not explain.
func fit(list []example, prior *trees.Model, o trees.Options) *trees.Model {
	x, y, weight := make([][]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for i, e := range list {
		x[i], y[i], weight[i] = e.x, e.y, e.weight
		if prior != nil {
			y[i] -= prior.Predict(e.x)
		}
	}
	return trees.Fit(x, y, weight, o)
}
