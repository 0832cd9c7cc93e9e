package impl

import "fmt"

// A Tile is a block of accumulators in registers: Rows times Vecs vectors, for Lines rows of the next outer axis at once.
type Tile struct{ Lines, Rows, Vecs int }

func (t Tile) String() string {
	if t.Lines > 1 {
		return fmt.Sprintf("%d x %d x %d", t.Lines, t.Rows, t.Vecs)
	}
	return fmt.Sprintf("%d x %d", t.Rows, t.Vecs)
}

// A costedTile is a tile and about how many cycles the output takes with it, for one step of the reduction.
type costedTile struct {
	Tile
	cost float64
}

// An output is what tiles divide: lines of rows, such as an image of pixels, by vecs vectors.
type output struct {
	lines, rows, vecs int
	passing           bool // vectors may pass one by one, while the operands of fewer rows stay in registers
	panels            bool // vectors lie in panels, of which the last need not be full
	single            bool // of those a tile reads one, also where it is of one row
	apart             int  // bytes from a row of the operand that the vectors of a row share to its next; 0: they are near
}

// tiles lists the tiles that fit so many registers, and which of them costs least, for an output.
// Short lines are taken whole and several at once. broadcast tells whether one operand is
// shared by the vectors of a row (a product); without it vectors are not tiled. A packed operand may force the number of
// vectors; 0 leaves it free among the divisors of vecs, or for panels among all.
func (c core) tiles(o output, regs, forced int, broadcast bool, reuse float64) (list []costedTile, best int) {
	lines, rows, vecs := o.lines, o.rows, o.vecs
	consider := func(t Tile) {
		n := t.Lines * t.Rows
		across := func(vecs int) float64 { // so many vectors
			step := func(n int) float64 { return c.step(n, vecs, asTheyLie) + c.evicted(n, vecs, o.apart) }
			cost := step(n)*float64(rows/t.Rows) + step(t.Lines*(rows%t.Rows))
			cost *= float64(lines / t.Lines)
			if rest := lines % t.Lines; rest > 0 {
				cost += step(rest * rows)
			}
			return cost
		}
		cost := across(t.Vecs) * float64(vecs/t.Vecs)
		switch rest := vecs % t.Vecs; {
		case rest > 0 && o.passing:
			cost = (cost + across(rest)) * tailCost
		case rest > 0:
			cost *= float64(vecs/t.Vecs+1) / float64(vecs/t.Vecs) * tailCost
		}
		// Equal costs: fewer tails, then larger tiles, which reuse more.
		cost *= 1 - reuse*float64(n*t.Vecs)/float64(regs)
		if rows%t.Rows != 0 || lines%t.Lines != 0 {
			cost *= tailCost
		}
		list = append(list, costedTile{t, cost})
		if cost < list[best].cost {
			best = len(list) - 1
		}
	}
	fits := func(r, v int) bool {
		return c.fits(r, v, regs, broadcast) || o.passing && c.fits(v, r, regs, broadcast)
	}
	for v := 1; v <= min(4, vecs); v++ {
		if forced > 0 && v != forced {
			continue
		}
		if v > 1 && forced == 0 && (!broadcast || vecs%v != 0 && !o.panels && !o.passing) {
			continue
		}
		for r := 1; r <= rows && fits(r, v); r++ {
			consider(Tile{1, r, v})
		}
		for l := 2; broadcast && l <= lines && fits(l*rows, v); l++ {
			consider(Tile{l, rows, v})
		}
	}
	if len(list) == 0 {
		consider(Tile{1, 1, max(1, forced)})
	}
	return list, best
}

// longestPiece is the most vectors of a matrix as it lies that a tile reads at a step.
const longestPiece = 16

// adjacent reports whether the vectors of the loop vecLoop lie side by side in what is loaded by vectors, and not each in a panel of its own, which
// is one more stream.
func (k *kernel) adjacent(acc, lane, vecLoop string) bool {
	lanes, vecs := k.variable(acc, k.loopOf(acc, lane)), k.variable(acc, k.loopOf(acc, vecLoop))
	for _, a := range k.accesses(acc) {
		if n, linear := a.stride(lanes); a.store || !linear || n != 1 {
			continue
		}
		if n, linear := a.stride(vecs); linear && n > int64(k.s.Extent(lane)) {
			return false
		}
	}
	return true
}

// apartTiles are tiles whose rows share no operand of vectors, which is a matrix as it lies: every step reads a piece of memory for each
// row, which begins elsewhere, so that long pieces cost least, as long as each of four workers has a tile. A piece has so many vectors at
// most. others is the number of such products.
func (c core) apartTiles(rows, vecs, regs, piece int, others float64) (list []costedTile, best int) {
	step := func(r, v int) float64 {
		n := float64(r * v)
		loads := (n + float64(r)) / (asTheyLie.loads * float64(c.Loads))
		return max(n/float64(c.Units), latencySlack*float64(c.Latency), loads) + asTheyLie.line*(n+float64(r)/16) + pieceCycles*float64(r)
	}
	for v := 1; v <= min(vecs, piece); v++ {
		for r := 1; r <= rows && r <= mostRows && r*v+v+1 <= regs; r++ {
			if v > 4 && float64(vecs/v*(rows/r))*others < 4 {
				continue
			}
			across := func(r int) float64 {
				cost := step(r, v) * float64(vecs/v)
				if rest := vecs % v; rest > 0 {
					cost += step(r, rest)
				}
				return cost
			}
			cost := across(r) * float64(rows/r)
			if rest := rows % r; rest > 0 {
				cost += across(rest)
			}
			if vecs%v > 0 || rows%r > 0 {
				cost *= tailCost
			}
			list = append(list, costedTile{Tile{1, r, v}, cost})
			if cost < list[best].cost {
				best = len(list) - 1
			}
		}
	}
	return list, best
}
