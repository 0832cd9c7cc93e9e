package cpu

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// Codes of arch_prctl, Documentation/arch/x86/xstate.rst of Linux.
const (
	getSupported      = 0x1021
	requestPermission = 0x1023
)

// permit asks for the registers of some bits of XCR0.
func permit(state uint64) error {
	for ; state != 0; state &= state - 1 {
		if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, uintptr(bits.TrailingZeros64(state)), 0); errno != 0 {
			return errno
		}
	}
	return nil
}
