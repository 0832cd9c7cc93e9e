package impl

// A Tile is a block of accumulators in registers: Rows times Vecs vectors.
type Tile struct{ Rows, Vecs int }

// ChooseTile picks the tile for an output of rows by vecs vectors on a machine with regs vector registers. The cost of
// a step of the reduction is the most of: two multiply-adds a cycle; the latency of four cycles, with some slack because
// eight accumulators reach 92 % of peak; two loads a cycle.
// broadcast tells whether one operand is shared by the vectors of a row (a product); without it vectors are not tiled.
// A packed operand may force the number of vectors; 0 leaves it free among the divisors of vecs.
func ChooseTile(rows, vecs, regs, forced int, broadcast bool) Tile {
	best, bestCost := Tile{1, max(1, forced)}, 0.0
	for v := 1; v <= min(4, vecs); v++ {
		if forced > 0 && v != forced {
			continue
		}
		if v > 1 && forced == 0 && (!broadcast || vecs%v != 0) {
			continue
		}
		for r := 1; r <= min(28, rows); r++ {
			if r*v+v+1 > regs {
				break
			}
			step := func(r, v int) float64 {
				if r == 0 || v == 0 {
					return 0
				}
				return max(float64(r*v)/2, 4.4, float64(r+v)/2)
			}
			cost := float64(vecs/v) * (float64(rows/r)*step(r, v) + step(rows%r, v))
			// Equal costs: fewer tails, then larger tiles, which reuse more.
			cost *= 1 - 0.001*float64(r*v)/float64(regs)
			if rows%r != 0 {
				cost *= 1.01
			}
			if bestCost == 0 || cost < bestCost {
				best, bestCost = Tile{r, v}, cost
			}
		}
	}
	return best
}
