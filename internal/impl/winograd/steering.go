package winograd

// Steering: what the estimates use that is no fact of a target, see package impl.
const (
	hidden       = 0.5  // share: of the time that operands take from caches, which products hide. Fitted: transforms in a kernel of their own, and by blocks.
	scatterRate  = 2.0  // bytes a cycle: of transformed data in memory, which are read in small pieces. Fitted: maps that no cache holds.
	idleShares   = 2    // shares: of L3, that a core has at most, for others leave theirs. Chosen.
	productShare = 0.96 // share: of the peak, that products reach, whose operands lie in order. Measured.
	fetchAhead   = 4    // factors: ahead of which a product asks for weights by default. Chosen: it takes less time than memory does.
)

// transformCycles are those of a vector of transformed elements by the size of tiles, with its loads and stores: 6 outputs take
// more arithmetic for each.
var transformCycles = map[int]float64{2: 4, 4: 4, 6: 6}

// blockPart is the part of a cache that transformed data and products of a block may fill: weights pass through the rest.
func blockPart(cache int) int { return cache * 2 / 3 }
