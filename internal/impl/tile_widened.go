package impl

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// A widenedOperand is what it takes to widen the weights of a product, in cycles.
type widenedOperand struct {
	row  string  // the loop of rows, with which the factors of weights do not change
	once float64 // to widen all, and to store them
}

// decideWidened asks whether the weights of a product that are narrower than its sums are widened by each tile that reads them, or once
// for all tiles of a strip: into scratch that holds a panel of factors as tiles read them, their scales among them. The sum reads the
// scratch from then on; widenPanels puts it where panels are walked.
//
//	for panel { for tile { acc += x * (float32(w) * s) } }  →  for panel { W = float32(w) * s; for tile { acc += x * W } }
func (k *kernel) decideWidened(t *tiling) (err error) {
	var w *widenedOperand
	var values []choice.Value
	k.trial(func() bool {
		w, values = k.widens(*t)
		return false
	})
	if w == nil || k.decide(t.decision("widened"), indexIf(values[1].Cost < values[0].Cost), values) == 0 {
		return nil
	}
	t.once = w.once
	t.widened, err = k.s.StageFactors(t.acc, w.row, 0)
	k.staged = append(k.staged, t.widened)
	return err
}

// widens is what there is to widen, and the values of that decision; nil where weights are as wide as sums, or rows do not share them. It
// leaves loops split.
func (k *kernel) widens(t tiling) (*widenedOperand, []choice.Value) {
	if !k.vectors(&t) || k.splitVectors(&t) != nil || t.vecLoop == "" {
		return nil, nil
	}
	axes, together := k.rowAxes(t.out, t.acc, t.below, t.lane, t.vecLoop)
	b, _ := k.find(t.acc)
	if together == 0 || !b.Body.To.DType.IsFloat() {
		return nil, nil
	}
	w := &widenedOperand{row: k.loopOf(t.acc, axes[0])}
	each := 0.0 // cycles of a vector
	for _, x := range k.weightFactors(b, w.row) {
		each += k.core.widened(x)
	}
	if each == 0 {
		return nil, nil
	}
	rows, vecs := 1, k.s.Extent(t.vecLoop)
	for _, a := range axes[:together] {
		rows *= k.s.Extent(a)
	}
	list, best := k.core.tiles(output{lines: 1, rows: rows, vecs: vecs}, k.core.registers(0), t.forced, true, reuse)
	size := list[best].Tile
	tiles, panels := (rows+size.Rows-1)/size.Rows, (vecs+size.Vecs-1)/size.Vecs
	if t.panels != "" {
		panels *= k.s.Extent(t.panels)
	}
	vectors := k.iterations(t.acc) / float64(rows*t.lanes)
	bytes := int(vectors) * t.lanes * b.Body.To.DType.Size()
	w.once = vectors * (each + 1/float64(k.core.Units))
	_, data := k.operandBytes(t.out, t.acc, t.lane, nil)
	_, inside, outside := k.widenedOrders(t.acc, w.once, bytes, data, panels, tiles)
	return w, []choice.Value{{Text: "by tiles", Cost: float64(tiles) * vectors * each}, {Text: "by panels", Cost: min(inside, outside)}}
}

// weightFactors are the factors of a block's terms that do not change with one of its loops.
func (k *kernel) weightFactors(b *loop.Block, row string) (factors []expr.Expr) {
	for _, it := range b.Iters {
		if it.Var.Name == k.s.Axis(row).Iter {
			_, factors = sched.FactorsOf(b, it.Var)
		}
	}
	return factors
}

// widenedOrders are the cycles of both orders of tiles beside their products where panels of weights are widened, all of them in once
// cycles: inside strips again for each strip, of which least are best; outside of all rows just once. What is then read again from beyond L2
// costs no time while the products take longer, as it follows in memory. Workers divide panels outside by themselves, and wait where there
// are few. The other arguments are those of orderOperands.
func (k *kernel) widenedOrders(acc string, once float64, weights, pixels, panels, most int) (least int, inside, outside float64) {
	least, read, _ := orderOperands(weights, pixels, panels, most, k.core.L2)
	panel, beyond := weights/panels, 0 // bytes of panels that tiles read from beyond L2
	if panel > Crowded(k.core.L2) {
		beyond = weights * most
	}
	from := k.core.Shared
	if max(pixels, panel) > k.core.L3 {
		from = k.core.Fetched
	}
	b, _ := k.find(acc)
	products := k.iterations(acc) / float64(k.core.lanes(b.Body.To.DType.Size())*k.core.Units)
	exposed := func(bytes int) float64 { return max(0, from(float64(bytes+beyond))-products) }
	streamed := exposed(again(pixels, panels, Working(k.core.L2)))
	outside = once + streamed
	busy := 1 // strips that give workers enough to do
	if panels < Pieces {
		busy = min(most, (Pieces+panels-1)/panels)
		outside += products * float64(Pieces-panels) / Pieces
	}
	least = max(least, busy)
	inside = float64(least)*once + exposed(read.pixels)
	if larger := float64(busy)*once + streamed; larger < inside {
		least, inside = busy, larger
	}
	if outside <= inside {
		least = 1
	}
	return least, inside, outside
}

// widened is the time to compute a vector of e where what it loads is narrower than e, 0 where it is not.
func (c core) widened(e expr.Expr) float64 {
	cycles := 0.0
	expr.Loads(e, func(l *expr.Load) {
		switch d := l.From.Elem(); {
		case d.IsNibble():
			cycles += c.widen(d, widening+1)
		case d.Size() < e.DType().Size():
			cycles += c.widen(d, widening)
		}
	})
	if cycles == 0 {
		return 0
	}
	return cycles + float64(operations(e))/float64(c.Units)
}

// widenPanels puts the widened factors where the loop over panels of a tiled product walks them, and makes vectors of these.
func (k *kernel) widenPanels(t *tiling, panel string) error {
	block := t.widened
	if err := k.s.ComputeAt(block, panel, loop.Worker); err != nil {
		return err
	}
	b, _ := k.find(block)
	columns := b.Iters[len(b.Iters)-1].Var
	k.splitBlocked(block, func(it loop.Iter) bool { return it.Var != columns })
	loops := k.inside(block, panel)
	lane, vecs := loops[len(loops)-1], ""
	if k.s.Extent(lane) > t.lanes {
		var err error
		if vecs, lane, err = k.s.Split(lane, t.lanes); err != nil {
			return err
		}
	}
	steps := loops[:len(loops)-1]
	last := steps[len(steps)-1]
	if err := k.s.Reorder(slices.Concat(steps[:len(steps)-1], nonEmpty(vecs), []string{last, lane})...); err != nil {
		return err
	}
	if k.digits(block, last) {
		if err := k.s.Unroll(last); err != nil {
			return err
		}
	}
	if !k.laneStrides(block, k.variable(block, lane)) {
		return nil
	}
	return k.s.Vectorize(lane)
}
