package impl

import "slices"

// square schedules a block that is written along the last of some loops and read along another one as squares that are
// transposed in registers: it unrolls the first and vectorises the second. It returns the loops over squares, or false.
//
//	for i { for j { y[i, j] = x[j, i] } }   →   for i.o { for j.o { unroll j.i { vector i.i { y[i, j] = x[j, i] } } } }
//
// Borders, if the sides do not divide, are left to their loops; whole asks for sides that do.
func (k *kernel) square(block string, loops []string, whole bool) (outer []string, ok bool) {
	last := len(loops) - 1
	written := loops[last]
	if k.readAlong(block, written) || !k.writtenAlong(block, written) {
		return nil, false
	}
	for at, read := range slices.Backward(loops[:last]) {
		for _, side := range k.sides(block, k.s.Extent(read), k.s.Extent(written), whole) {
			ok := k.try(func() bool {
				ro, ri, err := k.s.Split(read, side)
				if err != nil || !k.readAlong(block, ri) { // of a blocked axis, only whole blocks are
					return false
				}
				wo, wi, err := k.s.Split(written, side)
				if err != nil {
					return false
				}
				outer = slices.Concat(loops[:at], []string{ro}, loops[at+1:last], []string{wo})
				return k.s.Reorder(slices.Concat(outer, []string{wi, ri})...) == nil && k.s.Unroll(wi) == nil && k.s.Vectorize(ri) == nil
			})
			if ok {
				return outer, true
			}
		}
	}
	return nil, false
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
