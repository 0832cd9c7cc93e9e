package impl

import (
	"fmt"
	"slices"

	"lathe/internal/loop"
)

// tile schedules a reduction that has a spatial axis contiguous in memory: accumulators for a few rows and vectors of
// the output stay in registers over the whole reduction, and the pointwise rest of the group runs on them before the
// store.
//
//	parallel (outer axes) { rows.o { acc = 0; reduce { rows.i × vecs × lanes: acc += ... }; y = f(acc) } }
func tile(k *kernel) (string, bool, error) {
	if len(k.Stages) != 2 {
		return "", false, nil
	}
	out, acc := k.outBlock(), k.accBlock()
	spatial := k.s.Loops(out)
	lane := ""
	for _, n := range slices.Backward(spatial) {
		if k.s.Extent(n) > 1 {
			lane = n
			break
		}
	}
	if lane == "" || !k.sameIndex(out, acc) {
		return "", false, nil
	}
	b, _ := k.find(out)
	lanes := k.cpu.Lanes(max(4, b.Body.To.DType.Size()))
	n := k.s.Extent(lane)
	k.splitBlockedReductions(acc)
	outer := ""
	if i := slices.Index(spatial, lane); n == lanes && i > 0 {
		outer = k.outerPart(out, acc, lane, spatial[:i])
	}
	forced := k.packedVecs(acc, accLoop(out, acc, outer))
	panel := 0
	if n > lanes {
		panel = k.packedVecs(acc, accLoop(out, acc, lane))
	}
	if !k.vectorAxis(accLoop(out, acc, lane), accLoop(out, acc, outer), acc, lanes, forced, panel) {
		return "", false, nil
	}
	// From here on the rule applies: lane is the axis of vectors.
	vecLoop, panels := outer, ""
	if n > lanes {
		if panel > lanes && panel < n { // the loop over panels is an outer one; the vectors of a panel are the tile's
			o, i, err := k.s.Split(lane, panel)
			if err != nil {
				return "", false, err
			}
			panels, lane = o, i
		}
		o, i, err := k.s.Split(lane, lanes)
		if err != nil {
			return "", false, err
		}
		vecLoop, lane = o, i
	}
	if panel > lanes {
		forced = panel / lanes
	}
	axes := k.rowAxes(out, acc, lane, vecLoop)
	broadcast := k.broadcasts(out, acc, lane)
	lines, rows, vecs := 1, 1, 1
	if len(axes) > 0 {
		rows = k.s.Extent(axes[0])
	}
	if len(axes) > 1 {
		lines = k.s.Extent(axes[1])
	}
	if vecLoop != "" {
		vecs = k.s.Extent(vecLoop)
	}
	regs, reuse := k.cpu.Registers, 0.001
	if k.hasDot(acc) {
		regs, reuse = DotRegisters(regs, k.cpu.Dot), 0.05
	}
	t := chooseTile(lines, rows, vecs, regs, forced, broadcast, reuse)
	if len(axes) == 0 && !broadcast {
		t.Vecs = min(vecs, 4) // independent accumulators hide the latency
	}
	why, order, err := k.applyTile(out, acc, lane, vecLoop, panels, axes, t)
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%s accumulators of %d lanes%s", t, min(n, lanes), why), true, k.parallelize(order)
}

// applyTile splits, orders and places everything; panels is the loop over panels where these are split off already. It
// returns the order of the outer loops in words, and those to divide among workers.
func (k *kernel) applyTile(out, acc, lane, vecLoop, panels string, axes []string, t Tile) (why string, shared []string, err error) {
	var inner []string
	vecTiles := ""
	if vecLoop != "" {
		o, i, err := k.splitTile(vecLoop, t.Vecs)
		if err != nil {
			return "", nil, err
		}
		if i != "" {
			inner = append(inner, i)
		}
		vecTiles = o
	}
	if panels != "" && k.s.Extent(vecTiles) == 1 {
		vecTiles = panels
	}
	var tiles []string // loops over the tiles of the row axes, outermost first
	for a, n := range axes {
		size := 1 // further axes have no part in the tile
		if a < 2 {
			size = []int{t.Rows, t.Lines}[a]
		}
		o, i, err := k.splitTile(n, size)
		if err != nil {
			return "", nil, err
		}
		if i != "" {
			inner = append([]string{i}, inner...)
		}
		tiles = append([]string{o}, tiles...)
	}
	var outer []string
	for _, n := range k.s.Loops(out) {
		if n != lane && n != vecTiles && !slices.Contains(inner, n) && !slices.Contains(tiles, n) {
			outer = append(outer, n)
		}
	}
	why, outer, shares, err := k.orderTiles(out, acc, lane, outer, vecTiles, tiles)
	if err != nil {
		return "", nil, err
	}
	if len(outer) == 0 { // the output is one tile: a loop of one iteration holds the accumulators
		o, i, err := k.s.Split(lane, k.s.Extent(lane))
		if err != nil {
			return "", nil, err
		}
		outer, lane, shares = []string{o}, i, 1
	}
	if err := k.s.Reorder(slices.Concat(outer, inner, []string{lane})...); err != nil {
		return "", nil, err
	}
	at := outer[len(outer)-1]
	rolled := k.rolled(out, t.Lines*t.Rows*t.Vecs)
	unrolled := inner
	if rolled {
		unrolled = nil
	}
	if err := k.unrollTile(unrolled, lane); err != nil {
		return "", nil, err
	}
	if err := k.s.ComputeAt(acc, at, loop.Reg); err != nil {
		return "", nil, err
	}
	if err := k.scheduleAcc(acc, at, accLoop(out, acc, base(vecLoop)), k.s.Extent(lane)); err != nil {
		return "", nil, err
	}
	if rolled {
		if err := k.leaveRegisters(out, acc, k.s.Extent(lane)); err != nil {
			return "", nil, err
		}
	}
	k.prefetchPanel(acc, vecTiles)
	k.prefetchEpilogue(out, acc, at)
	return why, outer[:shares], nil
}

// splitTile divides a loop by the tile size; a loop that is one tile as a whole gets an outer loop of one iteration.
func (k *kernel) splitTile(name string, size int) (outer, inner string, err error) {
	if size <= 1 {
		return name, "", nil
	}
	return k.s.Split(name, size)
}

// unrollTile unrolls the loops of a tile of vectors, of which lane runs over the elements of one.
func (k *kernel) unrollTile(unrolled []string, lane string) error {
	for _, n := range unrolled {
		if err := k.s.Unroll(n); err != nil {
			return err
		}
	}
	return k.s.Vectorize(lane)
}
