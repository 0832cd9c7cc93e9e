package impl

import (
	"cmp"
	"slices"
	"strconv"

	"lathe/internal/loop"
)

// A block of a product is so many panels of weights by a strip of rows, into so many of which the rows are cut.
type block struct {
	panels, strips int
	loop           int     // of those over tiles, that is cut into strips
	cost           float64 // cycles beside the products
	lying, packed  float64 // those of rows as they lie, and of packed rows; packed is 0 where they cannot be
}

func (b block) String() string { return strconv.Itoa(b.panels) }

// decideBlocks asks for the panels of a block, whose sums are made part by part: of a part, the rows of a strip stay in L2 beside the totals, where they meet all panels of the
// block, each of which L1 holds meanwhile. Sums that are whole read a panel, or the rows, from beyond L2 again and again where these are long (Goto, van de Geijn: Anatomy of
// high-performance matrix multiplication, 2008). 0 panels: there are no blocks.
func (k *kernel) decideBlocks(t *tiling, outer []string, vecTiles string, tiles []string, size Tile) block {
	parts, steps := k.partsAndSteps(t)
	whole := t.outer != "" || t.n%(size.Vecs*t.lanes) == 0 // else the last panel has lanes beyond the border, whose conditions take registers where there are none left
	if vecTiles == "" || parts == 1 || !whole || k.ownWeights(t, tiles) {
		return block{}
	}
	p := longProduct{core: k.core, parts: parts, panels: k.s.Extent(vecTiles), others: 1, columns: size.Vecs * t.lanes, vecs: size.Vecs}
	p.weights, p.pixels = k.operandBytes(t.out, t.acc, t.lane, outer)
	i := k.stripLoop(tiles, p.weights, p.pixels, p.panels)
	if i < 0 {
		return block{}
	}
	p.tiles = k.s.Extent(tiles[i])
	for _, o := range outer {
		p.others *= k.s.Extent(o)
	}
	p.rows = k.iterations(t.out) / float64(p.others*p.panels*p.columns)
	p.apart = k.rowsApart(t.acc, tiles[len(tiles)-1], t.lane)
	p.packs = steps > 0 && steps%t.lanes == 0 && float64(p.apart)*p.rows >= float64(p.pixels) && k.trial(func() bool { _, err := k.s.StageRows(t.acc, k.loopOf(t.acc, t.lane)); return err == nil })
	_, inside, outside := orderOperands(p.weights, p.pixels, p.panels, p.tiles, k.core.L2)
	if outside.cycles(k.core, p.weights, p.pixels) <= inside.cycles(k.core, p.weights, p.pixels) {
		inside = outside // the order that is taken
	}
	list := []block{{loop: i, cost: p.exposed(inside) * float64(p.others)}}
	for n := 2; n <= p.panels; n++ {
		if b, ok := p.block(n); ok {
			b.loop = i
			list = append(list, b)
		}
	}
	if len(list) == 1 {
		return block{}
	}
	best := slices.Index(list, slices.MinFunc(list, func(a, b block) int { return cmp.Compare(a.cost, b.cost) }))
	return DecideOne(k, t.decision("block_panels"), best, list, func(b block) float64 { return b.cost })
}

// ownWeights reports whether weights change with a loop over tiles: then each tile reads its own once, in any order.
func (k *kernel) ownWeights(t *tiling, tiles []string) bool {
	vectors := k.depends(t.out, t.acc, t.lane)
	return slices.ContainsFunc(tiles, func(n string) bool {
		for i, d := range k.depends(t.out, t.acc, n) {
			if d && vectors[i] && k.s.Extent(n) > 1 {
				return true
			}
		}
		return false
	})
}

// A longProduct is a product whose sums are made in parts.
type longProduct struct {
	core
	weights, pixels int // bytes
	parts, panels   int
	tiles           int // of rows
	others          int // products
	rows            float64
	apart           int  // bytes from row to row; 0: rows are not apart
	packs           bool // rows can be packed
	columns, vecs   int  // of a panel
}

