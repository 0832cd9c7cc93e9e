package impl

import "fmt"

// pointwise schedules a kernel without reductions: loops are fused as far as addresses stay linear, the innermost is
// vectorised, the outer ones are divided among workers. What reads memory along another axis than it writes is transposed
// square by square.
func pointwise(k *kernel) (string, bool, error) {
	if len(k.Stages) != 1 {
		return "", false, nil
	}
	block := k.outBlock()
	k.fuseLinear(block)
	loops := k.s.Loops(block)
	if len(loops) == 0 {
		return "a single element", true, nil
	}
	if outer, ok := k.square(block, loops, false); ok {
		return "squares transposed in registers", true, k.parallelize(outer)
	}
	inner := loops[len(loops)-1]
	why, outer, err := k.vectorInner(block, inner)
	if err != nil {
		return "", false, err
	}
	rest := loops[:len(loops)-1]
	if outer != "" {
		rest = append(rest, outer)
	}
	return why, true, k.parallelize(k.whole(rest))
}

// whole leaves the innermost loop undivided where those around it have iterations enough: what workers divide is fused, and
// a fused loop has quotients and conditions of borders in every iteration, which here is a vector or a few.
func (k *kernel) whole(loops []string) []string {
	n := 1
	for _, l := range loops[:max(0, len(loops)-1)] {
		n *= k.s.Extent(l)
	}
	if n < 4*shares {
		return loops
	}
	return loops[:len(loops)-1]
}

// fuseLinear fuses the innermost loops of a block while every address stays linear in the fused variable with the
// stride it had: a loop over rows of contiguous elements becomes one long loop.
func (k *kernel) fuseLinear(block string) {
	for {
		loops := k.s.Loops(block)
		n := len(loops)
		if n < 2 {
			return
		}
		fused := k.try(func() bool {
			v, err := k.s.Fuse(loops[n-2], loops[n-1])
			if err != nil {
				return false
			}
			for _, a := range k.accesses(block) {
				if _, ok := a.stride(k.variable(block, v)); !ok {
					return false
				}
			}
			return true
		})
		if !fused {
			return
		}
	}
}

// vectorInner splits the named loop into vectors, a few of them unrolled, and returns the loop over them.
func (k *kernel) vectorInner(block, inner string) (why, outer string, err error) {
	b, _ := k.find(block)
	n := k.s.Extent(inner)
	lanes := k.cpu.Lanes(max(b.Body.To.DType.Compute().Size(), 1))
	if !k.unitStride(block, k.variable(block, inner)) {
		// Lanes that have to be gathered gain little: keep the code small.
		lanes = min(lanes, 8)
	}
	if lanes == 1 {
		return "scalar", inner, nil
	}
	if n <= lanes {
		if n < 2 {
			return "scalar", inner, nil
		}
		return fmt.Sprintf("one vector of %d", n), "", k.s.Vectorize(inner)
	}
	outer, v, err := k.s.Split(inner, lanes)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("vectors of %d", lanes), outer, k.s.Vectorize(v)
}

// serial leaves a kernel as lowered, with intermediates in worker scratch: slow, and right for anything.
func serial(k *kernel) (string, bool, error) { return "as lowered", true, nil }
