package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// decidePacked asks how many panels of a product's right operand, which lies as a matrix whose rows are apart, are packed together into scratch before
// the tiles of all rows read them there. As it lies every step of a sum reads a short piece of another row, that nothing asked for, and each tile
// reads them anew: from L2, or from beyond it, where rows are a power of two apart, so that they share few sets of a cache. Packed, each row of the operand is read
// once and in longer pieces (Goto, van de Geijn: Anatomy of high-performance matrix multiplication, 2008). 0 panels: tiles read the operand as it lies.
//
//	for panel { for tile { for k { acc += x[k] * w[k, panel] } } }   →   for group { W = w[., group]; for panel in group { for tile { for k { acc += x[k] * W[panel, k] } } } }
func (k *kernel) decidePacked(t *tiling, rows, outer []string, vecTiles string, tiles []string, size Tile) (panels int) {
	if len(rows) == 0 || vecTiles == "" || t.below != "" || t.outer != "" || t.panels != "" || t.widened != "" {
		return 0
	}
	apart := k.matrixApart(t, rows)
	count, others := 1, 1 // of tiles, and of products
	for _, n := range tiles {
		count *= k.s.Extent(n)
	}
	for _, n := range outer {
		others *= k.s.Extent(n)
	}
	if apart == 0 || count == 1 {
		return 0
	}
	weights, pixels := k.operandBytes(t.out, t.acc, t.lane, outer)
	all := k.s.Extent(vecTiles)
	products := k.iterations(t.acc) / float64(t.lanes*k.core.Units*others)
	m := rightOperand{apart: apart, piece: size.Vecs * t.lanes * 4, panels: all, tiles: count}
	m.rows = max(1, weights/apart)
	_, inside, outside := k.orders(t, weights, pixels, all, count)
	list := []int{0}
	for n := 1; n <= mostPacked; n *= 2 {
		if n <= all && (all%n == 0 || all >= n*mostPacked) && n*m.rows*m.piece <= Working(k.core.L2) {
			list = append(list, n)
		}
	}
	exposed := func(traffic float64) float64 { return max(0, traffic-products) } // of what follows in memory
	cost := func(n int) float64 {
		if n == 0 {
			return float64(others) * (products + k.core.asItLies(m) + exposed(min(inside, outside)))
		}
		idle := max(0, 1-float64((all+n-1)/n*others)/Pieces) // groups are all that workers divide
		return float64(others) * ((1+idle)*products + k.core.packed(m, n) + exposed(outside))
	}
	best := 0
	for _, n := range list[1:] {
		if cost(n) < cost(best) {
			best = n
		}
	}
	return k.DecideAmong(t.decision("packed_panels"), best, cost, list...)
}

// A rightOperand is the right operand of a product as it lies, of which tiles read panels.
type rightOperand struct {
	rows   int // steps of the sum
	apart  int // bytes from row to row
	piece  int // bytes of a row in a panel
	panels int
	tiles  int // that read each panel
}

// asItLies is the time that tiles wait for panels of a matrix which lie as its rows: for the pieces of the first tile, and for all lines of the others
// that have been put out.
func (c core) asItLies(m rightOperand) float64 {
	bytes := float64(m.panels * m.rows * m.piece)
	wait := 0.0 // for a piece
	switch all := m.rows * m.apart; {
	case all > Crowded(c.L2):
		wait = farPiece
	case all > c.L1:
		wait = nearPiece
	}
	cost := wait * float64(m.panels*m.rows)
	again := bytes * float64(m.tiles-1)
	switch panel := m.rows * m.piece; {
	case panel > c.stay(c.L2, m.piece, m.apart):
		cost += c.Again(again, m.rows*m.apart)
	case panel > c.stay(c.L1, m.piece, m.apart):
		cost += lateShare * c.FromL2(again)
	}
	return cost
}

// packed is the time to pack all panels of a matrix, so many together.
func (c core) packed(m rightOperand, together int) float64 {
	return c.copied(m.panels*m.rows*m.piece, together*m.piece, m.rows*m.apart)
}

// copied is the time to copy so many bytes of an operand of some size in pieces, between which are others.
func (c core) copied(bytes, piece, size int) float64 {
	wait := 0.0
	if size > Crowded(c.L2) {
		wait = farPiece
	}
	return packedLine*float64(bytes)/lineBytes + wait*float64(bytes)/float64(max(1, min(piece, longPiece)))
}

// matrixApart is the bytes between rows of the factors that all rows of the output share, where they are loaded by vectors from a matrix as it lies, of which every step of
// the sum reads another row; 0 where they are not.
func (k *kernel) matrixApart(t *tiling, rows []string) int {
	b, _ := k.find(t.acc)
	if b.Body.To.DType != types.F32 || !k.trial(func() bool { _, err := k.s.StageFactors(t.acc, rows[0], 0); return err == nil }) {
		return 0
	}
	factors := k.weightFactors(b, rows[0])
	if len(factors) != 1 {
		return 0
	}
	load, ok := factors[0].(*expr.Load)
	if !ok {
		return 0
	}
	lanes := k.variable(t.acc, k.loopOf(t.acc, t.lane))
	reduce, _ := k.reducing(t.acc, "")
	for _, a := range k.accesses(t.acc) {
		if a.store || expr.Source(a.buf) != load.From {
			continue
		}
		if n, linear := a.stride(lanes); !linear || n != 1 || slices.ContainsFunc(rows, func(r string) bool { return !k.free(a, k.variable(t.acc, r)) }) {
			return 0
		}
		least := int64(0)
		for _, r := range reduce {
			n, linear := a.stride(k.variable(t.acc, r))
			if !linear || n < int64(t.n) {
				return 0
			}
			if least == 0 || n < least {
				least = n
			}
		}
		return int(least) * a.buf.DType.Size()
	}
	return 0
}

// pack stages the panels of a product's right operand, so many together, and splits the loop over panels by these.
func (k *kernel) pack(t *tiling, row, vecTiles string, together int, size Tile) (group, panel string, err error) {
	if t.packed, err = k.s.StageFactors(t.acc, row, size.Vecs*t.lanes); err != nil {
		return "", "", err
	}
	k.staged = append(k.staged, t.packed)
	return k.s.Split(vecTiles, together)
}

// packPanels puts the packed panels where the loop over groups of these walks them, and makes vectors of them: each row of the operand is read through
// all panels of a group.
func (k *kernel) packPanels(t *tiling, group string) error {
	if err := k.s.ComputeAt(t.packed, group, loop.Worker); err != nil {
		return err
	}
	sums, _ := k.find(t.acc)
	loops := k.inside(t.packed, group)
	lane, vecs := loops[len(loops)-1], ""
	if k.s.Extent(lane) > t.lanes {
		var err error
		if vecs, lane, err = k.s.Split(lane, t.lanes); err != nil {
			return err
		}
	}
	steps, unrolled := loops[:len(loops)-1], nonEmpty(vecs)
	if first := k.s.Axis(steps[0]).Iter; !slices.ContainsFunc(sums.Iters, func(it loop.Iter) bool { return it.Var.Name == first }) {
		steps, unrolled = steps[1:], append(steps[:1:1], unrolled...) // first walks panels
	}
	if err := k.s.Reorder(slices.Concat(steps, unrolled, []string{lane})...); err != nil {
		return err
	}
	return k.UnrollTile(unrolled, lane)
}
