package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
	"lathe/internal/types"
)

// rows schedules groups of reductions over contiguous elements, such as softmax and layer norm: the intermediates of a
// row are computed in worker scratch just before the row.
func rows(k *kernel) error {
	out := k.outBlock()
	if err := k.freeInside(out); err != nil {
		return err
	}
	if err := k.largeOutside(out); err != nil {
		return err
	}
	loops := k.s.Loops(out)
	row := k.rowLoops(out, loops)
	if row == oneRow && len(loops) > 0 {
		if n := k.s.Extent(loops[0]); n > 1 {
			if _, _, err := k.s.Split(loops[0], n); err != nil {
				return err
			}
			loops = k.s.Loops(out)
		}
		row = 0
	}
	loops, group, err := k.rowGroup(loops, row)
	if err != nil {
		return err
	}
	at := "" // a single element without axes: what it needs is computed just before it as it is
	if len(loops) > 0 {
		at = loops[row]
	}
	for _, block := range slices.Backward(k.Blocks[:len(k.Blocks)-1]) {
		if at != "" && !k.single(block, at) && k.s.ComputeAt(block, at, loop.Worker) != nil {
			return errRefused
		}
		if err := k.vectorFold(block, at, group == "" && at != "" && k.foldsExponentials(block)); err != nil {
			return err
		}
		if group == "" && at != "" && k.withReduction(block, at) {
			continue
		}
		if inner := k.s.Loops(block); group == "" || k.loopOf(block, group) != inner[len(inner)-1] {
			k.vectorPart(block, at)
		}
	}
	if at == "" {
		return nil
	}
	for _, block := range k.Blocks[:len(k.Blocks)-1] {
		k.inPlace(block)
	}
	for i := len(loops) - 1; i > row+1 && k.fuseLinear(out); i-- { // vectors cross the ends of rows
		loops = k.s.Loops(out)
	}
	if rest := loops[row+1:]; len(rest) > 0 {
		inner := rest[len(rest)-1]
		if k.s.Extent(inner) > 1 && k.unitStride(out, k.variable(out, inner)) {
			if _, err := k.inVectors("lanes", "jam", out, inner); err != nil {
				return err
			}
		}
	}
	return k.Parallelize(loops[:row+1])
}

// single computes a block at a loop in a register, if one element is all that an iteration needs of it.
func (k *kernel) single(block, at string) bool {
	return k.try(func() bool {
		if k.s.ComputeAt(block, at, loop.Reg) != nil {
			return false
		}
		b, _ := k.find(block)
		return types.Count(b.Body.To.Shape) == 1
	})
}

// freeInside puts the loops that statistics do not depend on inside the others, so that none is computed again.
func (k *kernel) freeInside(out string) error {
	s, ok := k.statistics(out)
	order := slices.Concat(s.dependent, s.free)
	if !ok || len(s.free) == 0 || slices.Equal(order, k.s.Loops(out)) {
		return nil
	}
	loops := k.s.Loops(out)
	if i := slices.Index(loops, s.free[0]); slices.IndexFunc(loops[i:], func(n string) bool { return slices.Contains(s.dependent, n) && k.s.Extent(n) > 1 }) < 0 {
		return nil // loops of one iteration between them do no harm
	}
	return k.s.Reorder(order...)
}

// largeOutside puts the loops that the largest operand of a single reduction depends on outside of the others, where L2 does not hold it: a few rows by a matrix of columns that lie
// as rows read the matrix once then, and not for each of them.
func (k *kernel) largeOutside(out string) error {
	if len(k.Blocks) != 2 {
		return nil
	}
	acc, largest, operand := k.accBlock(), Working(k.core.L2), -1
	i := 0
	for _, a := range k.accesses(acc) {
		if a.store {
			continue
		}
		if a.buf.Scope == loop.Global && a.buf.Bytes() > largest {
			largest, operand = a.buf.Bytes(), i
		}
		i++
	}
	if operand < 0 {
		return nil
	}
	var of, others []string
	again := false // it is read again by iterations of a loop outside
	for _, n := range k.s.Loops(out) {
		if !k.depends(out, acc, n)[operand] {
			others = append(others, n)
			continue
		}
		of = append(of, n)
		again = again || k.s.Extent(n) > 1 && slices.ContainsFunc(others, func(o string) bool { return k.s.Extent(o) > 1 })
	}
	if !again {
		return nil
	}
	return k.s.Reorder(slices.Concat(of, others)...)
}

func rowsApply(k *kernel) bool {
	out := k.outBlock()
	return len(k.Stages) > 1 && k.rowLoops(out, k.s.Loops(out)) >= 0
}

// vectorPart vectorises a pointwise block below a loop along memory, where its extent allows.
func (k *kernel) vectorPart(block, at string) {
	loops := k.s.Loops(block)
	b, _ := k.find(block)
	if b == nil || b.Init != nil || len(loops) == 0 || loops[len(loops)-1] == at {
		return
	}
	inner := loops[len(loops)-1]
	for _, it := range b.Iters {
		if it.Reduce {
			return
		}
	}
	if k.unitStride(block, k.variable(block, inner)) {
		k.vectorsIf(block, inner)
	}
}

// vectorsIf makes vectors of a loop of a block that is placed, if it divides into them: a part of an axis may not.
func (k *kernel) vectorsIf(block, inner string) {
	k.try(func() bool {
		_, err := k.inVectors(Of("lanes", block), Of("jam", block), block, inner)
		return err == nil
	})
}

// oneRow stands for a loop of one iteration around the whole output.
const oneRow = 1 << 30

