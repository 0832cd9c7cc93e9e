package impl

import (
	"slices"

	"lathe/internal/loop"
	"lathe/internal/sched"
)

// tile schedules a reduction that has a spatial axis contiguous in memory: accumulators for a few rows and vectors of
// the output stay in registers over the whole reduction, and the pointwise rest of the group runs on them before the
// store.
//
//	parallel (outer axes) { rows.o { acc = 0; reduce { rows.i × vecs × lanes: acc += ... }; y = f(acc) } }
func tile(k *kernel) error {
	t := tiling{out: k.outBlock(), acc: k.accBlock()}
	if err := k.decideWidened(&t); err != nil {
		return err
	}
	shared, err := k.tilePair(t)
	if err != nil {
		return err
	}
	return k.Parallelize(shared)
}

func tileApplies(k *kernel) bool {
	if len(k.Stages) != 2 || !k.SameIndex(k.outBlock(), k.accBlock()) {
		return false
	}
	return k.trial(func() bool {
		t := tiling{out: k.outBlock(), acc: k.accBlock()}
		return k.vectors(&t)
	})
}

// A tiling is a reduction and its pointwise rest, which reads it at its own index only, on the way to tiles.
type tiling struct {
	out, acc string
	below    string // the loops of out are those inside this one; "": all
	several  bool   // other blocks of the kernel are tiled as well: decisions name theirs

	lane    string // the loop along memory
	n       int    // its extent
	lanes   int    // elements of a vector
	outer   string // the loop over blocks of the same axis, where a layout has made one
	forced  int    // vectors of a panel that a packed operand asks for; 0: any
	panel   int    // elements of a panel within lane; 0: none
	vecLoop string // the loop over vectors, once lane is one vector
	panels  string // the loop over panels, where those are of several vectors
	streams int    // panels that a tile of one row reads at once; 0: one

	once       float64 // cycles to widen all weights
	widened    string  // the block of weights that are widened for all tiles of a panel; "": each tile widens what it reads
	packed     string  // the block of an operand as it lies, that is packed for all tiles of some panels; "": tiles read it
	packedRows string  // the block of the rows' operand, that is packed for all panels of a block, part by part; "": tiles read it
	partLoop   string  // the reduction loop whose iterations are parts of a long sum; "": the sum is whole
}

// decision is the name of a decision on this reduction.
func (t *tiling) decision(name string) string {
	if t.several {
		return Of(name, t.acc)
	}
	return name
}

// vectors finds the axis of vectors. Addresses must be linear, so that it splits reductions over blocked axes first.
func (k *kernel) vectors(t *tiling) bool {
	spatial := k.inside(t.out, t.below)
	for _, n := range slices.Backward(spatial) {
		if k.s.Extent(n) > 1 {
			t.lane = n
			break
		}
	}
	if t.lane == "" {
		return false
	}
	b, _ := k.find(t.out)
	sums, _ := k.find(t.acc)
	t.lanes = k.core.lanes(max(4, b.Body.To.DType.Size(), sums.Body.To.DType.Size()))
	t.n = k.s.Extent(t.lane)
	k.splitBlockedReductions(t.acc)
	if i := slices.Index(spatial, t.lane); t.n == t.lanes && i > 0 {
		t.outer = k.outerPart(t.out, t.acc, t.lane, spatial[:i])
	}
	if t.outer != "" && (t.below != "" || k.panelOf(t.acc) < k.s.Extent(t.outer)) { // a strip has one panel
		t.forced = k.panelOf(t.acc)
	}
	if n := k.panelOf(t.acc) * t.lanes; t.n > t.lanes && n < t.n {
		t.panel = n
	}
	return k.vectorAxis(k.loopOf(t.acc, t.lane), k.loopOf(t.acc, t.outer), t.acc, t.lanes, t.forced, t.panel)
}

// splitVectors makes lane one vector and finds the loop over vectors.
func (k *kernel) splitVectors(t *tiling) (err error) {
	t.vecLoop = t.outer
	if t.n > t.lanes {
		if t.panel > t.lanes && t.panel < t.n { // the loop over panels is an outer one; the vectors of a panel are the tile's
			if t.panels, t.lane, err = k.s.Split(t.lane, t.panel); err != nil {
				return err
			}
		}
		if t.vecLoop, t.lane, err = k.s.Split(t.lane, t.lanes); err != nil {
			return err
		}
	}
	if t.panel > t.lanes {
		t.forced = t.panel / t.lanes
	}
	return nil
}

