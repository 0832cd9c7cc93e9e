package impl

import (
	"cmp"
	"slices"
	"strconv"
)

// A block of a product is so many panels of weights by a strip of rows, into so many of which the rows are cut.
type block struct {
	panels, strips int
	loop           int     // of those over tiles, that is cut into strips
	cost           float64 // cycles beside the products
}

func (b block) String() string { return strconv.Itoa(b.panels) }

// decideBlocks asks for the panels of a block, whose sums are made part by part: of a part, the rows of a strip stay in L2 beside the totals, where they meet all panels of the
// block, each of which L1 holds meanwhile. Sums that are whole read a panel, or the rows, from beyond L2 again and again where these are long (Goto, van de Geijn: Anatomy of
// high-performance matrix multiplication, 2008). 0 panels: there are no blocks.
func (k *kernel) decideBlocks(t *tiling, outer []string, vecTiles string, tiles []string, size Tile) block {
	parts := k.sharedParts(t)
	whole := t.outer != "" || t.n%(size.Vecs*t.lanes) == 0 // else the last panel has lanes beyond the border, whose conditions take registers where there are none left
	if vecTiles == "" || parts == 1 || !whole {
		return block{}
	}
	weights, pixels := k.operandBytes(t.out, t.acc, t.lane, outer)
	panels, others := k.s.Extent(vecTiles), 1
	i := k.stripLoop(tiles, weights, pixels, panels)
	if i < 0 {
		return block{}
	}
	n := k.s.Extent(tiles[i])
	vectors := k.depends(t.out, t.acc, t.lane)
	for _, o := range tiles {
		for i, d := range k.depends(t.out, t.acc, o) {
			if d && vectors[i] && k.s.Extent(o) > 1 {
				return block{} // each tile has weights of its own
			}
		}
	}
	for _, o := range outer {
		others *= k.s.Extent(o)
	}
	_, inside, outside := k.orders(t, weights, pixels, panels, n)
	list := []block{{loop: i, cost: min(inside, outside) * float64(others)}}
	acc, _ := k.find(t.acc)
	columns := size.Vecs * t.lanes // of a panel
	rows := k.iterations(t.out) / float64(others*panels*columns)
	near := float64(2 * weights / panels / parts) // weights of a part, and what is read next
	stay := k.core.stay(k.core.L2, int(float64(pixels)/rows)/parts, k.rowsApart(t.acc, tiles[i], t.lane))
	for p := 2; p <= panels; p++ {
		if panels%p > 0 {
			continue
		}
		count := panels / p
		fits := func(strips int) bool {
			share := float64((n+strips-1)/strips) / float64(n)
			part, totals := share*float64(pixels)/float64(parts), share*rows*float64(acc.Body.To.DType.Bytes(p*columns))
			return part <= float64(stay) && part+totals+near <= float64(Working(k.core.L2))
		}
		least := 1
		for least < n && !fits(least) {
			least++
		}
		if !fits(least) {
			continue
		}
		if others*least*count < Pieces/2 { // half as many as elsewhere, for each strip more reads the weights once more
			least = strips(n, least, 2*others*count)
		}
		read := traffic{again(weights, least, Working(k.core.L2)), pixels}
		if pixels/least+weights/count > Crowded(k.core.L2) { // the rows are gone when the next block begins
			read.pixels *= count
		}
		totals := float64(parts) * rows * float64(panels*size.Vecs) * totalCycles
		list = append(list, block{p, least, i, (read.cycles(k.core, weights, pixels) + totals) * float64(others)})
	}
	if len(list) == 1 {
		return block{}
	}
	best := slices.Index(list, slices.MinFunc(list, func(a, b block) int { return cmp.Compare(a.cost, b.cost) }))
	return DecideOne(k, t.decision("block_panels"), best, list, func(b block) float64 { return b.cost })
}

// blockTiles orders the loops over tiles by blocks, of which those up to shared may be divided among workers. within are the loops over the tiles of rows of a block, and
// panel the one over its panels, which is inside those.
//
//	for batch { for strip { for block { for tile in strip { for panel in block { ... } } } } }
func (k *kernel) blockTiles(b block, outer []string, vecTiles string, tiles []string) (order []string, shared int, panel string, err error) {
	i := b.loop
	n := k.s.Extent(tiles[i])
	strip, in, err := k.s.Split(tiles[i], (n+b.strips-1)/b.strips)
	if err != nil {
		return nil, 0, "", err
	}
	blocks, panel, err := k.s.Split(vecTiles, b.panels)
	if err != nil {
		return nil, 0, "", err
	}
	order = append(slices.Clone(outer), strip, blocks)
	shared = len(order)
	return slices.Concat(order, tiles[:i], []string{in}, tiles[i+1:], []string{panel}), shared, panel, nil
}
