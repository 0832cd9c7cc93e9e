package bundle

// Context holds the byte offsets of lathe_ctx, the run context that the caller of a library fills: include/lathe.h
// declares it in C, and these are a C compiler's offsets for pointers of a given size.
type Context struct {
	ABI, Bytes                        int // u32: ABIVersion, Size
	Inputs, Outputs, Params           int // tables of pointers
	Workspace, Scratch, ScratchStride int // two pointers and a size
	Barrier, Symbols                  int // pointers
	Status, Spin                      int // i32, u32
	Wait, Wake, External, User        int // pointers
	Size                              int
}

// BarrierSize is the size of lathe_barrier: one cache line each for what workers add to, spin on and sleep by.
const BarrierSize = 192

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
		{&c.Barrier, pointer}, {&c.Symbols, pointer},
		{&c.Status, 4}, {&c.Spin, 4},
		{&c.Wait, pointer}, {&c.Wake, pointer}, {&c.External, pointer}, {&c.User, pointer},
	} {
		*f.offset = at
		at += f.size
	}
	c.Size = at
	return c
}

// DescriptorSize is the size of lathe_library on a machine whose pointers have the given number of bytes: ten numbers of
// four bytes, fifteen pointers and sizes.
func DescriptorSize(pointer int) int { return 10*4 + 15*pointer }

// Flags of the descriptor.
const (
	FlagSealed       = 1 // the library's file ends with a seal, see digest.go
	FlagParamsDigest = 2 // the descriptor holds the digest of mod.params
)
