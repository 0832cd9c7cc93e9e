package impl

import (
	"slices"

	"lathe/internal/loop"
)

// decideInterleaved asks whether planes whose elements lie between each other's are written together, as the channels of an image are
// that lie innermost: what is loaded for one holds those of all. vectors is the loop over the vectors of a plane; it returns the loops
// around what is written together.
//
//	for plane { for v.o { vector v { y[plane, v] = x[3*v + plane] } } }   →   for v.o { unroll plane { vector v { y[plane, v] = x[3*v + plane] } } }
func (k *kernel) decideInterleaved(block string, rest []string, vectors string) ([]string, error) {
	loops := k.s.Loops(block)
	n := len(loops)
	if vectors == "" || n < 3 || loops[n-2] != vectors || !k.interleaved(block, loops[n-3], loops[n-1]) || !k.DecideIf("interleaved", true) {
		return rest, nil
	}
	plane := loops[n-3]
	if err := k.s.Reorder(slices.Concat(loops[:n-3], []string{vectors, plane, loops[n-1]})...); err != nil {
		return nil, err
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(l string) bool { return l == plane })
	return rest, k.s.Unroll(plane)
}

// interleaved reports whether a load of a block skips, from lane to lane, the elements of the other planes, which are few enough to be
// loaded with it.
func (k *kernel) interleaved(block, plane, lanes string) bool {
	p, v, n := k.variable(block, plane), k.variable(block, lanes), int64(k.s.Extent(plane))
	found := false
	for _, a := range k.accesses(block) {
		along, ok := a.stride(v)
		across, ok2 := a.stride(p)
		switch {
		case !ok || !ok2:
			return false
		case a.store && along != 1:
			return false
		case !a.store && along == n && across == 1:
			found = true
		}
	}
	return found && n > 1 && n <= loop.MaxStride
}
