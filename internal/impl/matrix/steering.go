package matrix

// Steering: what the estimates use that is no fact of a target, see package impl.
const (
	sumCycles = 2.0  // cycles: of a row of a tile on its way through scratch, stored and loaded again. Counted.
	copyRate  = 32.0 // bytes a cycle: of data that are copied to lines, with their borders. Chosen: half of what stores take.
)
