package impl

import (
	"fmt"
	"math/bits"
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
// What is transposed may be bundles, parts of a vector along an innermost loop: both sides are unrolled, and the lines of the cache
// that a square reads and writes are used up by it.
//
// Borders, if the sides do not divide, are left to their loops; whole asks for sides that do.
func (k *kernel) squares(name, block string, loops []string, whole bool) (outer []string, ok bool) {
	q := square{block: block, loops: loops, unit: 1}
	if last := len(loops) - 1; last > 1 && k.isBundle(block, loops[last]) {
		q.loops, q.bundle, q.unit = loops[:last], loops[last], k.s.Extent(loops[last])
	}
	last := len(q.loops) - 1
	written := q.loops[last]
	if k.readAlong(block, written, q.unit) || !k.writtenAlong(block, written, q.unit) {
		return nil, false
	}
	var list []func() bool
	var texts []string
	for at, read := range slices.Backward(q.loops[:last]) {
		for _, side := range k.sides(q, k.s.Extent(read), k.s.Extent(written), whole) {
			square := func() (ok bool) { outer, ok = k.square(q, at, side); return ok }
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

// A square is part of a block's loops, of which the last is written along, one element or bundle after the other.
type square struct {
	block  string
	loops  []string
	bundle string // the loop over a bundle's elements, "" where elements are transposed
	unit   int    // elements of a bundle
}

// isBundle reports whether the elements of a block's innermost loop are read and written as parts of a vector.
func (k *kernel) isBundle(block, inner string) bool {
	b, _ := k.find(block)
	n := k.s.Extent(inner)
	return n > 1 && 2*n <= k.core.lanes(max(b.Body.To.DType.Compute().Size(), 1)) && k.readAlong(block, inner, 1) && k.writtenAlong(block, inner, 1)
}

// square makes squares of a side of the last loop and the one at a place before it.
func (k *kernel) square(q square, at, side int) (outer []string, ok bool) {
	last := len(q.loops) - 1
	ro, ri, err := k.s.Split(q.loops[at], side)
	if err != nil || !k.readAlong(q.block, ri, q.unit) { // of a blocked axis, only whole blocks are
		return nil, false
	}
	wo, wi, err := k.s.Split(q.loops[last], side)
	if err != nil {
		return nil, false
	}
	outer = slices.Concat(q.loops[:at], []string{ro}, q.loops[at+1:last], []string{wo})
	inner := []string{wi, ri}
	if q.bundle != "" {
		inner = append(inner, q.bundle)
	}
	if k.s.Reorder(slices.Concat(outer, inner)...) != nil {
		return nil, false
	}
	lanes := len(inner) - 1
	for _, l := range inner[:lanes] {
		if k.s.Unroll(l) != nil {
			return nil, false
		}
	}
	return outer, k.s.Vectorize(inner[lanes]) == nil
}

// sides are those that squares of loops of the given extents may have: a vector, or a part of one that divides both, and a
// vector, or of a shorter axis a part, with borders; of bundles, as many as a line of the cache holds.
func (k *kernel) sides(q square, read, written int, whole bool) (list []int) {
	b, _ := k.find(q.block)
	if q.bundle != "" {
		side := 1 << bits.Len(uint(min(lineBytes/(q.unit*b.Body.To.DType.Size()), read, written))) / 2
		for whole && (read%side != 0 || written%side != 0) {
			side /= 2
		}
		if side > 1 {
			list = append(list, side)
		}
		return list
	}
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
	if side := 1 << bits.Len(uint(min(read, written, lanes))) / 2; len(list) == 0 && !whole && side >= 4 {
		list = append(list, side) // an axis that is less than a vector
	}
	return list
}

// readAlong reports whether every load of a block moves on by unit elements with a loop, or is independent of it.
func (k *kernel) readAlong(block, name string, unit int) bool {
	v := k.variable(block, name)
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !a.store && (!ok || n != 0 && n != int64(unit)) {
			return false
		}
	}
	return true
}

// writtenAlong reports whether a block's store moves on by unit elements with a loop.
func (k *kernel) writtenAlong(block, name string, unit int) bool {
	v := k.variable(block, name)
	return slices.ContainsFunc(k.accesses(block), func(a access) bool {
		n, ok := a.stride(v)
		return a.store && ok && n == int64(unit)
	})
}
