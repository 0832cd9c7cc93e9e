package isa

// Instructions are what the emitter of LLVM IR has to know of an architecture: which instructions there are, and which of them it must
// ask for by name.
type Instructions struct {
	Pause string        // what a spinning worker executes; without one nobody spins
	Float *FloatControl // nil: floats are computed in one way only
	// Half reports whether there are instructions that convert vectors between float16 and float32; nil: always. LLVM calls a
	// library without, which a package has not.
	Half   func(has func(feature string) bool) bool
	Rounds string // feature with which there are instructions that round to an integer, or a short sequence; "": always
	// Ternary is the feature with which one instruction gives any function of the bits of three vectors; "": there is none.
	Ternary string
	// MaskedStores reports whether one instruction stores chosen lanes of a vector, whose elements have so many bits, in the time of
	// a store; nil: never.
	MaskedStores func(has func(feature string) bool, elementBits int) bool
	Indefinite   bool   // the instructions that convert floats to integers give one number for all that these do not hold
	Long         string // feature with which they give integers of 64 bits; "": always
	LosesNaN     bool   // the instructions for a maximum and a minimum give an operand where the other is NaN
	NamesFMA     bool   // LLVM takes two instructions for a product and a sum unless the fused one is asked for by name
	LooseFMA     bool   // the fused multiply-add rounds once or twice, as whoever runs the code likes
	// Dots and Pairs are the instructions for products of bytes and of int16. What has no row is emulated, with the same results. Pairs of
	// bytes add two products to an int16, which saturates: they are for operands whose products do not reach so far.
	Dots, Pairs []Dot
	// Lookups are the instructions that look bytes up in a table of 256, the fastest first. Without one they are loaded one by one.
	Lookups []Lookup
	// Packs are the instructions that narrow vectors two by two. Without one each vector is narrowed by itself.
	Packs    []Pack
	Masks    *Masks    // registers of masks; nil: none
	Tiles    *Tiles    // registers of matrices; nil: none
	Routines []Routine // functions that LLVM calls where a processor lacks an instruction
}

// Tiles are registers that hold a matrix each, and the products of those. How many rows and bytes of a row of them count is configured for
// all at once, which makes them zero.
type Tiles struct {
	Feature        string // with which there are products of bytes
	Registers      int
	Rows, RowBytes int // of a register, at most
	// Configuration is what Configure reads: rows and bytes of a row of each register.
	Configuration func(shapes [][2]int) []byte
	// LLVM's intrinsics. Registers are named by number.
	Configure, Release, Zero, Load, Store string
	// Products add to each 32-bit element of a tile the products of the groups of four bytes in a row of the second and a column of the
	// third operand, whose rows hold such groups; Features and Lanes do not count.
	Products []Dot

	ProductCycles, LoadCycles int // from the beginning of a product to that of the next, and of a load
	Latency                   int // cycles from one product to the next that adds to the same tile
}

// A FloatControl is a register that says how a thread computes with floats.
type FloatControl struct {
	// Exchange is the body of i64 @lathe_float_control(i64 %new), which writes the register and returns what it was.
	Exchange string
	Declare  string
	Flush    uint64 // its values: rounding to nearest, no traps, and denormals as the name says; 0: there is no such mode
	Keep     uint64
	Always   bool // denormals are flushed, in vectors at least: Keep is impossible
}

// Denormals tells whether code can take denormals as zero, and whether it can compute with them.
func (f *FloatControl) Denormals() (flush, keep bool) {
	if f == nil {
		return false, true
	}
	return f.Flush != 0, !f.Always
}

// A Dot adds to each 32-bit lane the products of its elements in the second and the third operand: four of bytes, two of int16.
type Dot struct {
	A, B     string   // types of the elements
	Features []string // any of these sets has it
	Lanes    int
	Name     string // LLVM's intrinsic
}

// A Lookup takes bytes from a table.
type Lookup struct {
	Features string // all of them
	Lanes    int    // bytes that are taken at once
	Name     string // LLVM's intrinsic
	// Permutes says that it chooses from two vectors of bytes in registers, of 64 each, by the low bits of each lane: two of them and a choice look up
	// in 256 bytes. Else it loads 32 bits from an address and an offset for each lane.
	Permutes bool
	Cycles   float64 // of up to so many bytes, with what brings them into place
}

// A Pack narrows the numbers of two vectors to half the bits, which saturate, and puts them side by side in each part of 128 bits. Its fields but the features are
// LLVM's intrinsics.
type Pack struct {
	Features         string // all of them
	Lanes            int    // numbers of 32 bits in a vector
	Words            string // from 32 bits to 16
	Signed, Unsigned string // from 16 bits to 8, as signed or unsigned bytes
}

// Masks are registers that hold a bit for each lane, by which arithmetic leaves lanes of what it adds to as they are.
type Masks struct {
	Features   string // all of them
	Constraint string // of LLVM's assembly, for such a register
	Lanes      int    // fewest that it may name
}

// A Routine is the definition of a function in LLVM IR.
type Routine struct {
	Name string
	Uses string // another routine or part that must be in the text too
	Text string
}
