package impl

import "lathe/internal/target"

// Steering of operands that are packed when the network runs.
const (
	packCycles = 1.0 // of an element that is packed: squares are transposed in registers, and written apart
	joinCycles = 4.0 // of one of the steps in which the lanes of a sum are joined: a shuffle and an addition that waits for it
)

// PackPays reports whether a product of rows by columns, each a sum over depth, saves more time with its right operand packed
// into panels than packing takes, where each column lies in memory as a row: as it lies, every sum is one of vectors along
// depth, whose lanes are joined in the end, and reads both operands anew.
func PackPays(t *target.Target, rows, columns, depth int) bool {
	c := core{t}
	lanes := c.lanes(4)
	if lanes < 2 || columns < lanes {
		return false
	}
	vecs := (columns + lanes - 1) / lanes
	tiles, best := c.tiles(1, rows, vecs, c.registers(false), 0, true, reuse)
	joins := 0.0
	for n := lanes; n > 1; n /= 2 {
		joins += joinCycles
	}
	const widths = 4 // vectors into which a sum goes
	apart := float64(rows*columns) * (float64(depth)/float64(lanes*widths)*c.fold(widths) + joins)
	return tiles[best].cost*float64(depth)+packCycles*float64(columns*depth) < apart
}
