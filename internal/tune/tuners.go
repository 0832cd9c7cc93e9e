package tune

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/tool/spelling"
)

// A Tuner is a way to propose points.
type Tuner struct {
	Name string
	Doc  string
	next func(s *search, n int, g *guide) []choice.Point // at most n points that were not proposed before

	spaces bool // it moves on from every point, not from the best only
	learns bool // it asks the model
	beside int  // points of a task in a batch: they share the way to its step and the host's runs, and know nothing of each other
}

// Tuners is the list of tuners, the default first. tvmc's variants of xgb differ in what its model sees; here they are one.
var Tuners = []Tuner{
	{"xgb", "what a model of boosted trees expects most of, and moves from the best", ranked, false, true, 4},
	{"ga", "crossings and mutations of the best", genetic, false, false, 4},
	{"random", "points at random", random, false, false, 4},
	{"gridsearch", "all points, those with the fewest changes of the rules' decisions first", grid, true, false, 4},
	{"droplet", "coordinate descent from the best", droplet, false, false, 2},
}

// xgbVariants are other names of xgb.
var xgbVariants = []string{
	"xgb_knob", "xgb_itervar", "xgb_curve", "xgb_rank", "xgb_rank_knob", "xgb_rank_itervar", "xgb_rank_curve",
	"xgb_rank_binary", "xgb_rank_binary_knob", "xgb_rank_binary_itervar", "xgb_rank_binary_curve",
}

// TunerNames are all names that a tuner can be called by.
func TunerNames() []string {
	var names []string
	for _, t := range Tuners {
		names = append(names, t.Name)
	}
	return append(names, xgbVariants...)
}

func tunerNamed(name string) (Tuner, error) {
	if name == "" || slices.Contains(xgbVariants, name) {
		name = Tuners[0].Name
	}
	i := slices.IndexFunc(Tuners, func(t Tuner) bool { return t.Name == name })
	if i < 0 {
		return Tuner{}, fmt.Errorf("there is no tuner %q (choose from %s)%s", name, strings.Join(TunerNames(), ", "), spelling.Hint(name, TunerNames()))
	}
	return Tuners[i], nil
}

// A guide is what tuners share.
type guide struct {
	*rand.Rand
	model *model
}

// Steering of proposals.
const (
	population = 50  // parents of the genetic tuner, as tvmc's
	mutation   = 0.3 // share of its children that are moved once more
	pool       = 192 // points at random that the model ranks
	explore    = 8   // of so many proposals one is at random, whatever the model says
	descents   = 2   // of the best are moved from
	attempts   = 20  // for a point, before a space is taken to be exhausted
)

// ranked proposes the points that are to be tried first, and then those that the model expects most of, among moves from the
// best and points at random. At first it takes one value of each decision in turn, the rules' cheapest first: all without a model, and half
// beside a prior, which may never have seen such a kernel. Decisions that had no turn then have one each later: a model that expects nothing
// of them is not told that it is wrong by points that it chooses.
func ranked(s *search, n int, g *guide) []choice.Point {
	list := s.try(n, s.starts...)
	if s.root == nil {
		return list
	}
	if len(s.trials) < patience {
		turns := n - len(list)
		if g.model.trained() {
			turns = (turns + 1) / 2
		}
		list = append(list, s.try(turns, inTurn(moves(s.root, s.asks))...)...)
	}
	if len(s.trials) >= patience {
		list = append(list, s.try(min(1, n-len(list)), s.untried()...)...)
		near := nearest(s)
		g.model.sort(s, near)
		list = append(list, s.try((n-len(list)+1)/2, near...)...)
	}
	if g.model.trained() {
		var points []choice.Point
		for _, b := range s.centres() {
			for _, m := range moves(b, s.asks) {
				points = append(points, m.Point)
			}
			for range pool {
				points = append(points, wander(b, s.asks, g.Rand))
			}
		}
		points = slices.DeleteFunc(points, func(p choice.Point) bool { return p == nil || s.seen[identity(p)] })
		g.model.sort(s, points)
		for len(list) < n && len(points) > 0 {
			if g.IntN(explore) == 0 {
				list = append(list, random(s, 1, g)...)
				continue
			}
			list = append(list, s.try(1, points[0])...)
			points = points[1:]
		}
	}
	return append(list, random(s, n-len(list), g)...)
}

