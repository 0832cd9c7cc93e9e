package impl

import (
	"slices"

	"lathe/internal/expr"
)

// decideTogether asks how many rows are computed together whose elements lie at the same computed places of each: these are computed
// once for all. rest are the loops around lanes, and become those around rows and lanes.
//
//	for row { for v { y[row, v] = x[row, f(v)] } }   →   for row.o { for v { unroll row.i { y[row, v] = x[row, f(v)] } } }
func (k *kernel) decideTogether(block string, rest []string) ([]string, error) {
	loops := k.s.Loops(block)
	lanes := loops[len(loops)-1]
	if slices.Contains(rest, lanes) { // workers may divide it
		return rest, nil
	}
	at := len(loops) - 2
	for at >= 0 && k.s.Axis(loops[at]) == k.s.Axis(lanes) {
		at--
	}
	if at < 0 || !k.placesApart(block, loops[at], lanes) {
		return rest, nil
	}
	vectors := loops[at+1:]
	row := loops[at]
	extent := k.s.Extent(row)
	numbers := slices.DeleteFunc(Powers(mostTogether), func(u int) bool { return extent%u != 0 })
	u := k.DecideAmong("together", numbers[len(numbers)-1], nil, numbers...)
	if u == 1 {
		return rest, nil
	}
	o, i, err := k.s.Split(row, u)
	if err != nil {
		return nil, err
	}
	order := slices.Concat([]string{o}, vectors[:len(vectors)-1], []string{i, lanes})
	if err := k.s.Reorder(order...); err != nil {
		return nil, err
	}
	rest = slices.Clone(rest)
	rest[slices.Index(rest, row)] = o
	return rest, k.s.Unroll(i)
}

// placesApart reports whether addresses are computed from lanes, and none of it from a row, by more than a shift for one load: that
// takes no longer than the load.
func (k *kernel) placesApart(block, row, lanes string) bool {
	r, v := k.variable(block, row), k.variable(block, lanes)
	loads, divides := 0, false
	for _, a := range k.accesses(block) {
		computed := false
		for _, t := range a.at.Terms {
			if t.Atom == expr.Expr(v) || !expr.Uses(t.Atom, v) {
				continue
			}
			if expr.Uses(t.Atom, r) {
				return false
			}
			computed, divides = true, divides || !shifts(t.Atom)
		}
		if computed {
			loads++
		}
	}
	return loads > 0 && (loads > 1 || divides) && !k.straight(block, lanes)
}

// shifts reports whether e loads nothing, and divides by powers of two only.
func shifts(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Load:
			ok = false
		case *expr.Binary:
			if n, known := expr.IntOf(x.B); (x.Op == expr.OpFloorDiv || x.Op == expr.OpFloorMod) && (!known || n&(n-1) != 0) {
				ok = false
			}
		}
		return ok
	})
	return ok
}
