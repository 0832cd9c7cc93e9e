package tune

import (
	"maps"

	"lathe/internal/choice"
)

// idlePairs are pairs of points that differ in a value only and have equal code, behind which the value is given no more: one may be by chance.
const idlePairs = 2

// idle tells which values of decisions make no difference to a kernel's code: a prefetch of what nobody reads, steps of a loop that has one.
type idle struct {
	codes map[string]string        // by identity of a point
	rests map[string][]valueOfCode // points without one of their values → which these are
	same  map[value]int            // pairs with equal code; negative: one with other code was seen
}

type value struct{ name, text string }

type valueOfCode struct {
	value
	code string
}

// add takes in which code a point leads to; "" where that is not known.
func (d *idle) add(p choice.Point, code string) {
	if code == "" {
		return
	}
	if d.codes == nil {
		*d = idle{map[string]string{}, map[string][]valueOfCode{}, map[value]int{}}
	}
	id := identity(p)
	if _, ok := d.codes[id]; ok {
		return
	}
	d.codes[id] = code
	for _, longer := range d.rests[id] {
		d.pair(longer.value, longer.code == code)
	}
	for name, text := range p {
		rest := maps.Clone(p)
		delete(rest, name)
		id, v := identity(rest), value{name, text}
		if other, ok := d.codes[id]; ok {
			d.pair(v, other == code)
		}
		d.rests[id] = append(d.rests[id], valueOfCode{v, code})
	}
}

func (d *idle) pair(v value, same bool) {
	switch {
	case !same:
		d.same[v] = -1
	case d.same[v] >= 0:
		d.same[v]++
	}
}

// without is p without idle values.
func (d *idle) without(p choice.Point) choice.Point {
	cut := p
	for name, text := range p {
		if d.same[value{name, text}] >= idlePairs {
			if len(cut) == len(p) {
				cut = maps.Clone(p)
			}
			delete(cut, name)
		}
	}
	return cut
}
