package cpu

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv reads XCR0. It is an illegal instruction where CPUID does not announce it.
func xgetbv() uint64

func ask() *Machine {
	ask := func(leaf, sub uint32) [4]uint32 {
		a, b, c, d := cpuid(leaf, sub)
		return [4]uint32{a, b, c, d}
	}
	var xcr0 uint64
	if ask(1, 0)[2]>>27&1 != 0 {
		xcr0 = xgetbv()
	}
	return FromCPUID(ask, xcr0)
}
