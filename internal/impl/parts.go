package impl

import "lathe/internal/target"

// PartsPay reports whether a reduction of so many bytes to few results is better divided among workers by the elements it reads, of
// which a part has so many.
func PartsPay(t *target.Target, bytes, each int) bool {
	s := t.Speed()
	return each >= leastPart && float64(bytes)/s.L3 > partsPay*s.Meet
}

// EnoughParts reports whether so many pieces of work keep workers about evenly busy.
func EnoughParts(n int) bool { return n >= Pieces }

// Pieces is into how many pieces the n tiles of each of so many others are best cut, and the cycles of all workers then, of which there
// are one, two or four. begin are the cycles of what a piece begins with, tile those of a tile.
func (c core) Pieces(n, others int, begin, tile float64) (count int, cycles float64) {
	count, cycles = 1, c.pieces(n, others, 1, begin, tile)
	for p := 2; p <= n; p++ {
		if t := c.pieces(n, others, p, begin, tile); t < cycles {
			count, cycles = p, t
		}
	}
	return count, cycles
}

// pieces are the cycles of all workers where the tiles of each are cut into so many.
func (c core) pieces(n, others, count int, begin, tile float64) float64 {
	each := (n + count - 1) / count
	return c.Together(others*((n+each-1)/each), begin+float64(each)*tile, 0)
}

// Together is the cycles of one, two and four workers on so many pieces of some cycles, in the mean of the three. Those that are done wait for the
// last piece: in any case for a share of it, for workers are never equally fast.
func (c core) Together(pieces int, each, share float64) float64 {
	cycles := float64(pieces) * each / 3
	for _, workers := range []int{2, 4} {
		cycles += (float64((pieces+workers-1)/workers) + share) * float64(workers) * each / 3
	}
	return cycles
}
