package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// DecidePack asks whether a product of rows by columns, each a sum over depth, packs its right operand when it runs, and into
// panels of how many vectors; 0 means that it does not. It saves time where each column lies in memory as a row and there are
// rows enough: as it lies, every sum is one of vectors along depth, whose lanes are joined in the end, and reads both operands
// anew.
func DecidePack(t *target.Target, rows, columns, depth int, log *choice.Log) (panel int, err error) {
	c := core{t}
	a := &NodeAsker{core: c, asker: asker{log: log}}
	lanes := c.lanes(4)
	if lanes < 2 || columns < lanes {
		return 0, nil
	}
	vecs := (columns + lanes - 1) / lanes
	tiles, best := c.tiles(1, rows, vecs, c.registers(false), 0, true, reuse)
	joins := 0.0 // lanes of a sum are joined in steps, each a shuffle beside an addition that waits for the last
	for n := lanes; n > 1; n /= 2 {
		joins += float64(c.Latency)
	}
	const widths = 4 // vectors into which a sum goes
	apart := float64(rows*columns) * (float64(depth)/float64(lanes*widths)*c.fold(widths) + joins)
	packed := tiles[best].cost*float64(depth) + packCycles*float64(columns*depth)
	if a.decide("pack", indexIf(packed < apart), []choice.Value{{Text: "off", Cost: apart}, {Text: "on", Cost: packed}}) == 0 {
		return 0, a.err
	}
	a.panel(lanes, 1, rows, columns, false)
	return PanelOf(log.Taken), a.err
}
