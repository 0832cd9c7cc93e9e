package attention

import (
	"slices"

	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/lower"
)

// place computes every stage at its loop, the last first: arranged operands at the head, the rest at the block of rows,
// the products in registers at their tiles.
func (a *kernel) place(head, rowLoop, tile string, lanes int) error {
	if err := a.accumulate(a.product, tile, lanes); err != nil {
		return err
	}
	for i, block := range slices.Backward(a.Blocks[:len(a.Blocks)-1]) {
		at := rowLoop
		switch a.Stages[i].Tag {
		case lower.Context, lower.Product:
			continue
		case lower.Keys, lower.Values:
			at = head
		}
		if err := a.s.ComputeAt(block, at, loop.Worker); err != nil {
			return err
		}
		if err := a.fill(block, at, lanes); err != nil {
			return err
		}
	}
	return nil
}

// fill schedules a stage that was placed in scratch.
func (a *kernel) fill(block, at string, lanes int) error {
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, at)+1:]
	if b, _ := a.s.Block(block); b.Init == nil && len(loops) > 0 {
		if first := a.role(lower.Product); impl.Reads(b, first) {
			return a.fillProduct(first, loops, lanes)
		}
	}
	return a.Fill(block, at)
}

// fillProduct schedules the loops of a block over rows and columns that are made of a product, tile by tile.
func (a *kernel) fillProduct(product string, loops []string, lanes int) error {
	vecs := a.DecideAmong(impl.Of("vectors", product), 2, nil, 1)
	tile, unrolled, lane, err := a.columns(loops[len(loops)-1], vecs, lanes)
	if err != nil {
		return err
	}
	rows := loops[:len(loops)-1]
	if err := a.s.Reorder(slices.Concat([]string{tile}, rows, unrolled, []string{lane})...); err != nil {
		return err
	}
	if err := a.UnrollTile(slices.Concat(rows, unrolled), lane); err != nil {
		return err
	}
	return a.accumulate(product, tile, lanes)
}

// accumulate computes a product in registers at a loop over tiles.
func (a *kernel) accumulate(block, tile string, lanes int) error {
	if err := a.s.ComputeAt(block, tile, loop.Reg); err != nil {
		return err
	}
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, tile)+1:]
	r := loops[len(loops)-1]
	if inner := loops[:len(loops)-1]; len(inner) > 0 { // else a single element
		if err := a.tiled(inner, r, lanes); err != nil {
			return err
		}
	}
	if err := a.s.DecomposeReduction(block, r); err != nil {
		return err
	}
	steps := 1
	if n := a.s.Extent(r); n > impl.ReductionUnroll && n%impl.ReductionUnroll == 0 {
		steps = impl.ReductionUnroll
	}
	return a.UnrollSteps(impl.Of("steps", block), r, steps, 2*impl.ReductionUnroll)
}

// tiled unrolls the loops of a product over rows and columns, below that of its reduction, the last of them in vectors.
func (a *kernel) tiled(inner []string, r string, lanes int) error {
	lane := inner[len(inner)-1]
	if a.s.Extent(lane) > lanes {
		o, i, err := a.s.Split(lane, lanes)
		if err != nil {
			return err
		}
		inner, lane = append(inner[:len(inner)-1:len(inner)-1], o, i), i
	}
	if err := a.s.Reorder(append([]string{r}, inner...)...); err != nil {
		return err
	}
	return a.UnrollTile(inner[:len(inner)-1], lane)
}
