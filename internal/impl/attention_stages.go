package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
)

// place computes every stage at its loop, the last first: arranged operands at the head, the rest at the block of rows,
// the products in registers at their tiles.
func (a *attentionKernel) place(head, rowLoop, tile string, lanes int) error {
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
func (a *attentionKernel) fill(block, at string, lanes int) error {
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, at)+1:]
	b, _ := a.find(block)
	switch {
	case b.Init != nil:
		return a.vectorReduction(block, at)
	case len(loops) == 0:
		return nil
	}
	if first := a.role(lower.Product); reads(b, first) {
		return a.fillProduct(first, loops, lanes)
	}
	lane := loops[len(loops)-1]
	if _, ok := a.square(block, loops, true); ok {
		return nil
	}
	a.try(func() bool { // a part of an axis may not divide into vectors
		_, err := a.vectorInner(block, lane)
		return err == nil
	})
	return nil
}

// reads reports whether a block loads what another one computes.
func reads(b *loop.Block, from string) bool {
	found := false
	expr.Loads(b.Body.Value, func(l *expr.Load) { found = found || l.From.Label() == from })
	return found
}

// fillProduct schedules the loops of a block over rows and columns that are made of a product, tile by tile.
func (a *attentionKernel) fillProduct(product string, loops []string, lanes int) error {
	tile, unrolled, lane, err := a.columns(loops[len(loops)-1], 2, lanes)
	if err != nil {
		return err
	}
	rows := loops[:len(loops)-1]
	if err := a.s.Reorder(slices.Concat([]string{tile}, rows, unrolled, []string{lane})...); err != nil {
		return err
	}
	if err := a.unrollTile(slices.Concat(rows, unrolled), lane); err != nil {
		return err
	}
	return a.accumulate(product, tile, lanes)
}

// accumulate computes a product in registers at a loop over tiles.
func (a *attentionKernel) accumulate(block, tile string, lanes int) error {
	if err := a.s.ComputeAt(block, tile, loop.Reg); err != nil {
		return err
	}
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, tile)+1:]
	r := loops[len(loops)-1]
	inner := loops[:len(loops)-1]
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
	if err := a.unrollTile(inner[:len(inner)-1], lane); err != nil {
		return err
	}
	if err := a.s.DecomposeReduction(block, r); err != nil {
		return err
	}
	if n := a.s.Extent(r); n > reductionUnroll && n%reductionUnroll == 0 {
		_, in, err := a.s.Split(r, reductionUnroll)
		if err != nil {
			return err
		}
		return a.s.Unroll(in)
	}
	return nil
}
