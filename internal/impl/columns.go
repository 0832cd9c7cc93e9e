package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// columns schedules groups of reductions whose results differ along the contiguous axis, such as softmax and normalisation
// over an axis that is not the last, or over all pixels of a channel where channels lie innermost: a few vectors of columns
// go through all stages, with the statistics of each column in a lane of a register.
//
//	parallel (outer axes, columns.o) { statistics of columns; for (the axes reduced) { vector columns.i { y = f(x, statistics) } } }
func columns(k *kernel) error {
	out := k.outBlock()
	s, _ := k.statistics(out)
	lanes := k.core.lanes(4)
	n := k.s.Extent(s.lane)
	vectors := 1
	if n > lanes {
		vectors = k.DecideAmong("columns", k.columnVectors(s, n, lanes), nil, Powers(4)...)
	}
	inner := s.lane
	outer := slices.DeleteFunc(slices.Clone(s.dependent), func(l string) bool { return l == s.lane })
	if n > vectors*lanes || len(outer) == 0 {
		o, i, err := k.s.Split(s.lane, min(n, vectors*lanes))
		if err != nil {
			return err
		}
		outer, inner = append(outer, o), i
	}
	if err := k.s.Reorder(slices.Concat(outer, s.free, []string{inner})...); err != nil {
		return errRefused
	}
	at := outer[len(outer)-1]
	inVectors := true // those that read them: registers have no index that is not constant
	for _, block := range slices.Backward(k.Blocks[:len(k.Blocks)-1]) {
		registers := func() bool { return inVectors && k.column(block, at, lanes, loop.Reg) == nil }
		if !s.whole[block] && k.trial(registers) && k.DecideIf(Of("registers", block), true) {
			registers()
			continue
		}
		inVectors = inVectors && s.whole[block]
		if err := k.column(block, at, lanes, loop.Worker); err != nil {
			return err
		}
	}
	if err := k.vectorLoop(inner, lanes); err != nil {
		return err
	}
	return k.Parallelize(outer)
}

func columnsApply(k *kernel) bool {
	if len(k.Stages) < 2 || k.core.VectorBits == 0 {
		return false
	}
	out := k.outBlock()
	s, ok := k.statistics(out)
	if !ok || !slices.Contains(s.dependent, s.lane) || !k.unitStride(out, k.variable(out, s.lane)) {
		return false
	}
	return len(s.free) > 0 || k.columnOf(k.Blocks[0], s.lane)
}

// columnOf reports whether the elements that a block reads for neighbouring columns are neighbours in memory.
func (k *kernel) columnOf(block, lane string) bool {
	v := k.variable(block, k.loopOf(block, lane))
	return v != nil && k.unitStride(block, v)
}

// columnVectors is the number of vectors of columns that are computed together: whole cache lines, as long as what is kept
// of a column stays in half of L1 for all of them.
func (k *kernel) columnVectors(s statistics, n, lanes int) int {
	bytes := 4
	for _, f := range s.free {
		bytes *= k.s.Extent(f)
	}
	v := 1
	for v < 4 && v*lanes*4 < 2*loop.LineBytes && 2*v*lanes <= n && 2*v*lanes*bytes <= Working(k.core.L1) {
		v *= 2
	}
	return v
}

// column computes a stage at a loop: reductions outside, the lanes of its columns inside. In registers are lanes only.
func (k *kernel) column(block, at string, lanes int, scope loop.Scope) error {
	if err := k.s.ComputeAt(block, at, scope); err != nil {
		return errRefused
	}
	reduce, spatial := k.reducing(block, at)
	lane := ""
	for _, n := range slices.Backward(spatial) {
		if k.unitStride(block, k.variable(block, n)) {
			lane = n
			break
		}
	}
	if lane != "" {
		spatial = slices.DeleteFunc(spatial, func(n string) bool { return n == lane })
	}
	if scope == loop.Reg && len(spatial) > 0 {
		return errRefused
	}
	if order := slices.Concat(spatial, reduce, nonEmpty(lane)); len(order) > 1 {
		if err := k.s.Reorder(order...); err != nil {
			return err
		}
	}
	if lane != "" {
		if err := k.vectorLoop(lane, lanes); err != nil {
			return err
		}
	}
	if len(reduce) == 0 {
		return nil
	}
	return k.s.DecomposeReduction(block, reduce[0])
}

// vectorLoop makes vectors of a loop, which are written out.
func (k *kernel) vectorLoop(name string, lanes int) error {
	if k.s.Extent(name) > lanes {
		o, i, err := k.s.Split(name, lanes)
		if err != nil {
			return err
		}
		if err := k.s.Unroll(o); err != nil {
			return err
		}
		name = i
	}
	return k.s.Vectorize(name)
}

// statistics tells the loops of the output on which what it reads of intermediates depends from the others, for which
// these are the same. Intermediates as large as the output, of which every element is read once, are whole, unless the output is
// made of reductions only.
type statistics struct {
	dependent, free []string
	lane            string // the innermost loop with more than one iteration
	whole           map[string]bool
}

func (k *kernel) statistics(out string) (s statistics, ok bool) {
	b, around := k.find(out)
	bind := b.Bindings()
	s.whole = map[string]bool{}
	uses := map[*expr.Var]bool{}
	folds := k.foldsOnly()
	for _, name := range k.Blocks[:len(k.Blocks)-1] {
		p, _ := k.find(name)
		s.whole[name] = !folds && slices.Equal(p.Body.To.Shape, b.Body.To.Shape)
	}
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		buf := l.From.(*loop.Buffer)
		if buf.Scope == loop.Global || !folds && slices.Equal(buf.Shape, b.Body.To.Shape) {
			return
		}
		ok = true
		for _, x := range l.Index {
			x = expr.Subst(x, bind)
			for _, f := range around {
				if expr.Uses(x, f.Var) {
					uses[f.Var] = true
				}
			}
		}
	})
	for _, f := range around {
		n := f.Var.Name
		switch {
		case uses[f.Var]:
			s.dependent = append(s.dependent, n)
		case k.s.Extent(n) > 1:
			s.free = append(s.free, n)
		default: // one iteration: as well outside
			s.dependent = append(s.dependent, n)
		}
		if k.s.Extent(n) > 1 {
			s.lane = n
		}
	}
	return s, ok
}

// foldsOnly reports whether several reductions are all that the output is made of, as of an arg max: its elements are
// statistics then.
func (k *kernel) foldsOnly() bool {
	for _, name := range k.Blocks[:len(k.Blocks)-1] {
		if b, _ := k.find(name); b == nil || b.Init == nil {
			return false
		}
	}
	return len(k.Blocks) > 2
}
