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

// ChooseTile picks the tile for an output of rows by vecs vectors on a machine with regs vector registers.
// broadcast tells whether one operand is shared by the vectors of a row (a product); without it vectors are not tiled.
// A packed operand may force the number of vectors; 0 leaves it free among the divisors of vecs.
func ChooseTile(rows, vecs, regs, forced int, broadcast bool) Tile {
	return ChooseTile2D(1, rows, vecs, regs, forced, broadcast)
}

// loads is how many loads a cycle serves: two, but for conflicts.
const loads = 1.8

// refill is the time in cycles that a step of the reduction spends on each cache line it reads.
const refill = 0.2

// ChooseTile2D is ChooseTile for lines of rows: an image of pixels. Short lines are taken whole and several at once.
// The cost of a step of the reduction is the most of: two multiply-adds a cycle; the latency of four cycles, with some
// slack because eight accumulators reach 92 % of peak; the loads. The cache lines it reads come on top, for their
// way from L2 is not hidden altogether.
func ChooseTile2D(lines, rows, vecs, regs, forced int, broadcast bool) Tile {
	return chooseTile(lines, rows, vecs, regs, forced, broadcast, 0.001)
}

// chooseTile is ChooseTile2D with the share of the cost that a tile of all registers saves by reusing what it loads.
func chooseTile(lines, rows, vecs, regs, forced int, broadcast bool, reuse float64) Tile {
	list, best := tiles(lines, rows, vecs, regs, forced, broadcast, reuse)
	return list[best].Tile
}

// A costedTile is a tile and about how many cycles the output takes with it, for one step of the reduction.
type costedTile struct {
	Tile
	cost float64
}

// tiles lists the tiles that fit the registers, and which of them costs least.
func tiles(lines, rows, vecs, regs, forced int, broadcast bool, reuse float64) (list []costedTile, best int) {
	consider := func(t Tile) {
		step := func(n int) float64 {
			if n == 0 {
				return 0
			}
			return max(float64(n*t.Vecs)/2, 4.4, float64(n+t.Vecs)/loads) + refill*(float64(t.Vecs)+float64(n)/16)
		}
		n := t.Lines * t.Rows
		cost := step(n)*float64(rows/t.Rows) + step(t.Lines*(rows%t.Rows))
		cost *= float64(lines / t.Lines)
		if rest := lines % t.Lines; rest > 0 {
			cost += step(rest * rows)
		}
		cost *= float64(vecs / t.Vecs)
		// Equal costs: fewer tails, then larger tiles, which reuse more.
		cost *= 1 - reuse*float64(n*t.Vecs)/float64(regs)
		if rows%t.Rows != 0 || lines%t.Lines != 0 {
			cost *= 1.01
		}
		list = append(list, costedTile{t, cost})
		if cost < list[best].cost {
			best = len(list) - 1
		}
	}
	for v := 1; v <= min(4, vecs); v++ {
		if forced > 0 && v != forced {
			continue
		}
		if v > 1 && forced == 0 && (!broadcast || vecs%v != 0) {
			continue
		}
		fits := func(rows int) bool { return rows*v+v+1 <= regs && rows <= 28 }
		for r := 1; r <= rows && fits(r); r++ {
			consider(Tile{1, r, v})
		}
		for l := 2; broadcast && l <= lines && fits(l*rows); l++ {
			consider(Tile{l, rows, v})
		}
	}
	if len(list) == 0 {
		list = append(list, costedTile{Tile: Tile{1, 1, max(1, forced)}})
	}
	return list, best
}
