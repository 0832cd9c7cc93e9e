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
	if !k.sameIndex(out, acc) {
		return "", false, nil
	}
	why, shared, ok, err := k.tilePair(out, acc, "")
	if !ok || err != nil {
		return "", false, err
	}
	return why, true, k.parallelize(shared)
}

// tilePair schedules by tiles a reduction acc and its pointwise rest out, which reads it at its own index only. The loops of out are those inside loop below, all
// of them if that is "". It returns the loops that may be divided among workers.
func (k *kernel) tilePair(out, acc, below string) (why string, shared []string, ok bool, err error) {
	spatial := k.inside(out, below)
	lane := ""
	for _, n := range slices.Backward(spatial) {
		if k.s.Extent(n) > 1 {
			lane = n
			break
		}
	}
	if lane == "" {
		return "", nil, false, nil
	}
	b, _ := k.find(out)
	lanes := k.cpu.Lanes(max(4, b.Body.To.DType.Size()))
	n := k.s.Extent(lane)
	k.splitBlockedReductions(acc)
	outer := ""
	if i := slices.Index(spatial, lane); n == lanes && i > 0 {
		outer = k.outerPart(out, acc, lane, spatial[:i])
	}
	forced := k.packedVecs(acc, k.loopOf(acc, outer))
	panel := 0
	if n > lanes {
		panel = k.packedVecs(acc, k.loopOf(acc, lane))
	}
	if !k.vectorAxis(k.loopOf(acc, lane), k.loopOf(acc, outer), acc, lanes, forced, panel) {
		return "", nil, false, nil
	}
	// From here on the rule applies: lane is the axis of vectors.
	vecLoop, panels := outer, ""
	if n > lanes {
		if panel > lanes && panel < n { // the loop over panels is an outer one; the vectors of a panel are the tile's
			o, i, err := k.s.Split(lane, panel)
			if err != nil {
				return "", nil, false, err
			}
			panels, lane = o, i
		}
		o, i, err := k.s.Split(lane, lanes)
		if err != nil {
			return "", nil, false, err
		}
		vecLoop, lane = o, i
	}
	if panel > lanes {
		forced = panel / lanes
	}
	axes := k.rowAxes(out, acc, below, lane, vecLoop)
	broadcast := k.broadcasts(out, acc, lane)
	lines, rows, vecs := 1, 1, 1
	if len(axes) > 0 {
		rows = k.s.Extent(axes[0])
	}
	if len(axes) > 1 && below == "" { // inside a strip, lines beyond the border are left out one by one
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
	order := ""
	order, shared, err = k.applyTile(out, acc, below, lane, vecLoop, panels, axes, t)
	if err != nil {
		return "", nil, false, err
	}
	return fmt.Sprintf("%s accumulators of %d lanes%s", t, min(n, lanes), order), shared, true, nil
}

// inside lists the loops of a block inside loop below, all of them if that is "".
func (k *kernel) inside(block, below string) []string {
	loops := k.s.Loops(block)
	return loops[slices.Index(loops, below)+1:]
}

// applyTile splits, orders and places everything; panels is the loop over panels where these are split off already. It
// returns the order of the outer loops in words, and those to divide among workers.
func (k *kernel) applyTile(out, acc, below, lane, vecLoop, panels string, axes []string, t Tile) (why string, shared []string, err error) {
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
	for _, n := range k.inside(out, below) {
		if n != lane && n != vecTiles && !slices.Contains(inner, n) && !slices.Contains(tiles, n) {
			outer = append(outer, n)
		}
	}
	shares := 0
	if below != "" { // what a strip needs is in the cache, in any order
		outer = slices.Concat(outer, nonEmpty(vecTiles), tiles)
	} else if why, outer, shares, err = k.orderTiles(out, acc, lane, outer, vecTiles, tiles); err != nil {
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
	if err := k.scheduleAcc(acc, at, k.loopOf(acc, vecLoop), k.s.Extent(lane)); err != nil {
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