// tilePair schedules a reduction and its rest by tiles. It returns the loops that may be divided among workers.
func (k *kernel) tilePair(t tiling) (shared []string, err error) {
	if !k.vectors(&t) {
		return nil, errRefused
	}
	if err := k.splitVectors(&t); err != nil {
		return nil, err
	}
	axes, together := k.rowAxes(t.out, t.acc, t.below, t.lane, t.vecLoop)
	broadcast := k.broadcasts(t.out, t.acc, t.lane)
	lines, rows, vecs, apart := 1, 1, 1, 0
	if len(axes) > 0 {
		rows = k.s.Extent(axes[0])
		apart = k.rowsApart(t.acc, axes[0], t.lane)
	}
	if len(axes) > 1 && t.below == "" { // inside a strip, lines beyond the border are left out one by one
		lines = k.s.Extent(axes[1])
	}
	if t.vecLoop != "" {
		vecs = k.s.Extent(t.vecLoop)
	}
	if lines*rows == 1 && t.forced == 1 { // sums of several panels hide each other's latency, where each is one vector
		t.forced = 0
	}
	dot, reuse := 0, reuse
	if d := k.dotOf(t.acc); d != nil {
		dot, reuse = d.Width(), dotReuse
	}
	regs := k.worked(k.core.registers(dot), t.acc)
	if taps := k.slid(t.acc, t.below, axes); taps <= regs/2 {
		regs -= taps
	}
	list, best := k.core.tiles(output{lines: lines, rows: rows, vecs: vecs, passing: t.forced == 0, apart: apart}, regs, t.forced, broadcast, reuse)
	if broadcast && t.forced == 0 && (lines*rows == 1 || together == 0 && t.below == "") {
		piece := longestPiece
		if t.vecLoop != "" && !k.adjacent(t.acc, t.lane, t.vecLoop) {
			piece = linesAtOnce
		}
		list, best = k.core.apartTiles(rows, vecs, regs, piece, k.iterations(t.out)/float64(rows*vecs*k.s.Extent(t.lane)))
	}
	if len(axes) == 0 && !broadcast { // independent accumulators hide the latency
		list, best = nil, min(vecs, 4)-1
		for v := 1; v <= min(vecs, 4); v++ {
			list = append(list, costedTile{Tile{1, 1, v}, float64((vecs+v-1)/v) * k.core.fold(v)})
		}
	}
	if t.below != "" && len(axes) > 0 {
		if list, best = k.splitting(axes[0], list); len(list) == 0 {
			return nil, errRefused
		}
	}
	steps := k.iterations(t.acc) / float64(lines*rows*vecs*k.s.Extent(t.lane))
	size := DecideOne(k, t.decision("tile"), best, list, func(c costedTile) float64 { return c.cost * steps })
	return k.applyTile(&t, axes, size.Tile)
}

// splitting are the tiles by whose rows a loop can be split, and the best of them. Inside a strip it counts a part of an axis, where windows
// leave the last pixels out: iterations beyond its end would still be in the domain.
func (k *kernel) splitting(rows string, list []costedTile) (some []costedTile, best int) {
	for _, t := range list {
		if t.Rows > 1 && !k.trial(func() bool { _, _, err := k.s.Split(rows, t.Rows); return err == nil }) {
			continue
		}
		if some = append(some, t); t.cost < some[best].cost {
			best = len(some) - 1
		}
	}
	return some, best
}

// inside lists the loops of a block inside loop below, all of them if that is "".
func (k *kernel) inside(block, below string) []string {
	loops := k.s.Loops(block)
	return loops[slices.Index(loops, below)+1:]
}

// reducing parts the loops of a block inside loop below: those that it reduces over, and the others.
func (k *kernel) reducing(block, below string) (reduce, spatial []string) {
	b, around := k.find(block)
	for _, f := range around[len(around)-len(k.inside(block, below)):] {
		if sched.ReducesOver(b, f) {
			reduce = append(reduce, f.Var.Name)
		} else {
			spatial = append(spatial, f.Var.Name)
		}
	}
	return reduce, spatial
}

