package impl

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// decidePartsOf asks whether the parts of a long sum are those of each tile, or of all tiles of a strip: a panel of a long sum is more than a
// cache holds, and each tile reads it from beyond. A part of it stays near while all tiles of the strip use it, and the totals of the
// strip lie in scratch, which the cache holds (Goto, van de Geijn: Anatomy of high-performance matrix multiplication, 2008). strip are the
// loops around a strip and its panel, within those over the tiles of a strip.
func (k *kernel) decidePartsOf(t *tiling, strip, within []string, size Tile) bool {
	parts := k.sharedParts(t)
	if parts == 1 {
		return false
	}
	tiles := 1
	for _, n := range within {
		tiles *= k.s.Extent(n)
	}
	if tiles == 1 {
		return false
	}
	bytes, _ := k.operandBytes(t.out, t.acc, t.lane, strip) // of a panel
	strips := k.iterations(t.out) / float64(tiles*size.Lines*size.Rows*size.Vecs*t.lanes)
	again := 0.0
	if bytes > Working(k.core.L2) {
		again = k.core.Shared(float64(bytes * (tiles - 1)))
	}
	totals := float64(parts*tiles*size.Lines*size.Rows*size.Vecs) * totalCycles
	products := k.iterations(t.acc) / float64(t.lanes*k.core.Units)
	values := []choice.Value{{Text: "tiles", Cost: products + strips*again}, {Text: "strips", Cost: products + strips*totals}}
	return k.decide(t.decision("parts_of"), indexIf(values[1].Cost < values[0].Cost), values) == 1
}

// sharedParts is the number of parts of a long sum of float32, if these may be those of several tiles; 1: they may not.
func (k *kernel) sharedParts(t *tiling) int {
	parts, _ := k.partsAndSteps(t)
	return parts
}

// partsAndSteps is the number of such parts, and the products of each where one loop counts them; 0 steps: several do.
func (k *kernel) partsAndSteps(t *tiling) (parts, steps int) {
	b, _ := k.find(t.acc)
	update, ok := b.Body.Value.(*expr.Binary)
	if !ok || update.Op != expr.OpAdd || b.Body.To.DType != types.F32 || t.streams > 1 || t.widened != "" || t.packed != "" || k.dotOf(t.acc) != nil {
		return 1, 0
	}
	rs, _ := k.reducing(t.acc, "")
	rs = k.orderReductions(t.acc, rs)
	if k.scaledParts(t.acc, rs) >= 0 {
		return 1, 0
	}
	c := k.cut(rs, longestChain)
	if len(rs) == 1 {
		steps = c.factor
	}
	return c.parts, steps
}

// sumStrips computes the sum inside the loop over strips, part by part for all of its tiles, whose loops are within. Where several panels meet a strip, the loop over these is
// outside of those over its tiles of rows, so that L1 keeps the part of a panel, and the tiles ask for the next.
//
//	for strip { total[strip] = 0; for part { for panel { for tile in strip { sum = 0; for r in part { sum += ... }; total[tile] += sum } } }; for tile in strip { y = f(total) } }
func (k *kernel) sumStrips(t *tiling, strip string, within []string, size Tile) error {
	acc := t.acc
	if err := k.s.ComputeAt(acc, strip, loop.Worker); err != nil {
		return errRefused
	}
	rs, ss := k.reducing(acc, strip)
	vec := k.loopOf(acc, t.vecLoop)
	all, err := k.splitLast(ss, t.lanes)
	if err != nil {
		return err
	}
	if len(all) > len(ss) {
		vec = all[len(all)-2]
	}
	lane := all[len(all)-1]
	panel, vecs := "", vec // the loop over the panels of a block, outermost over tiles
	if vec != "" && k.s.Extent(vec) > size.Vecs {
		if panel, vec, err = k.splitTile(vec, size.Vecs); err != nil {
			return err
		}
	}
	tile := nonEmpty(vec) // the loops of a tile
	var tiles []string    // over tiles
	done := []string{lane, vecs, vec, panel}
	for a := range within { // rows innermost
		n := k.loopOf(acc, within[len(within)-1-a])
		if n == "" || slices.Contains(done, n) {
			continue
		}
		done = append(done, n)
		each := 1
		if a < 2 {
			each = []int{size.Rows, size.Lines}[a]
		}
		o, i, err := k.splitTile(n, each)
		if err != nil {
			return err
		}
		tile = append(nonEmpty(i), tile...)
		tiles = append([]string{o}, tiles...)
	}
	for _, n := range all {
		if !slices.Contains(done, n) {
			tiles = append([]string{n}, tiles...)
		}
	}
	tiles = append(nonEmpty(panel), tiles...)
	rs = k.decideReductions(t, rs)
	c := k.cut(rs, longestChain)
	part, steps := rs[:c.loop+1], rs[c.loop+1:]
	if c.factor > 1 {
		o, i, err := k.s.Split(rs[c.loop], c.factor)
		if err != nil {
			return err
		}
		part, steps = append(slices.Clone(rs[:c.loop]), o), append([]string{i}, steps...)
	}
	order := slices.Concat(part, tiles, steps, tile, []string{lane})
	if err := k.s.Reorder(order...); err != nil {
		return errRefused
	}
	if err := k.UnrollTile(tile, lane); err != nil {
		return err
	}
	if err := k.s.DecomposeReduction(acc, order[0]); err != nil {
		return err
	}
	if err := k.s.FoldAt(acc, tiles[len(tiles)-1], loop.Reg); err != nil {
		return err
	}
	if err := k.unrollReduction(t, append(slices.Clone(tile), lane), steps[len(steps)-1]); err != nil {
		return err
	}
	t.partLoop = part[len(part)-1]
	if t.packedRows != "" {
		if err := k.packRows(t); err != nil {
			return err
		}
	}
	k.prefetchPanel(t, panel, size)
	return nil
}
