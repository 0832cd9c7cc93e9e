package impl

import (
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// scheduleAcc orders the accumulation: reductions outside, rows and vectors unrolled, lanes innermost. Vectors stand
// inside rows: the few vectors of an operand stay in registers while rows are broadcast one by one; fewer rows stay themselves.
func (k *kernel) scheduleAcc(t *tiling, at, vecAxis string, lanes int) (err error) {
	acc := t.acc
	rs, ss := k.reducing(acc, at)
	if i := slices.Index(ss, vecAxis); i >= 0 && i < len(ss)-1 {
		lane := ss[len(ss)-1]
		ss = slices.Delete(slices.Clone(ss[:len(ss)-1]), i, i+1)
		ss = append(ss, vecAxis, lane)
	}
	if t.streams > 1 {
		if ss, err = k.splitLast(ss, t.panel); err != nil {
			return err
		}
	}
	if ss, err = k.splitLast(ss, lanes); err != nil {
		return err
	}
	if t.streams <= 1 && vecAxis != "" {
		ss = k.fewerStay(ss)
	}
	scaled := false
	if rs, t.partLoop, scaled, err = k.decideParts(t, k.decideReductions(t, rs)); err != nil {
		return err
	}
	reduces := len(rs) > 0
	if i := k.decideSlide(t, rs, ss); i >= 0 {
		ss = slices.Insert(slices.Clone(ss), len(ss)-1, rs[i])
		rs = slices.Delete(slices.Clone(rs), i, i+1)
	}
	if err := k.s.Reorder(append(slices.Clone(rs), ss...)...); err != nil {
		return err
	}
	first := append(slices.Clone(rs), ss...)[0]
	for j, n := range ss {
		var err error
		if j == len(ss)-1 && k.laneStrides(acc, k.variable(acc, n)) {
			err = k.s.Vectorize(n)
		} else {
			err = k.s.Unroll(n)
		}
		if err != nil {
			return err
		}
	}
	if !reduces {
		return nil
	}
	if err := k.s.DecomposeReduction(acc, first); err != nil || len(rs) == 0 {
		return err
	}
	last := rs[len(rs)-1]
	if k.digits(acc, last) {
		err = k.s.Unroll(last)
	} else {
		err = k.unrollReduction(t, ss, last)
	}
	if err != nil {
		return err
	}
	return k.cutSum(acc, t.partLoop, scaled)
}

// fewerStay orders the loops of a tile, rows, vectors and lanes, for fewer rows than vectors: the rows' operands stay in registers then
// while vectors pass one by one.
func (k *kernel) fewerStay(tile []string) []string {
	last := len(tile) - 2
	if last < 1 || k.vectorsOf(tile) >= k.s.Extent(tile[last])*k.s.Extent(tile[last]) {
		return tile
	}
	return slices.Concat(tile[last:last+1], tile[:last], tile[last+1:])
}

// digits reports whether a reduction loop goes over the elements of 4 bits of one word, so that each iteration takes its own.
func (k *kernel) digits(acc, name string) bool {
	return k.s.Extent(name) == loop.NibbleLanes && slices.ContainsFunc(k.accesses(acc), func(a access) bool {
		n, ok := a.stride(k.variable(acc, name))
		return ok && n == 1 && a.buf.DType.IsNibble()
	})
}

// unrollReduction asks how many steps of the innermost reduction loop are unrolled. ss are the loops of the tile.
func (k *kernel) unrollReduction(t *tiling, ss []string, last string) error {
	acc := t.acc
	dots := k.dotOf(acc) != nil
	first := k.core.loadsFirst(dots)
	n, def := k.s.Extent(last), 1
	heavy := k.worked(k.core.registers(0), acc) < k.core.registers(0)
	if (n > 2 || n > 1 && dots) && !k.looksUp(acc) && !first && !heavy {
		tiled := len(ss) > 0 && !k.apart(acc, ss)
		switch {
		case tiled && n*k.vectorsOf(ss) <= WholeBody && (n%ReductionUnroll == 0 || n%2 == 1 && !k.lanesTwice(acc, ss)):
			def = n
		case tiled && n%ReductionUnroll == 0 && ReductionUnroll*k.vectorsOf(ss) <= longBody:
			def = ReductionUnroll
		case n%2 == 0:
			def = 2
		}
	}
	most := 2 * ReductionUnroll
	if heavy {
		most = 1
	}
	return k.UnrollSteps(t.decision("steps"), last, def, most)
}

// lanesTwice reports whether each product of a tile, whose loops are given with the lanes innermost, is of two vectors from memory, as of a
// depthwise convolution. Steps that follow each other read most of them again: LLVM keeps those of all that it sees at once.
func (k *kernel) lanesTwice(acc string, tile []string) bool {
	lane, loads := k.variable(acc, tile[len(tile)-1]), 0
	for _, a := range k.accesses(acc) {
		if n, ok := a.stride(lane); !a.store && a.buf.Scope != loop.Reg && (!ok || n != 0) {
			loads++
		}
	}
	return loads > 1
}

// vectorsOf is the number of vectors of a tile, whose loops are given with the lanes innermost.
func (k *kernel) vectorsOf(tile []string) int {
	n := 1
	for _, l := range tile[:len(tile)-1] {
		n *= k.s.Extent(l)
	}
	return n
}

// UnrollSteps asks how many steps of a reduction loop are unrolled, at most so many, and unrolls them.
func (k *kernel) UnrollSteps(name, last string, def, most int) error {
	n := k.s.Extent(last)
	numbers := slices.DeleteFunc(Powers(most), func(u int) bool { return u > 1 && (u > n || n%u != 0) })
	u := k.DecideAmong(name, def, nil, numbers...)
	switch u {
	case 1:
		return nil
	case n:
		return k.s.Unroll(last)
	}
	_, in, err := k.s.Split(last, u)
	if err != nil {
		return err
	}
	return k.s.Unroll(in)
}

// apart reports whether a tile, whose loops are given, reads elements that no load reaches from one address. Every step
// takes addresses of its own for them, and with many steps at once LLVM's scheduler loads ahead of the arithmetic.
func (k *kernel) apart(acc string, tile []string) bool {
	if k.core.Reach == 0 {
		return false
	}
	for _, a := range k.accesses(acc) {
		span := int64(0)
		for _, n := range tile {
			c, _ := a.at.Coef(k.variable(acc, n))
			span += max(c, -c) * int64(k.s.Extent(n)-1)
		}
		if !a.store && span*int64(a.buf.DType.Size()) > int64(k.core.Reach) {
			return true
		}
	}
	return false
}

// looksUp reports whether some load's place is itself loaded. Steps of such a reduction are not unrolled: LLVM's
// scheduler would move the loads of all of them to the front, to hide how long an address takes, and spill accumulators.
func (k *kernel) looksUp(block string) bool {
	b, _ := k.find(block)
	found := false
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		for _, x := range l.Index {
			expr.Loads(x, func(*expr.Load) { found = true })
		}
	})
	return found
}