// applyTile splits, orders and places everything. It returns the loops to divide among workers.
func (k *kernel) applyTile(t *tiling, axes []string, size Tile) (shared []string, err error) {
	out, acc, below, lane, vecLoop, panels := t.out, t.acc, t.below, t.lane, t.vecLoop, t.panels
	var inner []string
	vecTiles := ""
	if vecLoop != "" {
		o, i, err := k.splitTile(vecLoop, size.Vecs)
		if err != nil {
			return nil, err
		}
		if i != "" {
			inner = append(inner, i)
		}
		vecTiles = o
	}
	if panels != "" && k.s.Extent(vecTiles) == 1 {
		o, i, err := k.decideStreams(t, panels, size)
		if err != nil {
			return nil, err
		}
		inner = slices.Concat(nonEmpty(i), inner)
		vecTiles = o
	}
	rows := make([]string, len(axes)) // of the sum
	for i, n := range axes {
		rows[i] = k.loopOf(acc, n)
	}
	var tiles []string // loops over the tiles of the row axes, outermost first
	for a, n := range axes {
		each := 1 // further axes have no part in the tile
		if a < 2 {
			each = []int{size.Rows, size.Lines}[a]
		}
		o, i, err := k.splitTile(n, each)
		if err != nil {
			return nil, err
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
	shares, blockPanel, group := 0, "", ""
	if below != "" { // what a strip needs is in the cache, in any order
		outer = slices.Concat(outer, nonEmpty(vecTiles), tiles)
	} else if n := k.decidePacked(t, rows, outer, vecTiles, tiles, size); n > 0 {
		if group, vecTiles, err = k.pack(t, rows[0], vecTiles, n, size); err != nil {
			return nil, err
		}
		shares = len(outer) + 1
		outer = slices.Concat(outer, []string{group, vecTiles}, tiles)
	} else if b := k.decideBlocks(t, outer, vecTiles, tiles, size); b.panels > 0 {
		if outer, shares, blockPanel, err = k.blockTiles(t, b, outer, vecTiles, tiles); err != nil {
			return nil, err
		}
	} else if outer, shares, err = k.orderTiles(t, outer, vecTiles, tiles); err != nil {
		return nil, err
	}
	if len(outer) == 0 { // the output is one tile: a loop of one iteration holds the accumulators
		o, i, err := k.s.Split(lane, k.s.Extent(lane))
		if err != nil {
			return nil, err
		}
		outer, lane, shares = []string{o}, i, 1
	}
	if err := k.s.Reorder(slices.Concat(outer, inner, []string{lane})...); err != nil {
		return nil, err
	}
	at := outer[len(outer)-1]
	rolled := k.decideRolled(t, size)
	unrolled := inner
	if rolled {
		unrolled = nil
	}
	if err := k.UnrollTile(unrolled, lane); err != nil {
		return nil, err
	}
	if rolled {
		if _, err := k.decideJam(t.decision("jam"), out, inner); err != nil {
			return nil, err
		}
	}
	strip, within := outer[:shares], outer[shares:]
	if blockPanel != "" {
		within = within[:len(within)-1]
	}
	if blockPanel != "" || below == "" && len(within) > 0 && k.decidePartsOf(t, strip, within, size) {
		return strip, k.sumStrips(t, strip[shares-1], within, size)
	}
	if err := k.s.ComputeAt(acc, at, loop.Reg); err != nil {
		return nil, err
	}
	if err := k.scheduleAcc(t, at, k.loopOf(acc, vecLoop), k.s.Extent(lane)); err != nil {
		return nil, err
	}
	if rolled && t.partLoop == "" {
		if err := k.leaveRegisters(out, acc, k.s.Extent(lane)); err != nil {
			return nil, err
		}
	}
	if t.widened != "" {
		if err := k.widenPanels(t, vecTiles); err != nil {
			return nil, err
		}
		shares = min(shares, 1+slices.Index(outer, vecTiles))
	}
	if group != "" {
		if err := k.packPanels(t, group); err != nil {
			return nil, err
		}
		k.prefetchEpilogue(t, at)
		return outer[:shares], nil
	}
	k.prefetchPanel(t, vecTiles, size)
	k.prefetchNear(t, size)
	k.prefetchEpilogue(t, at)
	return outer[:shares], nil
}

// splitTile divides a loop by the tile size; a loop that is one tile as a whole gets an outer loop of one iteration.
func (k *kernel) splitTile(name string, size int) (outer, inner string, err error) {
	if size <= 1 {
		return name, "", nil
	}
	return k.s.Split(name, size)
}

// splitLast divides the last of some loops, where it has more iterations than n.
func (k *kernel) splitLast(loops []string, n int) ([]string, error) {
	last := len(loops) - 1
	if last < 0 || k.s.Extent(loops[last]) <= n {
		return loops, nil
	}
	o, i, err := k.s.Split(loops[last], n)
	return append(loops[:last:last], o, i), err
}

// UnrollTile unrolls the loops of a tile of vectors, of which lane runs over the elements of one.
func (k *kernel) UnrollTile(unrolled []string, lane string) error {
	for _, n := range unrolled {
		if err := k.s.Unroll(n); err != nil {
			return err
		}
	}
	return k.s.Vectorize(lane)
}
