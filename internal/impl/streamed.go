package impl

import (
	"cmp"
	"slices"

	"lathe/internal/loop"
)

// streamed schedules reductions of a large operand of which every element is used once, and which is reduced over lines of neighbours: a
// vector times a matrix as it lies, or a mean over an axis that is not the last. It reads the operand in the order in which it lies,
// some lines at once, and keeps the sums of a line in scratch, where the cache has them: to keep them in registers over the whole
// reduction is to read a piece of every line, of which each begins in another page, again and again.
//
//	parallel (outer axes, pieces of lines) { total[...] = 0; for (lines.o) { vectors of a line { sum of (lines.i); total += sum } }; y = f(total) }
func streamed(k *kernel) error {
	t := tiling{out: k.outBlock(), acc: k.accBlock()}
	if !k.vectors(&t) {
		return errRefused
	}
	line := k.lineOf(&t)
	if line == nil {
		return errRefused
	}
	others := 1
	var outer, inner []string
	for _, n := range k.s.Loops(t.out) {
		switch {
		case n == t.lane:
		case slices.Contains(line, n):
			inner = append(inner, n)
		default:
			outer = append(outer, n)
			others *= k.s.Extent(n)
		}
	}
	if err := k.splitVectors(&t); err != nil {
		return err
	}
	if t.vecLoop != "" {
		along := append(inner, t.vecLoop)
		first := along[0]
		b, _ := k.find(t.acc)
		count := k.linePieces(along, t.lanes*b.Body.To.DType.Size(), others)
		o, i, err := k.s.Split(first, (k.s.Extent(first)+count-1)/count)
		if err != nil {
			return err
		}
		outer, inner = append(outer, o), append([]string{i}, along[1:]...)
	}
	if err := k.s.Reorder(slices.Concat(outer, inner, []string{t.lane})...); err != nil {
		return errRefused
	}
	at := outer[len(outer)-1]
	if err := k.s.ComputeAt(t.acc, at, loop.Worker); err != nil {
		return errRefused
	}
	if err := k.sumLines(&t, at); err != nil {
		return err
	}
	if err := k.s.Vectorize(t.lane); err != nil {
		return err
	}
	return k.Parallelize(outer)
}

// sumLines schedules the reduction inside loop at: some lines at once for each vector of the totals.
func (k *kernel) sumLines(t *tiling, at string) error {
	rs, ss := k.reducing(t.acc, at)
	rs = k.orderReductions(t.acc, rs)
	ss, err := k.splitLast(ss, t.lanes)
	if err != nil {
		return err
	}
	last := len(ss) - 1
	lines := k.s.Extent(rs[len(rs)-1])
	together := k.linesTogether(lines)
	if k.crowded(t.acc, rs[len(rs)-1]) {
		together = 1
	}
	each := k.DecideAmong("together_lines", min(lines, together), nil, Powers(2*linesAtOnce)...)
	summed := rs[len(rs)-1]
	rs = rs[:len(rs)-1]
	if each < lines {
		o, i, err := k.s.Split(summed, each)
		if err != nil {
			return err
		}
		rs, summed = append(rs, o), i
	}
	order := slices.Concat(rs, ss[:last], []string{summed, ss[last]})
	if err := k.s.Reorder(order...); err != nil {
		return err
	}
	if err := k.s.Vectorize(ss[last]); err != nil {
		return err
	}
	if err := k.s.DecomposeReduction(t.acc, order[0]); err != nil {
		return err
	}
	if last > 0 && each > 1 {
		if err := k.s.FoldAt(t.acc, ss[last-1], loop.Reg); err != nil {
			return err
		}
	}
	return k.s.Unroll(summed)
}

