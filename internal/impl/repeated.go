package impl

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
)

// decideRepeated has what is written several times written everywhere piece by piece: what is read for a piece stays in L1 then, and comes from L2 or
// from farther away only once. rest are the loops around vectors; it returns those that workers may divide then, and nothing where nothing is
// done.
//
//	for copy { for v { y[copy, v] = x[v] } }   →   for piece { for copy { for v.i { y[copy, v] = x[v] } } }
func (k *kernel) decideRepeated(block string, rest []string) (divided []string, err error) {
	var numbers []int
	least, room := 0, Crowded(k.core.L1)
	k.trial(func() bool {
		loops, at := k.copies(block, rest)
		if at < 0 || room == 0 {
			return false // of which nothing is known
		}
		inside := loops[at+1]
		numbers = divisors(k.s.Extent(inside))
		both := 2 * k.readInside(block, loops[at]) // with what is written
		least = min((both+room-1)/room, k.s.Extent(inside))
		return false
	})
	if least < 2 {
		return nil, nil // L1 holds it
	}
	count := numbers[slices.IndexFunc(numbers, func(d int) bool { return d >= least })]
	if count = k.DecideAmong("repeated", count, nil, numbers...); count == 1 {
		return nil, nil
	}
	loops, at := k.copies(block, rest)
	piece, each, err := k.s.Split(loops[at+1], k.s.Extent(loops[at+1])/count)
	if err != nil {
		return nil, err
	}
	return slices.Concat(loops[:at], []string{piece, loops[at]}), k.s.Reorder(piece, loops[at], each)
}

// copies finds the innermost loop in each of whose iterations a block writes the same, which is not the last; -1 where there is none. A loop of
// whose variable loads use a remainder is cut into one over copies and one over what is in a copy, as of a tensor that stands several times.
func (k *kernel) copies(block string, rest []string) (loops []string, at int) {
	last := len(rest) - 1
	for at = last - 1; at >= 0; at-- {
		if k.writesAgain(block, rest[at]) {
			return rest, at
		}
	}
	for at = last; at >= 0; at-- {
		period := k.period(block, rest[at])
		if period < 2 || k.s.Extent(rest[at])%period > 0 || k.s.Extent(rest[at]) == period {
			continue
		}
		var o, i string
		if k.try(func() (ok bool) {
			var err error
			o, i, err = k.s.Split(rest[at], period)
			return err == nil && k.writesAgain(block, o)
		}) {
			return slices.Concat(rest[:at], []string{o, i}, rest[at+1:]), at
		}
	}
	return rest, -1
}

// writesAgain reports whether a block with loads writes the same along a loop again.
func (k *kernel) writesAgain(block, name string) bool {
	v, loads := k.variable(block, name), 0
	for _, a := range k.accesses(block) {
		if a.store {
			continue
		}
		if loads++; uses(a.at, v) {
			return false
		}
	}
	return loads > 0 && k.s.Extent(name) > 1
}

// period is after how many iterations of a loop a load reads the same again, by a remainder in its address; 0 where there is none.
func (k *kernel) period(block, name string) (n int) {
	v := k.variable(block, name)
	for _, a := range k.accesses(block) {
		for _, t := range a.at.Terms {
			expr.Walk(t.Atom, func(e expr.Expr) bool {
				x, ok := e.(*expr.Binary)
				if !ok || x.Op != expr.OpFloorMod || a.store {
					return true
				}
				c, inside := arith.LinearOf(x.A).Coef(v)
				if m, known := expr.IntOf(x.B); known && !inside && c > 0 && m%c == 0 {
					n = max(n, int(m/c))
				}
				return true
			})
		}
	}
	return n
}

// readInside is how many bytes a block reads in one iteration of a loop, at most.
func (k *kernel) readInside(block, name string) (all int) {
	loops := k.s.Loops(block)
	for _, a := range k.accesses(block) {
		if a.store {
			continue
		}
		bytes := a.buf.DType.Bytes(int(a.each))
		for _, l := range loops[slices.Index(loops, name)+1:] {
			if uses(a.at, k.variable(block, l)) {
				bytes = min(a.buf.Bytes(), bytes*k.s.Extent(l))
			}
		}
		all += bytes
	}
	return all
}

// divisors of a number, the least first.
func divisors(n int) (list []int) {
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			list = append(list, d)
		}
	}
	return list
}
