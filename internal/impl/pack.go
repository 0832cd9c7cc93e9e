package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// Transposed stands for a panel where an operand is transposed, and not packed.
const Transposed = -1

// DecidePack asks whether a product of rows by columns, each a sum over depth, packs its right operand when it runs, and into
// panels of how many vectors; 0 means that it does not, and Transposed that columns which fill no vector become the lanes of one as they are.
func DecidePack(t *target.Target, rows, columns, depth int, log *choice.Log) (panel int, err error) {
	c := core{t}
	a := &NodeAsker{core: c, asker: asker{log: log}}
	lanes := c.lanes(4)
	if lanes < 2 || columns < 2 || !a.packs(rows, columns, depth, packCycles*float64(columns*depth)) {
		return 0, a.err
	}
	if columns < lanes {
		return Transposed, a.err
	}
	a.panel(lanes, output{lines: 1, rows: rows, panels: true, apart: 4 * depth}, columns, 0)
	return PanelOf(log.Taken), a.err
}

// packs asks whether a product of rows by columns, each a sum over depth, has a right operand that is packed, which takes so many
// cycles. It saves time where each column lies in memory as a row and there are rows enough: as it lies, every sum is one of
// vectors along depth, whose lanes are joined in the end, and reads both operands anew: all rows for each column, from L2 where L1 does not hold them.
func (a *NodeAsker) packs(rows, columns, depth int, packing float64) bool {
	lanes := a.lanes(4)
	tiles, best := a.tiles(output{lines: 1, rows: rows, vecs: (columns + lanes - 1) / lanes, apart: 4 * depth}, a.registers(0), 0, true, reuse)
	joins := 0.0 // lanes of a sum are joined in steps, each a shuffle beside an addition that waits for the last
	for n := lanes; n > 1; n /= 2 {
		joins += float64(a.Latency)
	}
	const widths = 4 // vectors into which a sum goes
	apart := float64(rows*columns) * (float64(depth)/float64(lanes*widths)*a.fold(widths) + joins)
	if bytes := 4 * rows * depth; bytes > Crowded(a.L1) { // each column meets all rows
		apart += float64(columns) * a.FromL2(float64(bytes))
	}
	packed := tiles[best].cost*float64(depth) + packing
	values := []choice.Value{{Text: "off", Cost: apart}, {Text: "on", Cost: packed}}
	return a.decide("pack", indexIf(packed < apart), values) == 1
}
