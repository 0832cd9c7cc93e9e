package toolchain

// A Loop is a loop of machine code, without what lies in loops inside it.
type Loop struct {
	// Iterations is how often it runs in a call of its function: the product of the numbers in which the names of the first blocks
	// of this loop and those around it end, behind "_x".
	Iterations float64
	// Cycles is what an iteration takes at least: the time of the busiest resource of LLVM's model of the CPU.
	Cycles          float64
	Instructions    int
	Spills, Reloads int // instructions that store to or load from slots of the register allocator
	Innermost       bool
}

// AsWritten is the machine with instructions of a block in the order of the IR: LLVM's scheduler, which looks at latency and at
// fewer registers than there are, does not move them before registers are allocated.
func (m *Machine) AsWritten() *Machine {
	c := *m
	c.asWritten = true
	return &c
}

// Screen is Compile, and tells of the loops in the code.
func (m *Machine) Screen(ir, passes string) (Object, []Loop, error) {
	return m.emit(ir, passes, emitObject)
}
