package impl

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/choice"
)

// squares schedules a block that is written along the last of some loops and read along another one as squares that are
// transposed in registers: it unrolls the first and vectorises the second. It asks for the squares, and returns the loops over
// them; ok is false where there are none, or none are wanted.
//
//	for i { for j { y[i, j] = x[j, i] } }   →   for i.o { for j.o { unroll j.i { vector i.i { y[i, j] = x[j, i] } } } }
//
// Borders, if the sides do not divide, are left to their loops; whole asks for sides that do.
func (k *kernel) squares(name, block string, loops []string, whole bool) (outer []string, ok bool) {
	last := len(loops) - 1
	written := loops[last]
	if k.readAlong(block, written) || !k.writtenAlong(block, written) {
		return nil, false
	}
	var list []func() bool
	var texts []string
	for at, read := range slices.Backward(loops[:last]) {
		for _, side := range k.sides(block, k.s.Extent(read), k.s.Extent(written), whole) {
			square := func() (ok bool) { outer, ok = k.square(block, loops, at, side); return ok }
			if k.trial(square) {
				list, texts = append(list, square), append(texts, fmt.Sprintf("%d along %s", side, strings.TrimPrefix(read, block+"_")))
			}
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	i := k.decide(name, 0, choice.Texts(append(texts, "off")...))
	ok = i < len(list) && list[i]()
	return outer, ok
}

// square makes squares of a side of the last loop and the one at a place before it.
func (k *kernel) square(block string, loops []string, at, side int) (outer []string, ok bool) {
	last := len(loops) - 1
	ro, ri, err := k.s.Split(loops[at], side)
	if err != nil || !k.readAlong(block, ri) { // of a blocked axis, only whole blocks are
		return nil, false
	}
	wo, wi, err := k.s.Split(loops[last], side)
	if err != nil {
		return nil, false
	}
	outer = slices.Concat(loops[:at], []string{ro}, loops[at+1:last], []string{wo})
	return outer, k.s.Reorder(slices.Concat(outer, []string{wi, ri})...) == nil && k.s.Unroll(wi) == nil && k.s.Vectorize(ri) == nil
}

// sides are those that squares of a block of the given extents may have: a vector, or a part of one that divides both, and a
// vector with borders.
func (k *kernel) sides(block string, read, written int, whole bool) (list []int) {
	b, _ := k.find(block)
	lanes := k.core.lanes(max(4, b.Body.To.DType.Compute().Size()))
	for side := lanes; side >= 4; side /= 2 {
		if read%side == 0 && written%side == 0 {
			list = append(list, side)
			break
		}
	}
	if lanes >= 4 && !whole && min(read, written) >= lanes && !slices.Contains(list, lanes) {
		list = append(list, lanes)
	}
	return list
}

// readAlong reports whether every load of a block is contiguous in a loop or independent of it.
func (k *kernel) readAlong(block, name string) bool {
	v := k.variable(block, name)
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !a.store && (!ok || n != 0 && n != 1) {
			return false
		}
	}
	return true
}

// writtenAlong reports whether a block's store is contiguous in a loop.
func (k *kernel) writtenAlong(block, name string) bool {
	v := k.variable(block, name)
	return slices.ContainsFunc(k.accesses(block), func(a access) bool {
		n, ok := a.stride(v)
		return a.store && ok && n == 1
	})
}
