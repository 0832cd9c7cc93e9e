package winograd

import "lathe/internal/ops"

// Steering: what the estimates use that is no fact of a target, see package impl.
const (
	hidden       = 0.5  // share: of the time that operands take from caches, which products hide. Fitted: transforms in a kernel of their own, and by blocks.
	scatterRate  = 2.0  // bytes a cycle: of transformed data in memory, which are read in small pieces. Fitted: maps that no cache holds.
	exposed      = 0.4  // share: of the shorter of products and the reading of their weights from memory, that does not overlap. Fitted: weights of 2 to 40 MB (Emerald Rapids).
	alike        = 1.03 // times: the least cost, that estimates of register tiles are which do not tell them apart. Chosen.
	productShare = 0.96 // share: of the peak, that products reach, whose operands lie in order. Measured.
	mostWeights  = 8    // times: the weights of a convolution, that transformed ones are, all of which lie in the package. Chosen: F(6x6, 3x3) has seven times as many.
	mostPhases   = 4    // phases: of a convolution with strides, for each of which there is code. Chosen: strides of 2 have as many.
	blocksAhead  = 1    // blocks of channels: ahead of which a product asks for data by default. Chosen: its products take a few hundred cycles, and L3 less.
	burst        = 8    // lines: of data that are asked for at once where steps are a loop over which more are spread. Chosen: fewer than a core has under way.
	fetchAhead   = 4    // factors: ahead of which a product asks for weights by default. Chosen: it takes less time than memory does.
)

// transformCycles are those of a vector of transformed elements: its load and store, and the arithmetic along each axis of several taps, of
// which tiles of 8 inputs take more for each.
func transformCycles(w *ops.Winograd) float64 {
	cycles := 2.0
	for k := range w.Axes {
		cycles += map[int]float64{1: 0, 4: 1, 6: 1, 8: 2}[w.Axes[k].Alpha]
	}
	return cycles
}

// blockPart is the part of a cache that transformed data and products of a block may fill: weights pass through the rest.
func blockPart(cache int) int { return cache * 2 / 3 }
