package bundle

// Context holds the byte offsets of lathe_ctx, the run context that the caller of a library fills: include/lathe.h
// declares it in C, and these are a C compiler's offsets for pointers of a given size.
type Context struct {
	ABI, Bytes                        int // u32: ABIVersion, Size
	Inputs, Outputs, Params           int // tables of pointers
	Workspace, Scratch, ScratchStride int // two pointers and a size
	Team, Parts, Symbols              int // pointers
	Status, Spin                      int // i32, u32
	Wait, Wake, External, User        int // pointers
	Size                              int
}

// Offsets in lathe_team, which the workers of a run share, and in lathe_part, of which each has one, and their sizes. What
// one worker writes and others look at lies two cache lines apart from all else, for lines are fetched in pairs.
const (
	TeamDone   = 0   // u64: finished chunks, of all runs
	TeamAsleep = 64  // u32: odd where a worker sleeps
	TeamTurns  = 128 // u64 each: which way the last turns were that depend on data
	TeamSize   = TeamTurns + 8*Turns
	Turns      = 64

	PartClaim = 0  // u64: what of the worker's part of a step is claimed
	PartBase  = 64 // u64: the chunks of all steps behind the worker; what follows is its own
	PartSeen  = 72 // u64: a value of TeamDone
	PartMine  = 80 // u64: chunks that it has finished and the team does not know of
	PartTurn  = 88 // u64: turns behind the worker in this run
	PartSize  = 128
)

// StatusBound is the status of a run in which a loop that data end would have run more often than its stacked results have room for.
const StatusBound = 2

// StatusText says what a status of a run means, for the end of a message.
func StatusText(status int32) string {
	if status == StatusBound {
		return "a loop would run more often than its bound (--loop-bound)"
	}
	return "an index or a size that depends on the input's values is out of range"
}

// ContextOf returns the layout of the run context on a machine whose pointers have the given number of bytes.
func ContextOf(pointer int) Context {
	var c Context
	at := 0
	for _, f := range []struct {
		offset *int
		size   int
	}{
		{&c.ABI, 4}, {&c.Bytes, 4},
		{&c.Inputs, pointer}, {&c.Outputs, pointer}, {&c.Params, pointer},
		{&c.Workspace, pointer}, {&c.Scratch, pointer}, {&c.ScratchStride, pointer},
		{&c.Team, pointer}, {&c.Parts, pointer}, {&c.Symbols, pointer},
		{&c.Status, 4}, {&c.Spin, 4},
		{&c.Wait, pointer}, {&c.Wake, pointer}, {&c.External, pointer}, {&c.User, pointer},
	} {
		*f.offset = at
		at += f.size
	}
	c.Size = at
	return c
}

// DescriptorSize is the size of lathe_library on a machine whose pointers have the given number of bytes: twelve numbers
// of four bytes, sixteen pointers and sizes.
func DescriptorSize(pointer int) int { return 12*4 + 16*pointer }

// Flags of the descriptor.
const (
	FlagSealed       = 1 // the library's file ends with a seal, see digest.go
	FlagParamsDigest = 2 // the descriptor holds the digest of mod.params

	// Flags of a region: External.WhenFaster and External.NoFallback.
	FlagWhenFaster = 1
	FlagNoFallback = 2
)
