package impl

import "slices"

// decideSlide asks whether windows slide over the rows of a tile in registers: all taps of a row stand inside the loop over rows, and a
// vector that several rows read is loaded once. It returns the position of the reduction loop over those taps, -1 for none.
//
//	for r { unroll row { acc[row] = max(acc[row], x[row + r]) } }   →   unroll row { unroll r { acc[row] = max(acc[row], x[row + r]) } }
func (k *kernel) decideSlide(t *tiling, rs, ss []string) int {
	for i, r := range rs {
		if t.partLoop != "" || !k.slides(t.acc, r, ss) || k.vectorsOf(ss)*k.s.Extent(r) > tileWork {
			continue
		}
		fits := k.vectorsOf(ss)+k.s.Extent(r) <= k.core.registers(0)
		if k.DecideIf(t.decision("slide"), fits) {
			return i
		}
		break
	}
	return -1
}

// slides reports whether all that a fold reads for one row of a tile at a tap of a reduction loop, it reads for a further row at an earlier
// tap. Products read weights for each tap.
func (k *kernel) slides(acc, r string, tile []string) bool {
	v := k.variable(acc, r)
	for _, row := range tile[:len(tile)-1] {
		found := false
		for _, a := range k.accesses(acc) {
			if a.store {
				continue
			}
			tap, linear := a.at.Coef(v)
			each, straight := a.at.Coef(k.variable(acc, row))
			found = !linear && !straight && tap > 0 && each > 0 && each%tap == 0 && each/tap < int64(k.s.Extent(r))
			if !found {
				break
			}
		}
		if found {
			return true
		}
	}
	return false
}

// slid is the number of taps that windows keep in registers beside the accumulators of tiles, whose rows run over an axis; 0 where none slide.
func (k *kernel) slid(acc, below string, axes []string) int {
	if len(axes) == 0 {
		return 0
	}
	rs, _ := k.reducing(acc, k.loopOf(acc, below))
	row := k.loopOf(acc, axes[0])
	i := slices.IndexFunc(rs, func(r string) bool { return k.slides(acc, r, []string{row, ""}) })
	if i < 0 {
		return 0
	}
	return k.s.Extent(rs[i])
}
