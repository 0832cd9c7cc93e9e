// Package isa says what the compiler knows of an instruction set architecture: the form of it. Each architecture is a folder
// below with one value of ISA, and package target has the list of them. What schedules make of the facts is package impl's.
package isa

// Arch is the name of an instruction set architecture.
type Arch string

// An ISA is an instruction set architecture. Functions ask by has what code may use: features of the table, and those outside
// of it that the user adds.
type ISA struct {
	*Table

	Triples []string // beginnings of triples, up to the first "-"; with a * at the end whatever follows
	// Canonical is LLVM's spelling of a triple of these, or why there is no code for it; nil: every one is its own.
	Canonical func(triple string) (string, error)
	Attrs     []string // features that a triple without -mcpu gets
	Required  string   // features without which the triple's ABI does not work
	Refused   []string // changes of features with which the registers that the ABI passes floats in are gone
	FloatRegs string   // what has these registers
	CPUs      []Processor
	Core      Core // of CPUs whose rows and machines do not tell
	// Vectors are what code computes with.
	Vectors func(has func(feature string) bool) Vectors

	TwoSteps     bool // without fused multiply-adds product and sum are an instruction each
	Spare        int  // vector registers that a tile leaves to others than accumulators, their vectors and an operand for all of these
	SpareSingle  int  // and more from a tile of one vector, each of whose products has a scalar of its own, where there are few: they are loaded ahead
	SpareUnfused int  // and more without fused multiply-adds: products on their way to the sums
	// The loads of a loop's body all happen before its arithmetic, whatever the order of the code, or those of dot products do.
	LoadsFirst, DotLoadsFirst bool

	// SetSpan is the distance in bytes at which lines of memory fall into the same set of L1: its size through its ways. 0: unknown.
	SetSpan int

	PointerBits int // of an address; 0: 64
	Object      ObjectFormat
	OneWorker   bool // one worker runs all of a network

	Instructions Instructions
	Emulator     Emulator
}

// An ObjectFormat is the form that compiled code has for a linker.
type ObjectFormat int

// Forms of code.
const (
	ELF    ObjectFormat = iota
	Wasm                // modules of WebAssembly, which users fetch over a network before they run them
	Source              // none: a C compiler makes it
)

// Vectors are the vector registers, and the arithmetic on them.
type Vectors struct {
	Bits    int  // of a register
	Regs    int  // registers; where there are none, scalar ones by the four
	Scalars bool // there are none
	Reach   int  // bytes behind an address that a load of a float32 names by itself; 0: any number

	FMA       bool // multiply-add in one instruction
	Dot       bool // sum of four products of bytes, data by int8 weights, in one instruction on whole vectors
	SignedDot bool // data are int8 in that instruction, and not uint8
}

// A Processor is a CPU by LLVM's name. Features are those of the CPU named by Like, and more; so is what is left out.
type Processor struct {
	Name, Like string
	Features   string // separated by blanks
	Caches     [3]int // KiB: L1 data and L2 of a core, and its share of L3, which is 0 where there is none
	Models     string // who says to be one: maker, family, models and ranges of them, all in hexadecimal
	Core       Core
}

// A Core is what one core does in a cycle. In a row, 0 is what the CPU named by Like has, and in the end the architecture's.
type Core struct {
	Clock    int // MHz to expect under load
	Datapath int // bits of a vector that arithmetic takes at once; 0: all
	Units    int // vector operations that begin in a cycle: multiply-adds, or products and sums where those are two
	Loads    int // vectors that a cycle loads from L1
	Latency  int // cycles from one multiply-add to the next of the same sum
	L2Rate   int // bytes a cycle that a core reads from its L2
	L3Rate   int // and from L3
	Memory   int // MB/s that one core reads from memory
	Reclaim  int // MB/s that one core writes of what others have read
	Streams  int // of memory that a core reads fastest side by side: 1 or 2 where its prefetchers follow each as fast as memory is
}

// An Emulator is how tests run programs of an architecture on another: Debian's tools for it.
type Emulator struct {
	Program, Compiler, Sysroot string
	Packages                   string   // that hold them
	CPUs                       []string // that it knows by LLVM's name: an instruction that they lack ends the program, as on the real ones
	// CPU is its name of the plainest processor with all features of code for vectors of some bits; nil: "max".
	CPU func(has func(feature string) bool, vectorBits int) string
}