// decideReductions asks for the order of the reduction loops.
func (k *kernel) decideReductions(t *tiling, rs []string) []string {
	def := k.orderReductions(t.acc, rs)
	if len(rs) < 2 || len(rs) > 4 {
		return def
	}
	orders := permutations(def)
	values := make([]choice.Value, len(orders))
	for i, o := range orders {
		values[i].Text = strings.ReplaceAll(strings.Join(o, " "), t.acc+"_", "")
	}
	return orders[k.decide(t.decision("reductions"), 0, values)]
}

// permutations lists all orders, the given one first.
func permutations(list []string) [][]string {
	if len(list) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range list {
		for _, rest := range permutations(slices.Concat(list[:i], list[i+1:])) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// orderReductions puts the loop with the smallest stride innermost, so that memory is streamed.
func (k *kernel) orderReductions(acc string, rs []string) []string {
	stride := func(n string) int64 {
		v, most := k.variable(acc, n), int64(0)
		for _, a := range k.accesses(acc) {
			if !a.store {
				if s, ok := a.stride(v); ok {
					most = max(most, max(s, -s))
				}
			}
		}
		return most
	}
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b string) int { return int(stride(b) - stride(a)) })
	return rs
}

// splitBlockedReductions splits each reduction loop by the blocks in which its operands are laid out, larger ones first, so that
// quotients and remainders of the loop variable disappear from the addresses.
func (k *kernel) splitBlockedReductions(acc string) {
	k.splitBlocked(acc, func(it loop.Iter) bool { return it.Reduce })
}

// splitBlocked splits the loops of axes so.
func (k *kernel) splitBlocked(block string, axes func(loop.Iter) bool) {
	b, around := k.find(block)
	for _, f := range around {
		var blocks []int
		for _, it := range b.Iters {
			if !axes(it) || it.Binding != expr.Expr(f.Var) {
				continue
			}
			expr.Walk(b.Body.Value, func(e expr.Expr) bool {
				if x, ok := e.(*expr.Binary); ok && (x.Op == expr.OpFloorDiv || x.Op == expr.OpFloorMod) && counts(x.A, it.Var) {
					if c, ok := expr.IntOf(x.B); ok && c > 1 {
						blocks = append(blocks, int(c))
					}
				}
				return true
			})
		}
		slices.SortFunc(blocks, func(a, b int) int { return b - a })
		name, extent := f.Var.Name, 0
		if n, ok := expr.IntOf(f.Extent); ok {
			extent = int(n)
		}
		for _, block := range slices.Compact(blocks) {
			if block >= extent || extent != k.s.Extent(name) && extent%block != 0 {
				continue
			}
			_, inner, err := k.s.Split(name, block)
			if err != nil {
				k.fail(err)
				return
			}
			name, extent = inner, block
		}
	}
}
