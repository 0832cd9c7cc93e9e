package impl

import (
	"slices"

	"lathe/internal/choice"
)

// orderTiles orders the loops over tiles by the traffic beyond the L2 cache. The operand of vectors (weights) is a panel
// per step of vecTiles, the operand of rows (pixels) is cut into strips: loops over strips and panels are divided among
// workers, and inside them one panel meets all tiles of one strip, which both stay in the cache.
//
//	for batch { for strip { for panel { for tile in strip { ... } } } }   or panels outside strips
//
// It returns the order of loops, outermost first, of which the first shared may be divided.
func (k *kernel) orderTiles(t *tiling, outer []string, vecTiles string, tiles []string) (order []string, shared int, err error) {
	panels := 1
	if vecTiles != "" {
		panels = k.s.Extent(vecTiles)
	}
	others := 1
	for _, n := range outer {
		others *= k.s.Extent(n)
	}
	weights, pixels := k.operandBytes(t.out, t.acc, t.lane, outer)
	i := k.stripLoop(tiles, weights, pixels, panels)
	if i < 0 {
		order = append(slices.Clone(outer), nonEmpty(vecTiles)...)
		return append(order, tiles...), len(order) + len(tiles), nil
	}
	n := k.s.Extent(tiles[i])
	least, inside, outside := k.orders(t, weights, pixels, panels, n)
	panelsOutside := outside <= inside
	if panels > 1 {
		values := []choice.Value{{Text: "panels inside", Cost: inside * float64(others)}, {Text: "panels outside", Cost: outside * float64(others)}}
		panelsOutside = k.decide("order", indexIf(panelsOutside), values) == 1
	}
	def := strips(n, least, others*panels)
	if panel := weights / panels; others*panels < Pieces && panel > Working(k.core.L2) && k.sharedParts(t) > 1 { // each strip reads a panel once, part by part
		tile := k.iterations(t.acc) / float64(t.lanes*k.core.Units*others*panels*n)
		if def, _ = k.core.Pieces(n, others*panels, k.core.Again(float64(panel), panel), tile); !panelsOutside {
			def = max(def, least)
		}
	}
	count := k.DecideAmong("strips", def, nil, UpTo(n)...)
	o, in, err := k.s.Split(tiles[i], (n+count-1)/count)
	if err != nil {
		return nil, 0, err
	}
	within := append(slices.Concat(tiles[:i], []string{in}), tiles[i+1:]...)
	strip := append(nonEmpty(vecTiles), o)
	if !panelsOutside {
		slices.Reverse(strip)
	}
	order = append(slices.Clone(outer), strip...)
	return append(order, within...), len(order), nil
}

// stripLoop is which of the loops over tiles is cut into strips: the outermost, or one inside it where there are so few lines that a strip of them is too long. -1: there is one
// tile.
func (k *kernel) stripLoop(tiles []string, weights, pixels, panels int) int {
	i := slices.IndexFunc(tiles, func(n string) bool { return k.s.Extent(n) > 1 })
	if i < 0 {
		return i
	}
	j := slices.IndexFunc(tiles[i:], func(n string) bool { return stripsFit(weights, pixels, panels, k.s.Extent(n), k.core.L2) })
	return i + max(0, j)
}

// orders are the cycles of both orders beside the products, and the number of strips that panels inside need.
func (k *kernel) orders(t *tiling, weights, pixels, panels, most int) (least int, inside, outside float64) {
	if t.widened != "" {
		return k.widenedOrders(t.acc, t.once, weights, pixels, panels, most)
	}
	least, in, out := orderOperands(weights, pixels, panels, most, k.core.L2)
	return least, in.cycles(k.core, weights, pixels), out.cycles(k.core, weights, pixels)
}

// UpTo lists the numbers that a count of pieces of n is looked for among: powers of two and one and a half times those.
func UpTo(n int) []int {
	var list []int
	for p := 1; p < n; p *= 2 {
		list = append(list, p)
		if m := p + p/2; m > p && m < n {
			list = append(list, m)
		}
	}
	return append(list, n)
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// A traffic is the bytes of each operand that are read from beyond L2.
type traffic struct{ weights, pixels int }

// cycles is how long it takes for operands of so many bytes.
func (t traffic) cycles(c core, weights, pixels int) float64 {
	return c.Again(float64(t.weights), weights) + c.Again(float64(t.pixels), pixels)
}

// orderOperands gives the bytes that both orders read from beyond a cache of the given size, for pixels cut into at most most
// strips, and the number of strips that panels inside need.
// Outside the panels, a strip of the least number meets one panel after another in the cache, beside the panel in use and
// the one prefetched: pixels are read once, weights once for each strip unless they fit as a whole. Inside, weights are
// read once, and pixels, unless they fit beside two panels, once for each panel. Where no strip fits
// beside two panels, panels inside read both again and again.
func orderOperands(weights, pixels, panels, most, cache int) (least int, inside, outside traffic) {
	budget, strip := Working(cache), max(1, stripBytes(weights, panels, cache))
	least, outside = 1, traffic{weights, again(pixels, panels, strip)}
	if pixels > strip {
		if !stripsFit(weights, pixels, panels, most, cache) {
			return 1, traffic{again(weights, most, budget), again(pixels, panels, budget)}, outside
		}
		least = (pixels + strip - 1) / strip
	}
	return least, traffic{again(weights, least, budget), pixels}, outside
}

// stripBytes is what a cache has for a strip beside the panel in use and the one prefetched.
func stripBytes(weights, panels, cache int) int {
	return min(Working(cache), Crowded(cache)-2*weights/panels)
}

// stripsFit reports whether pixels can be cut into at most most strips that a cache holds beside two panels.
func stripsFit(weights, pixels, panels, most, cache int) bool {
	return stripBytes(weights, panels, cache)*most >= pixels
}

// again is the traffic of reading bytes n times through a cache of the given size.
func again(bytes, n, size int) int {
	if bytes <= size {
		return bytes
	}
	return bytes * n
}

// strips is the number of strips to cut n tiles into: at least least, enough to keep workers busy together with the
// given number of other pieces, and with no more than a border of tiles missing from the last strip.
func strips(n, least, others int) int {
	for c := min(n, max(least, (Pieces+others-1)/others)); c < n; c++ {
		if each := (n + c - 1) / c; each*c-n < min(each, 2) {
			return c
		}
	}
	return n
}

// operandBytes is the memory that the accumulation reads in one iteration of the outer loops: through loads that depend
// on the vectors (weights), and through the others (pixels).
func (k *kernel) operandBytes(out, acc, lane string, outer []string) (weights, pixels int) {
	vectors := k.depends(out, acc, lane)
	bytes := make([]int, len(vectors))
	i := 0
	for _, a := range k.accesses(acc) {
		if !a.store {
			bytes[i] = a.buf.Bytes()
			i++
		}
	}
	for _, n := range outer {
		for i, d := range k.depends(out, acc, n) {
			if d {
				bytes[i] /= max(1, k.s.Extent(n))
			}
		}
	}
	for i, n := range bytes {
		if vectors[i] {
			weights += n
		} else {
			pixels += n
		}
	}
	return weights, pixels
}