// block is one of so many panels, in as few strips as L2 needs to hold the rows of a part and the totals, and workers to be busy. Panels must be whole blocks.
func (p longProduct) block(panels int) (b block, ok bool) {
	if p.panels%panels > 0 {
		return b, false
	}
	count := p.panels / panels
	near := float64(2 * p.weights / p.panels / p.parts) // weights of a part, and what is read next
	share := func(strips int) float64 { return float64((p.tiles+strips-1)/strips) / float64(p.tiles) }
	fits := func(strips int) bool {
		rows := float64(p.pixels)/float64(p.parts) + p.rows*float64(4*panels*p.columns)
		return share(strips)*rows+near <= float64(Working(p.L2))
	}
	b = block{panels: panels, strips: 1}
	for b.strips < p.tiles && !fits(b.strips) {
		b.strips++
	}
	if !fits(b.strips) {
		return b, false
	}
	if p.others*b.strips*count < Pieces/2 { // half as many as elsewhere, for each strip more reads the weights once more
		b.strips = strips(p.tiles, b.strips, 2*p.others*count)
	}
	read := traffic{again(p.weights, b.strips, Working(p.L2)), p.pixels}
	if p.pixels/b.strips+p.weights/count > Crowded(p.L2) { // the rows are gone when the next block begins
		read.pixels *= count
	}
	piece, part := max(1, int(float64(p.pixels)/(p.rows*float64(p.parts)))), share(b.strips)*float64(p.pixels)/float64(p.parts)
	late := max(0, part-float64(p.stay(p.L2, piece, p.apart))) / part // of the rows, for each panel but the first of a block
	totals := float64(p.parts) * p.rows * float64(p.panels*p.vecs) * totalCycles
	common := p.exposed(read) + totals
	b.lying = (common + followedShare*p.Again(late*float64(p.pixels*(p.panels-count)), p.pixels)) * float64(p.others)
	if b.cost = b.lying; p.packs {
		b.packed = (common + p.copied(p.pixels*count, piece, p.pixels)) * float64(p.others)
		b.cost = min(b.lying, b.packed)
	}
	return b, true
}

// exposed is the time that products do not hide of what they read from beyond L2: weights, that are asked for, and rows, that hardware follows.
func (p longProduct) exposed(t traffic) float64 {
	return askedShare*p.Again(float64(t.weights), p.weights) + followedShare*p.Again(float64(t.pixels), p.pixels)
}

// blockTiles orders the loops of the results over tiles by blocks, of which those up to shared may be divided among workers. within are the loops over the tiles of rows of a block,
// and panel the one over its panels, which is inside those: totals are read there as rows of the results. Sums have it outside of them (sumStrips).
//
//	for batch { for strip { for block { for tile in strip { for panel in block { ... } } } } }
func (k *kernel) blockTiles(t *tiling, b block, outer []string, vecTiles string, tiles []string) (order []string, shared int, panel string, err error) {
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
	if b.packed > 0 && k.DecideIfCheaper(t.decision("packed_rows"), b.lying, b.packed) {
		if t.packedRows, err = k.s.StageRows(t.acc, k.loopOf(t.acc, t.lane)); err != nil {
			return nil, 0, "", err
		}
		k.staged = append(k.staged, t.packedRows)
	}
	order = append(slices.Clone(outer), strip, blocks)
	shared = len(order)
	return slices.Concat(order, tiles[:i], []string{in}, tiles[i+1:], []string{panel}), shared, panel, nil
}

// packRows copies the rows of a strip, those of one part of their sums, into scratch where they lie together: rows that lie a multiple of a large power of two apart in memory share
// few sets of L2, which does not hold them from one panel to the next.
func (k *kernel) packRows(t *tiling) error {
	if err := k.s.ComputeAt(t.packedRows, t.partLoop, loop.Worker); err != nil {
		return err
	}
	loops, err := k.splitLast(k.inside(t.packedRows, t.partLoop), t.lanes)
	if err != nil {
		return err
	}
	return k.s.Vectorize(loops[len(loops)-1])
}