// inTurn takes one value of each decision after the other, those with costs first, and of a decision the cheapest and nearest first.
func inTurn(list []move) []choice.Point {
	turns := map[string][]move{}
	var names []string
	for _, m := range list {
		if turns[m.name] == nil {
			names = append(names, m.name)
		}
		turns[m.name] = append(turns[m.name], m)
	}
	for _, t := range turns {
		slices.SortStableFunc(t, func(a, b move) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.distance, b.distance)) })
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(turns[b][0].cost, turns[a][0].cost) })
	var points []choice.Point
	for round := 0; len(points) < len(list); round++ {
		for _, name := range names {
			if t := turns[name]; round < len(t) {
				points = append(points, t[round].Point)
			}
		}
	}
	return points
}

// centres are the points around which is looked: the best, or what the rules take.
func (s *search) centres() []*Built {
	var list []*Built
	for _, t := range s.best[:min(descents, len(s.best))] {
		if t.Ratio < 1 && len(t.Asked) > 0 {
			list = append(list, &t.Built)
		}
	}
	if len(list) < descents {
		list = append(list, s.root)
	}
	return list
}

// nearest are the moves from the centres to neighbouring values of a decision first.
func nearest(s *search) []choice.Point {
	var list []move
	for _, b := range s.centres() {
		list = append(list, moves(b, s.asks)...)
	}
	slices.SortStableFunc(list, func(a, b move) int { return cmp.Compare(a.distance, b.distance) })
	points := make([]choice.Point, len(list))
	for i, m := range list {
		points[i] = m.Point
	}
	return points
}

// droplet moves from the best to neighbouring values until nothing is left there, and goes on at random.
func droplet(s *search, n int, g *guide) []choice.Point {
	list := s.try(n, s.starts...)
	if s.root != nil {
		list = append(list, s.try(n-len(list), nearest(s)...)...)
	}
	return append(list, random(s, n-len(list), g)...)
}

// random changes decisions of what was built.
func random(s *search, n int, g *guide) (list []choice.Point) {
	if s.root == nil {
		return nil
	}
	for tries := attempts * n; len(list) < n && tries > 0; tries-- {
		from := s.root
		if i := g.IntN(len(s.built) + 1); i > 0 {
			from = s.built[i-1]
		}
		list = append(list, s.try(1, wander(from, s.asks, g.Rand))...)
	}
	return list
}

// grid proposes the children of what was built, in that order.
func grid(s *search, n int, _ *guide) (list []choice.Point) {
	if s.root == nil {
		return nil
	}
	for ; s.grown <= len(s.built); s.grown++ {
		from := s.root
		if s.grown > 0 {
			from = s.built[s.grown-1]
		}
		for _, m := range children(from, s.asks) {
			if len(list) == n {
				return list
			}
			list = append(list, s.try(1, m.Point)...)
		}
	}
	return list
}

// genetic crosses pairs of the best, of which better ones are taken more often.
func genetic(s *search, n int, g *guide) []choice.Point {
	list := s.try(n, s.starts...)
	parents := s.best[:min(population, len(s.best))]
	if len(s.trials) < population {
		return append(list, random(s, n-len(list), g)...)
	}
	pick := func() *Trial { return parents[min(g.IntN(len(parents)), g.IntN(len(parents)))] }
	for tries := attempts * n; len(list) < n && tries > 0 && len(parents) > 1; tries-- {
		a := pick()
		p := cross(a.Point, pick().Point, g.Rand)
		if g.Float64() < mutation && len(a.Asked) > 0 {
			p = union(p, wander(&a.Built, s.asks, g.Rand))
		}
		list = append(list, s.try(1, p)...)
	}
	return append(list, random(s, n-len(list), g)...)
}
