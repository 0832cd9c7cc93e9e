package compile

// Steering of relief and of the number of workers, see package impl.
const (
	spillShare = 0.02    // share: of the instructions in innermost loops, from which on those that move values to and from the stack are worth another schedule. Chosen.
	payment    = 0.05    // share: of the network's instructions that moves are, for the share of its code that is compiled again. Chosen: it bounds time to compile.
	muchCode   = 2 << 20 // bytes: of a network's code, below which its parts are compiled again as cheaply as of so much. Chosen.
	fixedShare = 0.2     // share: of moves, that goes away where no tile can be smaller. Fitted.
	moveCycles = 1.0     // cycles: of a move beside what the CPU's model counts, for values come back late. Fitted.
	loopCycles = 1.0     // cycles: of an iteration beside it, for a jump that is taken. Counted.
	worthwhile = 0.99    // share: of the cycles, below which another schedule is taken. Chosen: less is within the model's error.
	tries      = 30.0    // times: the share of moves, that a kernel's code is compiled again at most, for what moves little gains little. Chosen: it bounds time to compile.

	worthDoubling = 0.8 // share: of the time, that twice the workers must leave at most. Chosen: they gain little above it, and lose more as soon as something else runs on one of their cores.
	manyWorkers   = 64  // workers: where doubling ends, for a run that gains up to here is left to as many as there are. Chosen.
)
