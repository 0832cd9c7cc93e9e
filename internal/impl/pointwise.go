package impl

import (
	"errors"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
)

// pointwise schedules a kernel without reductions: loops are fused as far as addresses stay linear, the innermost is
// vectorised, the outer ones are divided among workers. What reads memory along another axis than it writes is transposed
// square by square.
func pointwise(k *kernel) error {
	block := k.outBlock()
	if err := k.dropInnermost(block); err != nil {
		return err
	}
	if err := k.decideFused(block); err != nil {
		return err
	}
	loops := k.s.Loops(block)
	if len(loops) == 0 {
		return nil // a single element
	}
	if outer, ok := k.squares("transpose", block, loops, false); ok {
		return k.Parallelize(outer)
	}
	if err := k.decideLines(block); err != nil {
		return err
	}
	loops = k.s.Loops(block)
	inner := loops[len(loops)-1]
	vectors, err := k.inVectors("lanes", "jam", block, inner)
	if err != nil {
		return err
	}
	rest := loops[:len(loops)-1]
	if vectors != "" {
		rest = append(rest, vectors)
	}
	if rest, err = k.decideInterleaved(block, rest, vectors); err != nil {
		return err
	}
	if rest, err = k.decideTogether(block, rest); err != nil {
		return err
	}
	if divided, err := k.decideRepeated(block, rest); err != nil || divided != nil {
		return errors.Join(err, k.Parallelize(divided))
	}
	if rest, err = k.decideInnermost(rest); err != nil {
		return err
	}
	return k.Parallelize(rest)
}

// Powers lists the powers of two up to n.
func Powers(n int) []int {
	var list []int
	for p := 1; p <= n; p *= 2 {
		list = append(list, p)
	}
	return list
}

// decideInnermost asks into how many pieces the innermost loop, over vectors, is cut that workers divide as well, with the loops around it: as many
// as are needed beside the iterations of these, where several workers are. What workers divide is fused, and a fused loop has quotients and
// conditions of borders in every iteration: with a piece they are there once for all its vectors.
func (k *kernel) decideInnermost(loops []string) ([]string, error) {
	last := len(loops) - 1
	if last < 1 {
		return loops, nil
	}
	around, n := 1, k.s.Extent(loops[last])
	for _, l := range loops[:last] {
		around *= k.s.Extent(l)
	}
	count := 1
	if !k.small() {
		count = min(n, (piecesOfAll+around-1)/around)
	}
	for d := count; d < 2*count; d++ { // of equal size where that takes few more
		if n%d == 0 {
			count = d
			break
		}
	}
	switch count = k.DecideAmong("innermost", count, nil, UpTo(n)...); count {
	case 1:
		return loops[:last], nil
	case n:
		return loops, nil
	}
	outer, _, err := k.s.Split(loops[last], (n+count-1)/count)
	return append(slices.Clone(loops[:last]), outer), err
}

// dropInnermost fuses innermost loops of one iteration with those around them, along which vectors lie then.
func (k *kernel) dropInnermost(block string) error {
	for {
		loops := k.s.Loops(block)
		n := len(loops)
		if n < 2 || k.s.Extent(loops[n-1]) > 1 {
			return nil
		}
		if _, err := k.s.Fuse(loops[n-2], loops[n-1]); err != nil {
			return err
		}
	}
}

// decideFused fuses innermost loops, as many as every address stays linear in, unless fewer are asked for.
func (k *kernel) decideFused(block string) error {
	most := 0
	k.trial(func() bool {
		for k.fuseLinear(block) {
			most++
		}
		return false
	})
	if most == 0 {
		return nil
	}
	for range k.DecideAmong("fused", most, nil, UpTo(most)...) {
		if !k.fuseLinear(block) {
			return errRefused
		}
	}
	return nil
}

// fuseLinear fuses the two innermost loops of a block if every address stays linear in the fused variable with the
// stride it had, and every choice turns at one place: a loop over rows of contiguous elements becomes one long loop.
func (k *kernel) fuseLinear(block string) bool {
	loops := k.s.Loops(block)
	n := len(loops)
	if n < 2 {
		return false
	}
	return k.try(func() bool {
		v, err := k.s.Fuse(loops[n-2], loops[n-1])
		if err != nil {
			return false
		}
		for _, a := range k.accesses(block) {
			if _, ok := a.stride(k.variable(block, v)); !ok {
				return false
			}
		}
		b, around := k.find(block)
		value := rangesOf(around).Simplify(expr.Subst(b.Body.Value, b.Bindings()))
		return arith.TurnsLinear(value, k.variable(block, v))
	})
}

// inVectors asks for the elements of a vector and makes vectors of a loop, several side by side where that is decided. It returns the loop
// over them, "" where it is one.
func (k *kernel) inVectors(name, jam, block, inner string) (outer string, err error) {
	lanes := k.pointwiseLanes(block, inner)
	if most := min(lanes, k.s.Extent(inner)); most > 1 {
		lanes = k.DecideAmong(name, most, nil, Powers(most)...)
	}
	vectors, err := k.vectorise(inner, lanes)
	if err != nil || vectors == "" || lanes == 1 {
		return vectors, err
	}
	around, err := k.decideJam(jam, block, []string{vectors})
	return around[0], err
}

// pointwiseLanes is the number of elements of a vector along a loop.
func (k *kernel) pointwiseLanes(block, inner string) int {
	b, _ := k.find(block)
	lanes := k.core.lanes(max(b.Body.To.DType.Compute().Size(), 1))
	if !k.laneStrides(block, k.variable(block, inner)) && !k.straight(block, inner) {
		// Lanes that have to be gathered gain little: keep the code small.
		lanes = min(lanes, 8)
	}
	return lanes
}

// vectorise splits a loop into vectors, and returns the loop over them; "" where it is one vector.
func (k *kernel) vectorise(inner string, lanes int) (outer string, err error) {
	n := k.s.Extent(inner)
	switch {
	case lanes == 1 || n < 2:
		return inner, nil
	case n <= lanes:
		return "", k.s.Vectorize(inner)
	}
	outer, v, err := k.s.Split(inner, lanes)
	if err != nil {
		return "", err
	}
	return outer, k.s.Vectorize(v)
}

// serial leaves a kernel as lowered, with intermediates in worker scratch: slow, and right for anything.
func serial(*kernel) error { return nil }