// crowded reports whether lines come from memory that are so near to each other that none is a stream by itself: several in a page, side by side,
// look like none, and what comes in its order is one.
func (k *kernel) crowded(acc, lines string) bool {
	v := k.variable(acc, lines)
	read, apart := 0, int64(0) // of the largest operand, bytes
	for _, a := range k.accesses(acc) {
		if n, _ := a.at.Coef(v); !a.store && a.buf.Bytes() > read {
			read, apart = a.buf.Bytes(), n*int64(a.buf.DType.Size())
		}
	}
	return read > Working(k.core.L2) && 0 < apart && apart < leastPiece
}

// linesTogether is the number of lines whose elements are summed in a register before the total is read and written: the greatest divisor
// of n up to what most prefetchers follow, or that number.
func (k *kernel) linesTogether(n int) int {
	for d := linesAtOnce; d > linesAtOnce/2; d-- {
		if n%d == 0 {
			return d
		}
	}
	return linesAtOnce
}

// linePieces asks into how many pieces the outermost of the loops along a line, the last of which counts vectors of so many bytes, is cut: so many that
// with the others there are enough for four workers, and that the totals of a piece stay in L1 beside what streams through, none shorter than a
// prefetcher needs to begin.
func (k *kernel) linePieces(along []string, bytes, others int) int {
	const workers = 4
	for _, n := range along {
		bytes *= k.s.Extent(n)
	}
	most := k.s.Extent(along[0])
	count := max(1, min(workers/others, (bytes+leastPiece-1)/leastPiece))
	count = max(count, (bytes+Working(k.core.L1)-1)/Working(k.core.L1))
	return k.DecideAmong("line_pieces", min(most, count), nil, UpTo(most)...)
}

// streamedApplies reports whether the reduction streams: its largest operand does not stay in L2, and is read by lines.
func streamedApplies(k *kernel) bool {
	if !tileApplies(k) {
		return false
	}
	return k.trial(func() bool {
		t := tiling{out: k.outBlock(), acc: k.accBlock()}
		return k.vectors(&t) && t.outer == "" && k.panelOf(t.acc) == 0 && k.dotOf(t.acc) == nil && k.lineOf(&t) != nil
	})
}

// lineOf lists the loops over a line of the operand that is streamed, outermost first: those that are nearer together in memory than the
// reductions. It is nil where no operand is streamed, and where lines are as short as the windows of a pooling in channel blocks have them.
func (k *kernel) lineOf(t *tiling) (line []string) {
	for _, a := range k.accesses(t.acc) {
		if a.store || a.buf.Scope != loop.Global || a.buf.Bytes() <= Working(k.core.L2) {
			continue
		}
		if line = k.linesOf(t, a); line != nil {
			return line
		}
	}
	return nil
}

// linesOf is lineOf for one access.
func (k *kernel) linesOf(t *tiling, a access) (line []string) {
	type step struct {
		name   string
		by     int64
		n      int
		reduce bool
	}
	var steps []step
	reduce, _ := k.reducing(t.acc, "")
	spatial := map[string]string{} // loops of the output by those of the reduction
	for _, n := range k.s.Loops(t.out) {
		if l := k.loopOf(t.acc, n); l != "" {
			spatial[l] = n
		}
	}
	for _, n := range k.s.Loops(t.acc) {
		if k.s.Extent(n) == 1 {
			continue
		}
		by, linear := a.stride(k.variable(t.acc, n))
		if !linear || by <= 0 {
			return nil
		}
		steps = append(steps, step{n, by, k.s.Extent(n), slices.Contains(reduce, n)})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.by, b.by) })
	if len(steps) < 2 || steps[0].by != 1 || spatial[steps[0].name] != t.lane {
		return nil
	}
	lines := false
	for i, s := range steps {
		if i > 0 && s.by < steps[i-1].by*int64(steps[i-1].n) {
			return nil // windows share elements
		}
		lines = lines || s.reduce
		if !lines {
			line = append(line, spatial[s.name])
		}
	}
	long := 1
	for _, n := range line {
		long *= k.s.Extent(n)
	}
	if !lines || a.buf.DType.Bytes(long) < leastLine {
		return nil
	}
	slices.Reverse(line)
	return line
}
