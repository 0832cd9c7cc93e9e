package impl

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// accBlock is the block of the only intermediate stage.
func (k *kernel) accBlock() string { return k.Blocks[0] }

// SameIndex reports whether the output block reads the accumulator at its own index only.
func (k *kernel) SameIndex(out, acc string) bool {
	ob, _ := k.find(out)
	ab, _ := k.find(acc)
	same := len(ob.Body.Index) == len(ab.Body.Index)
	expr.Loads(ob.Body.Value, func(l *expr.Load) {
		if l.From != expr.Source(ab.Body.To) {
			return
		}
		for i, x := range l.Index {
			if !same || ob.Body.To.Shape[i] > 1 && !arith.Equal(x, ob.Body.Index[i]) {
				same = false
			}
		}
	})
	return same
}

// vectorAxis reports whether a loop of the accumulation is a good axis of vectors: every access, once the loop is split
// into vectors and the loop over blocks as its packed operand asks, has stride 0 or 1 in it, loads perhaps a small one, and some
// load has another than 0.
func (k *kernel) vectorAxis(lane, outer, acc string, lanes, forced, panel int) bool {
	ok := false
	k.try(func() bool {
		if forced > 1 && outer != "" {
			if _, _, err := k.s.Split(outer, forced); err != nil {
				return false
			}
		}
		if panel > lanes && panel < k.s.Extent(lane) {
			_, i, err := k.s.Split(lane, panel)
			if err != nil {
				return false
			}
			lane = i
		}
		if k.s.Extent(lane) > lanes {
			_, i, err := k.s.Split(lane, lanes)
			if err != nil {
				return false
			}
			lane = i
		}

		v := k.variable(acc, lane)
		if v == nil {
			return false
		}
		for _, a := range k.accesses(acc) {
			n, linear := a.stride(v)
			if !linear || !a.inLanes(n) {
				ok = false
				return false
			}
			ok = ok || n != 0 && !a.store
		}
		return false
	})
	return ok
}

// inLanes reports whether an access with a stride is one of a vector's lanes: a load may skip some elements between them.
func (a access) inLanes(stride int64) bool {
	if a.buf.DType.IsNibble() && stride > 1 && !a.store {
		return stride == loop.NibbleLanes
	}
	return stride == 0 || stride == 1 || !a.store && a.each == 1 && -loop.MaxStride <= stride && stride <= loop.MaxStride
}

// panelOf is the number of vectors of the panels in which an operand of an accumulation lies, 0 if none does.
func (k *kernel) panelOf(acc string) int {
	return k.Stages[slices.Index(k.Blocks, acc)].Panel
}

// loopOf is the loop of another block over the axis that a loop runs over, or over a part of; "" where there is none.
func (k *kernel) loopOf(block, name string) string {
	if over := k.s.Over(sched.Axis{Block: block, Iter: k.s.Axis(name).Iter}); len(over) == 1 {
		return over[0]
	}
	return ""
}

// depends tells for each load of the accumulation whether it depends on an output loop.
func (k *kernel) depends(out, acc, name string) []bool {
	v := k.variable(acc, k.loopOf(acc, name))
	var list []bool
	for _, a := range k.accesses(acc) {
		if a.store {
			continue
		}
		n, linear := int64(1), true
		if v != nil {
			n, linear = a.stride(v)
		}
		list = append(list, v != nil && (!linear || n != 0))
	}
	return list
}

// broadcasts reports whether some load of the accumulation does not depend on the vector axis.
func (k *kernel) broadcasts(out, acc, lane string) bool {
	return slices.Contains(k.depends(out, acc, lane), false)
}

// outerPart finds the loop over blocks of the vector axis: the one that the same loads depend on.
func (k *kernel) outerPart(out, acc, lane string, candidates []string) string {
	want := k.depends(out, acc, lane)
	for _, n := range candidates {
		if k.s.Extent(n) > 1 && slices.Equal(k.depends(out, acc, n), want) && slices.Contains(want, false) {
			return n
		}
	}
	return ""
}

// rowAxes lists the axes of tile rows, innermost first. The first of them, as many as together says, are loops that some load of vectors
// does not depend on, so that a vector is used once per row. The innermost other loop follows where there is none of these, or one whose rows
// are too few to hide the latency of sums.
func (k *kernel) rowAxes(out, acc, below, lane, vecLoop string) (axes []string, together int) {
	vecs := 1
	if vecLoop != "" {
		vecs = k.s.Extent(vecLoop)
	}
	lanes := k.depends(out, acc, lane)
	fallback := ""
	for _, n := range slices.Backward(k.inside(out, below)) {
		if k.s.Axis(n) == k.s.Axis(lane) || n == vecLoop || k.s.Extent(n) < 2 {
			continue
		}
		d := k.depends(out, acc, n)
		for i := range d {
			if lanes[i] && !d[i] {
				axes = append(axes, n)
				break
			}
		}
		if fallback == "" && !slices.Contains(axes, n) {
			fallback = n
		}
	}
	together = len(axes)
	if fallback != "" && (together == 0 || together == 1 && k.s.Extent(axes[0])*vecs < k.core.Latency*k.core.Units) {
		axes = append(axes, fallback)
	}
	return axes, together
}
