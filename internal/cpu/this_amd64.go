package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/internal/isa/x86"
)

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
	if asked := xcr0 & x86.Features.OnRequest; asked != 0 {
		var supported uint64 // a sandbox may show registers that its system does not know to give
		_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, getSupported, uintptr(unsafe.Pointer(&supported)), 0)
		if errno != 0 || supported&asked != asked {
			xcr0 &^= asked
		}
	}
	return FromCPUID(ask, xcr0)
}
