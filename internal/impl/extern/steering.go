package extern

// Steering: defaults of decisions, see package impl.
const (
	scatterBlocks     = 8  // blocks: of rows, that keep a few workers evenly busy. Chosen.
	mostScatterBlocks = 64 // blocks: of rows, of which each looks at all updates. Chosen: more divide among no more workers.
	roiChannels       = 32 // channels: that share tables of sample points. Chosen: to make them takes a part of the time only.
	roiTogether       = 8  // channels: of a region that are pooled together, with places and weights computed once for them. Chosen: sums fit the registers of every target.
	mostSorted        = 16 // elements: that rows beside each other keep in order. Chosen: one that is among the best of any moves all of theirs.
	scanned           = 4  // vectors: of a row by itself, that are compared together with the worst of the best. Chosen: one test for all.
	columnVectors     = 8  // vectors: of columns, that are summed together. Chosen: rows are read by whole lines, several at a time, and totals of float64 stay in registers of 512 bits.
)