// rowLoops finds the innermost output loop that a read of an intermediate depends on. Of an intermediate as large as the
// output a row has its part, wherever the reads of others say that a row ends. The output is oneRow where they depend on no
// loop at all, or where it is one element.
func (k *kernel) rowLoops(out string, loops []string) int {
	b, around := k.find(out)
	bind := b.Bindings()
	deepest, whole, others := -1, -1, false
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		buf := l.From.(*loop.Buffer)
		if buf.Scope == loop.Global {
			return
		}
		to := &deepest
		if slices.Equal(buf.Shape, b.Body.To.Shape) {
			to = &whole
		} else {
			others = true
		}
		for _, x := range l.Index {
			for i, f := range around {
				if expr.Uses(expr.Subst(x, bind), f.Var) {
					*to = max(*to, i)
				}
			}
		}
	})
	switch {
	case deepest >= 0:
		return deepest
	case others && len(loops) > 0, whole < 0 && types.Count(b.Body.To.Shape) == 1:
		return oneRow
	}
	return whole
}

// vectorReduction splits the innermost reduction loop of a block into vectors that are folded horizontally.
func (k *kernel) vectorReduction(block, at string) error { return k.vectorFold(block, at, false) }

// vectorFold is vectorReduction; hidden says that what a step folds takes so long to compute, in the same loop, that the last sum is there.
func (k *kernel) vectorFold(block, at string, hidden bool) error {
	k.splitBlockedReductions(block)
	k.fuseReductions(block, at)
	loops := k.s.Loops(block)
	b, _ := k.find(block)
	if len(loops) == 0 || b.Init == nil || loops[len(loops)-1] == at {
		return nil
	}
	inner := loops[len(loops)-1]
	v := k.variable(block, inner)
	reduce, _ := k.reducing(block, at)
	if len(reduce) == 0 {
		return nil
	}
	first := reduce[0]
	if err := k.s.DecomposeReduction(block, first); err != nil || !slices.Contains(reduce, inner) {
		return err
	}
	lanes := k.core.lanes(max(4, b.Body.To.DType.Size()))
	unit := true
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !a.store && (!ok || n != 0 && n != 1) {
			unit = false
		}
	}
	n := k.s.Extent(inner)
	switch {
	case !unit || n < 2:
		return nil
	case n <= lanes && first != inner: // a lane each, folded once behind the other reductions
		return k.foldLanes(block, first, inner, n, n)
	case n <= lanes:
		return k.s.Vectorize(inner)
	}
	return k.vectorAccumulators(block, first, inner, lanes, hidden)
}

// foldsExponentials reports whether a reduction computes exponentials or the like, or reads them, which are computed in its loop then, on a core whose
// registers do not hold several of them with the constants that they take.
func (k *kernel) foldsExponentials(block string) bool {
	if k.core.VectorBits == 0 || k.core.VectorRegs >= manyRegisters {
		return false
	}
	b, _ := k.find(block)
	found := b.Init != nil && operations(b.Body.Value) >= exponential
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		for _, name := range k.Blocks {
			if p, _ := k.find(name); p != nil && p != b && l.From == expr.Source(p.Body.To) && p.Init == nil {
				found = found || operations(p.Body.Value) >= exponential
			}
		}
	})
	return found
}

// fuseReductions walks the innermost reduction loops of a block as one, as many as every address stays linear in, so that
// vectors cross the ends of rows.
func (k *kernel) fuseReductions(block, at string) {
	for {
		b, around := k.find(block)
		n := len(around)
		if n < 2 || around[n-2].Var.Name == at || !sched.ReducesOver(b, around[n-1]) || !sched.ReducesOver(b, around[n-2]) || !k.fuseLinear(block) {
			return
		}
	}
}

// vectorAccumulators reduces a contiguous axis into a few vectors, which are folded at the end; into one where that hides nothing.
func (k *kernel) vectorAccumulators(block, first, inner string, lanes int, hidden bool) error {
	b, _ := k.find(block)
	if _, ok := b.Body.Value.(*expr.Binary); !ok {
		return nil
	}
	widths := []int{lanes}
	for width := 2 * lanes; width <= 4*lanes && (k.s.Extent(inner)%width == 0 || k.s.Extent(inner) > 2*width); width *= 2 {
		widths = append(widths, width)
	}
	vectors := make([]int, len(widths))
	for i, w := range widths {
		vectors[i] = w / lanes
	}
	width := widths[len(widths)-1]
	if width > 1 {
		steps := k.iterations(block) / float64(lanes)
		best, cost := len(vectors)-1, func(v int) float64 { return k.core.fold(v) * steps / float64(v) }
		if hidden {
			best, cost = 0, func(v int) float64 { return steps * (1 + spilledMoves*float64(v-1)/float64(v)) }
		}
		width = lanes * DecideOne(k, Of("accumulators", block), best, vectors, cost)
	}
	if width == 1 {
		return nil
	}
	o, i, err := k.s.Split(inner, width)
	if err != nil {
		return err
	}
	at := first
	if at == inner {
		at = o
	}
	return k.foldLanes(block, at, i, width, lanes)
}

// foldLanes gives every iteration of an inner reduction loop, of which there are width, a lane of vectors of its own.
func (k *kernel) foldLanes(block, at, inner string, width, lanes int) error {
	b, _ := k.find(block)
	if _, ok := b.Body.Value.(*expr.Binary); !ok {
		return k.s.Vectorize(inner)
	}
	loops, err := k.s.RFactor(block, at, inner)
	if err != nil {
		return err
	}
	for _, n := range loops {
		if width > lanes {
			u, l, err := k.s.Split(n, lanes)
			if err != nil {
				return err
			}
			if err := k.s.Unroll(u); err != nil {
				return err
			}
			n = l
		}
		if err := k.s.Vectorize(n); err != nil {
			return err
		}
	}
	return nil
}
