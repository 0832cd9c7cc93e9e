package tune

import (
	"maps"
	"slices"

	"lathe/internal/choice"
)

// An account is of decisions that were changed by themselves: of points that differ in nothing else.
type account struct {
	told  map[string]bool     // decisions that were
	tried map[string]bool     // identities of points
	rests map[string][]string // points without one of their decisions → which these are
	idle  idle
}

// add takes a point in.
func (a *account) add(p choice.Point) {
	if a.told == nil {
		*a = account{told: map[string]bool{}, tried: map[string]bool{identity(nil): true}, rests: map[string][]string{}}
	}
	id := identity(p)
	if a.tried[id] {
		return
	}
	a.tried[id] = true
	for _, name := range a.rests[id] {
		a.told[name] = true
	}
	for name := range p {
		rest := maps.Clone(p)
		delete(rest, name)
		id := identity(rest)
		if a.tried[id] || slices.Contains(a.rests[id], name) {
			a.told[name] = true
		}
		a.rests[id] = append(a.rests[id], name)
	}
}

// untried are moves from the best of decisions of which no trial tells what they do by themselves, one of each.
func (s *search) untried() []choice.Point {
	list := slices.DeleteFunc(moves(s.centres()[0], s.asks), func(m move) bool { return s.changed.told[m.name] })
	names := map[string]bool{}
	for _, m := range list {
		names[m.name] = true
	}
	return inTurn(list)[:len(names)]
}
