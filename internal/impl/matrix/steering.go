package matrix

// Steering: what the estimates use that is no fact of a target, see package impl.
const (
	exposed     = 0.05 // share: of the loads from L2 that no product hides, where they take less time. Measured: of 64 cycles for four products 46 cost 2.6 (Emerald Rapids).
	lastShare   = 0.5  // share: of the last piece of work that other workers wait for. Chosen: on average the half.
	sumCycles   = 2.0  // cycles: of a row of a tile on its way through scratch, stored and loaded again. Counted.
	mostParts   = 16   // parts: of sums. Chosen: of 16 KB of weights each, for the longest sums that networks have.
	crowdedLine = 10.0 // cycles: of a line of results in a set of L2 that others fill. Measured: 3 to 5 ns of 1024 to 2048 rows of pages (Granite Rapids).
)
