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
	vecLoop := outer
	if n > lanes {
		if panel > lanes && panel < n { // the loop over panels is an outer one; the vectors of a panel are the tile's
			_, i, err := k.s.Split(lane, panel)
			if err != nil {
				return "", false, err
			}
			lane = i
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
	rowLoop := k.rowAxis(out, acc, lane, vecLoop)
	broadcast := k.broadcasts(out, acc, lane)
	rows, vecs := 1, 1
	if rowLoop != "" {
		rows = k.s.Extent(rowLoop)
	}
	if vecLoop != "" {
		vecs = k.s.Extent(vecLoop)
	}
	t := ChooseTile(rows, vecs, k.cpu.Registers, forced, broadcast)
	if rowLoop == "" && !broadcast {
		t.Vecs = min(vecs, 4) // independent accumulators hide the latency
	}
	order, err := k.applyTile(out, acc, lane, rowLoop, vecLoop, t)
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%d x %d accumulators of %d lanes", t.Rows, t.Vecs, min(n, lanes)), true, k.parallelize(order)
}

// applyTile splits, orders and places everything; it returns the loops to divide among workers.
func (k *kernel) applyTile(out, acc, lane, rowLoop, vecLoop string, t Tile) ([]string, error) {
	var inner, outer []string
	if vecLoop != "" && t.Vecs >= 1 {
		o, i, err := k.splitTile(vecLoop, t.Vecs)
		if err != nil {
			return nil, err
		}
		if i != "" {
			inner = append(inner, i)
		}
		vecLoop = o
	}
	if rowLoop != "" {
		o, i, err := k.splitTile(rowLoop, t.Rows)
		if err != nil {
			return nil, err
		}
		if i != "" {
			inner = append([]string{i}, inner...)
		}
		rowLoop = o
	}
	for _, n := range k.s.Loops(out) {
		if n != lane && !slices.Contains(inner, n) && n != rowLoop {
			outer = append(outer, n)
		}
	}
	shared := len(outer) // loops to divide among workers
	if rowLoop != "" {
		o, i, err := k.shareRows(outer, rowLoop)
		if err != nil {
			return nil, err
		}
		if o != "" {
			outer = append(outer, o)
			shared++
		}
		outer = append(outer, i)
	}
	if len(outer) == 0 { // the output is one tile: a loop of one iteration holds the accumulators
		o, i, err := k.s.Split(lane, k.s.Extent(lane))
		if err != nil {
			return nil, err
		}
		outer, lane = []string{o}, i
	}
	if err := k.s.Reorder(slices.Concat(outer, inner, []string{lane})...); err != nil {
		return nil, err
	}
	at := outer[len(outer)-1]
	for _, n := range inner {
		if err := k.s.Unroll(n); err != nil {
			return nil, err
		}
	}
	if err := k.s.Vectorize(lane); err != nil {
		return nil, err
	}
	if err := k.s.ComputeAt(acc, at, loop.Reg); err != nil {
		return nil, err
	}
	if err := k.scheduleAcc(acc, at, accLoop(out, acc, base(vecLoop)), k.s.Extent(lane)); err != nil {
		return nil, err
	}
	return outer[:max(shared, 1)], nil
}

// shares is the number of pieces of work from which on any small number of workers is kept about evenly busy.
const shares = 12

// shareRows splits the loop over tiles of rows when the loops outside it are too few to divide: into pieces for the
// workers and the tiles of a piece, whose borders stay apart from their interior.
func (k *kernel) shareRows(outer []string, rowLoop string) (pieces, tiles string, err error) {
	have := 1
	for _, n := range outer {
		have *= k.s.Extent(n)
	}
	n := k.s.Extent(rowLoop)
	if have >= shares || n < 2 {
		return "", rowLoop, nil
	}
	count := min(n, (shares+have-1)/have)
	return k.s.Split(rowLoop, (n+count-1)/count)
}

// splitTile divides a loop by the tile size; a loop that is one tile as a whole gets an outer loop of one iteration.
func (k *kernel) splitTile(name string, size int) (outer, inner string, err error) {
	if size <= 1 {
		return name, "", nil
	}
	return k.s.Split(name, size)
}
