package impl

// Steering: what costs and rules use that is no fact of a target, with its unit, meaning and how it was found. Counted are
// instructions and registers; measured is the thing itself; fitted is what puts ways that were measured into the order of their times;
// chosen is the rest. docs/steering.md has the table.
const (
	latencySlack = 1.1   // latencies: a step takes at least so many. Measured: accumulators that hide just one reach 92 % of the peak.
	mostRows     = 28    // rows: of a tile of one vector, where more save no load. Chosen: their code is as long.
	mostPanel    = 4     // vectors: of a panel of weights. Chosen: with more, tiles have few rows and panels are long.
	tailCost     = 1.01  // times: the cost of a tile with a tail, which is code of its own. Chosen: it decides between equals.
	reuse        = 0.001 // share: of its cost, that a tile of all registers saves by reusing what it loads. Chosen: it decides between equals.
	dotReuse     = 0.05  // share: the same of bytes, whose panels stay in L2 and are read fewer times by more rows. Fitted: it is worth a tail.
	pairSpare    = 1     // registers: for a sum of two products, which another instruction adds. Counted.
	dotSpare     = 4     // registers: for even and odd bytes of both operands, where no instruction makes dot products. Counted.
	pieceCycles  = 8.0   // cycles: of a step that reads memory which does not follow the last piece, so that prefetching starts anew. Fitted: vectors times matrices take long pieces.
	servedLoads  = 0.9   // share: of the core's loads that operands get as they lie, for some conflict. Fitted.
	lineCycles   = 0.2   // cycles: of a step for each cache line it reads, whose way from L2 is not hidden altogether. Fitted.
	directShare  = 0.88  // share: of the peak, that convolutions by their definition reach. Measured: 85 to 95 %.

	ReductionUnroll = 4       // steps: of a reduction between two tests of its loop. Chosen.
	WholeBody       = 96      // products: of a loop's body that takes all steps of a loop, which is none then. Measured: a block of eight channels is 2 % faster for it by 6 x 2 accumulators, half as fast again by 4 x 2.
	longBody        = 64      // products: of a loop's body, above which more steps gain nothing. Measured: as fast, and half the code.
	tileWork        = 512     // operations: that a tile unrolls at one step. Chosen: it bounds code, of which every border has a copy.
	longestChain    = 192     // products: of float32, added one behind the other by default. Chosen: errors of sums grow with it, see RATIONALE.
	mostTogether    = 4       // rows: that are looked up together. Chosen: from then on their loads take the time.
	aheadBytes      = 8 << 10 // bytes: of a stream, ahead of which it is asked for. Measured: 4 to 64 KB are as fast, and a tenth to a fifth faster than none; 1 MB is slower than none.
	leastTurn       = 15.0    // cycles: of an iteration of the loop in which a tile asks for the next panel. Counted: a test, an address and the lines take 4.
	mostPace        = 4       // iterations: of which one asks for weights. Chosen: slices of up to a few lines are even to a quarter then.
	mostAtOnce      = 16      // lines: of an epilogue that are asked for together, before the sums. Chosen: cores wait for 10 to 16 lines; more are asked for in the loop.
	nearCycles      = 60.0    // cycles: that L2 takes to answer, with others in the queue. Measured: 512 to 2048 bytes ahead are as fast, which 6 x 2 accumulators of 256 bits read in 48 to 190.
	waitingShare    = 0.4     // share: of memory's time, that products of a tile take at most which leaves it to the hardware to fetch. Measured: 2 and 3 rows by 4096 x 4096 take 0.6 and 0.5 of the time without asking ahead, 5 as long, 8 1.4 times (Zen 4, float32), which are 0.17, 0.25, 0.42 and 0.67.
	linesAtOnce     = 8       // lines: of a matrix that is streamed, whose elements are summed before the totals are read and written. Measured: 2 are a fifth slower, 4 a tenth (Zen 3); prefetchers follow as many.
	leastLine       = 256     // bytes: of a line of a matrix that is streamed. Chosen: a tile reads shorter ones whole, four cache lines at a time.
	leastPiece      = 2 << 10 // bytes: of a line of a matrix that is streamed, of which workers read pieces. Measured: pieces of 1 and 2 KB are read with two thirds of the rate of a whole line of 4.
	mostPacked      = 4       // panels: of a matrix as it lies, that are packed together. Chosen: they make pieces of two lines, whatever a vector has.
	longPiece       = 128     // bytes: of a piece of a matrix, from which on longer ones are packed no faster. Measured: 64 bytes take a tenth longer, 256 are equal or slower, for they do not stay in L1 until they are read (Granite Rapids).
	packedLine      = 5.0     // cycles: of a line that is packed. Measured: 3 to 5 of small matrices (Granite Rapids).
	nearPiece       = 4.0     // cycles: that a tile waits for a piece of a matrix as it lies from L2. Fitted: 64 products of all sizes from 12 x 32 x 64 to 256 x 1024 x 3136 by 256 and 512 bits take 0.88 and 0.97 of the time, by whichever way is faster 0.86 and 0.96 (Granite Rapids).
	farPiece        = 14.0    // cycles: the same from beyond L2. Measured: 14, and 12 in the loop that packs (Granite Rapids).
	lateShare       = 0.4     // share: of the time in which L2 gives the lines of a panel, that products do not hide. Fitted: the same products.
	askedShare      = 0.4     // share: of the time that weights take from beyond L2, that long products do not hide which ask for them. Fitted: ten products of 64 to 1024 rows and sums of 2048 to 8192 (Granite Rapids).
	followedShare   = 0.2     // share: the same of rows, that hardware follows. Fitted: the same.
	farWays         = 16      // ways: of an L2. Chosen: there are 16 in Intel's since Sapphire Rapids and Arm's since Cortex-A72, 8 in AMD's up to Zen 4, whose sets span twice as much.
	totalCycles     = 2.0     // cycles: of a vector of totals that a part of a long sum is added to in scratch. Counted: two loads, an addition and a store.
	enoughStreams   = 2       // times: so many more than a tile reads make memory faster where it is asked ahead instead. Measured: of eight, that adds a fifth to one stream, a tenth to two, and takes from eight (Zen 3); of two it takes a fifth from one (Zen 4, from L3).
	leastTurns      = 8       // tiles: of a product, from which on each reads several streams. Chosen: workers are busy about evenly then.
	streamShare     = 1.2     // times: as long takes memory for half the streams. Fitted.
	mostJammed      = 4       // vectors: that are computed side by side. Measured: 4 take two thirds of the time of one by one, 2 three quarters (Zen 3).
	chainRegisters  = 2       // registers: of each of them, besides one for every function that is computed on the way. Counted.
	sharedRegisters = 4       // registers: of all of them, for constants and addresses. Counted.
	rolledFrom      = 5       // vectors: of a tile, from which on exponentials are rolled. Chosen: what they need pushes more out of registers.

	IdleShares      = 2      // shares: of L3, that a core has at most, for others leave theirs. Chosen.
	Pieces          = 12     // pieces: of work, that keep any small number of workers about evenly busy. Chosen: 2, 3, 4 and 6 divide it.
	piecesOfAll     = 48     // pieces: of a kernel without reductions. Chosen: four times as many, for the quotients that each takes are nothing beside its vectors.
	ParallelWork    = 20_000 // operations: scalar ones, from which on a second worker is worth meeting. Fitted.
	kernelStart     = 2000.0 // cycles: of a kernel or a chunk besides its work, for loops begin and nothing is prefetched yet. Fitted: phases and folds that become many small kernels.
	callCycles      = 100.0  // cycles: of the call of a kernel in a loop whose code and data are in L1. Chosen: some dozen instructions, whose loads wait for each other.
	mostLoopParts   = 4      // parts: of a loop for each worker. Chosen: with more, each has few rows.
	partsPay        = 4      // meetings: that a reduction must take for workers to divide it in two steps. Chosen: two workers save half of it.
	mostLineVectors = 2      // times: so many more vectors than pixels, for a convolution along lines, above which it is one of channels. Chosen: channels in blocks are arranged before and behind.
	leastPart       = 64     // elements: that a part of such a reduction folds at least. Chosen: with fewer, most of the time goes into joining lanes.

	alongLinesShare = 0.75 // share: of what vectors of channels reach, for those of pixels, whose loads are not aligned, or come from L2 out of order. Fitted.
	moveCycles      = 0.5  // cycles: of an element that a transpose moves from between a few others to a line of its own, or back, out of caches. Measured: 0.41 to 0.57 for 66 x 384 x 5 and 8 x 20000 x 6 (Zen 5).
	packCycles      = 1.0  // cycles: of an element that is packed when the network runs. Fitted: squares are transposed in registers, and written apart.
	crossingLoads   = 2.0  // loads: that a vector takes whose elements lie on two cache lines. Counted.
	tapCycles       = 6.0  // cycles: of an element that is loaded on its own, behind a test. Fitted.
	placeCycles     = 8.0  // cycles: of the place of a tap, along all axes. Fitted.
	loadedByte      = 2.5  // cycles: of a byte that is taken from a vector, loaded from a table and put into another. Counted: five instructions.

	manyRegisters = 32  // registers: that hold several exponentials with their constants. Counted.
	argWork       = 6   // instructions: for a vector of an argmax along lanes, to compare it twice and to choose places. Counted.
	exponential   = 32  // operations: that an expression takes with one function of that kind, at least. Counted.
	spilledMoves  = 2.0 // cycles: of a vector that goes to the stack and back. Chosen.

	widening        = 2   // instructions: that widen a vector of integers or float16 to float32. Counted.
	wideningSingle  = 3   // instructions: that widen one number of float16 to be in all lanes. Counted.
	softwareHalf    = 12  // times: as many where float16 has no instructions. Fitted.
	castBytes       = 6   // bytes: that are read and written to widen a number of float16 in memory. Counted.
	digitOperations = 6   // instructions: for a vector of digits, of which each number has two to four. Counted: a sum, two shifts, two conversions, a store.
	longDigits      = 512 // products: of a sum, from which on three digits do for float32. Chosen: activations of language models have numbers some hundred times as great as others.
	broadcastVecs   = 2   // vectors: of a tile that use a number in all lanes. Chosen: what tiles have as a rule.
)

// Working is the part of a cache that data may fill that are worked on repeatedly: half, for what streams through takes the rest.
func Working(cache int) int { return cache / 2 }

// Crowded is the part that they may fill beside little that streams through, or that is counted apart.
func Crowded(cache int) int { return cache * 7 / 8 }
