package impl

import (
	"strconv"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// Kernel is a kernel that is being scheduled, as rules in folders of their own see it: they read it and rewrite it by
// primitives of Schedule and by what is here.
type Kernel = kernel

// Schedule is the kernel's loops, and the primitives that rewrite them.
func (k *kernel) Schedule() *sched.Schedule { return k.s }

// Core is what the kernel's costs are computed with.
func (k *kernel) Core() Core { return k.core }

// LoopOver is the loop around a block that runs over the axis of a loop of another block, nil where there is none.
func (k *kernel) LoopOver(block, name string) *expr.Var {
	return k.variable(block, k.loopOf(block, name))
}

// Contiguous reports whether a block reads and writes neighbours, or the same elements, along one of its loops.
func (k *kernel) Contiguous(block, name string) bool {
	return k.unitStride(block, k.variable(block, name))
}

// DecidePieces asks into how many pieces the n tiles of each of so many others are cut. begin are the cycles of what a piece begins with, tile
// those of a tile.
func (k *kernel) DecidePieces(name string, n, others int, begin, tile float64) int {
	best, _ := k.core.Pieces(n, others, begin, tile)
	return k.DecideAmong(name, best, func(count int) float64 { return k.core.pieces(n, others, count, begin, tile) }, UpTo(n)...)
}

// DecideRows asks how many of n rows of a product, of so many vectors each, a tile has that is computed in so many steps.
func (k *kernel) DecideRows(name string, n, vecs int, steps float64) int {
	list, best := k.core.tiles(output{lines: 1, rows: n, vecs: vecs}, k.core.registers(0), vecs, true, reuse)
	values := make([]choice.Value, len(list))
	for i, t := range list {
		values[i] = choice.Value{Text: strconv.Itoa(t.Rows), Cost: t.cost * steps}
	}
	return list[k.decide(name, best, values)].Rows
}

// TileInside schedules a reduction and its pointwise rest by tiles inside a loop around both; other blocks of the kernel are
// tiled as well.
func (k *kernel) TileInside(out, acc, below string) error {
	_, err := k.tilePair(tiling{out: out, acc: acc, below: below, several: true})
	return err
}

// Fill schedules a block inside a loop at which it was placed in scratch: a reduction by rows, others by vectors or as squares.
func (k *kernel) Fill(block, at string) error {
	loops := k.inside(block, at)
	if b, _ := k.find(block); b.Init != nil {
		return k.vectorReduction(block, at)
	}
	if len(loops) == 0 {
		return nil
	}
	if _, ok := k.squares(Of("transpose", block), block, loops, true); !ok {
		k.vectorsIf(block, loops[len(loops)-1])
	}
	return nil
}

// Reads reports whether a block loads what another one computes.
func Reads(b *loop.Block, from string) bool {
	found := false
	expr.Loads(b.Body.Value, func(l *expr.Load) { found = found || l.From.Label() == from })
	return found
}

// Panel finds a block's loop over blocks of channels of a product, whose pointwise rest is another block, and how many of them
// are a panel: those that its weights keep together, or all. It is 1 if there is no such loop.
func (k *kernel) Panel(block, acc, rest string) (blocks string, count int) {
	spatial := k.s.Loops(rest)
	i := len(spatial) - 1
	for i > 0 && k.s.Extent(spatial[i]) == 1 {
		i--
	}
	blocks = k.outerPart(rest, acc, spatial[i], spatial[:i])
	if blocks == "" {
		return "", 1
	}
	if count = k.panelOf(acc); count == 0 {
		count = k.s.Extent(blocks)
	}
	return k.loopOf(block, blocks), count
}
