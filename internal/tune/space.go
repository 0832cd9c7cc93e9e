package tune

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"lathe/internal/choice"
)

// The space of a task is known around what was built: a build tells which decisions were asked and what they could have been. A
// move changes one of them and keeps the others that were given; those behind it may get other values to choose from, or be asked
// no more.

// A move is a point one decision away from one that was built.
type move struct {
	choice.Point
	name     string
	distance int     // of the value in the list from what was taken
	cost     float64 // the rules' estimate over that of what was taken; 0: there is none
}

// moves are those from b for whose decisions asks holds, in the order of asking.
func moves(b *Built, asks func(name string) bool) []move {
	var list []move
	for _, d := range b.Asked {
		if !asks(d.Name) {
			continue
		}
		from := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text == b.Taken[d.Name] })
		if from < 0 {
			continue
		}
		for i, v := range d.Values {
			if i == from {
				continue
			}
			m := move{Point: given(b.Point, d, i), name: d.Name, distance: max(i-from, from-i)}
			if v.Cost > 0 && d.Values[from].Cost > 0 {
				m.cost = v.Cost / d.Values[from].Cost
			}
			list = append(list, m)
		}
	}
	return list
}

// given is p with a decision taken. What the rules take anyway is not given, so that a point has one way to be written.
func given(p choice.Point, d choice.Decision, i int) choice.Point {
	q := maps.Clone(p)
	if q == nil {
		q = choice.Point{}
	}
	if i == d.Default {
		delete(q, d.Name)
	} else {
		q[d.Name] = d.Values[i].Text
	}
	return q
}

// children are the moves of decisions behind the last that b gives. Every point of the space is the child of one other, by which
// all are found once.
func children(b *Built, asks func(string) bool) []move {
	last := -1
	for i, d := range b.Asked {
		if _, ok := b.Point[d.Name]; ok {
			last = i
		}
	}
	rest := *b
	rest.Asked = b.Asked[last+1:]
	return moves(&rest, asks)
}

// wander changes several decisions of b at random, the first one surely. Those behind a changed one may not be legal then.
func wander(b *Built, asks func(string) bool, r *rand.Rand) choice.Point {
	var open []choice.Decision
	for _, d := range b.Asked {
		if len(d.Values) > 1 && asks(d.Name) {
			open = append(open, d)
		}
	}
	if len(open) == 0 {
		return nil
	}
	p := b.Point
	for n := 1 + r.IntN(len(open)); n > 0; n-- {
		d := open[r.IntN(len(open))]
		p = given(p, d, r.IntN(len(d.Values)))
	}
	return p
}

// cross takes each decision that either parent gives from one of them.
func cross(a, b choice.Point, r *rand.Rand) choice.Point {
	p := choice.Point{}
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		from := a
		if r.IntN(2) == 1 {
			from = b
		}
		if text, ok := from[name]; ok {
			p[name] = text
		}
	}
	return p
}

func union(a, b choice.Point) choice.Point {
	u := maps.Clone(a)
	if u == nil {
		u = choice.Point{}
	}
	maps.Copy(u, b)
	return u
}

// identity is a text that equal points share.
func identity(p choice.Point) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		b.WriteString(name + "\x00" + p[name] + "\x00")
	}
	return b.String()
}

// dividing are the decisions how workers share a kernel, in the words of docs/decisions.md. They say nothing about one worker's
// share, by which the others are measured.
var dividing = []string{"workers", "division", "chunks", "pieces"}

// Divides reports a decision on the division among workers, of whatever block.
func Divides(name string) bool {
	name, _, _ = strings.Cut(name, "(")
	return slices.Contains(dividing, name)
}
