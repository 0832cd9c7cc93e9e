package extern

// Steering: defaults of decisions, see package impl.
const (
	scatterBlocks     = 8   // blocks: of rows, that keep a few workers evenly busy. Chosen.
	mostScatterBlocks = 64  // blocks: of rows, of which each looks at all updates. Chosen: more divide among no more workers.
	roiChannels       = 32  // channels: that share tables of sample points. Chosen: to make them takes a part of the time only.
	roiTogether       = 8   // channels: of a region that are pooled together, with places and weights computed once for them. Chosen: sums fit the registers of every target.
	selectCycles      = 5.0 // cycles: to look at an element of rows beside each other. Fitted: 16 x 1000, 20 x 207 and 13 x 15 elements, of which the best 5, 16 and 15 are wanted, in all ways (Zen 3).
	levelCycles       = 4.6 // cycles: of a level of a heap, through which an element sinks. Fitted: as above.
	lookCycles        = 9.0 // cycles: of a row that is looked at by itself, since one beside it has a better element. Fitted: as above.
	besideShare       = 1.5 // times: as long takes a level of heaps whose elements lie between each other's. Fitted: as above.
	insertCycles      = 6.0 // cycles: to move a vector of the keys, or of the places, of elements that are kept in order by a place. Fitted: 5.3 as above, 5.5 and 7 of 109 rows of 72 elements of which the best 17 are wanted (Zen 4).
	scanned           = 4   // vectors: of a row by itself, that are compared together with the worst of the best. Chosen: one test for all.
	manyBetter        = 4   // share: where more than one in so many elements of a vector are better, all of it are looked at. Chosen: to find the place of one takes as long as to look at some.
	columnVectors     = 8   // vectors: of columns, that are summed together. Chosen: rows are read by whole lines, several at a time, and totals of float64 stay in registers of 512 bits.
)
