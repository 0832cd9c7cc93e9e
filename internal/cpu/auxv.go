//go:build arm64 || riscv64

package cpu

import (
	"golang.org/x/sys/unix"

	"lathe/internal/isa"
)

// auxiliary returns AT_HWCAP and AT_HWCAP2.
func auxiliary() []uint64 {
	words := make([]uint64, 3)
	auxv, _ := unix.Auxv()
	for _, kv := range auxv {
		switch kv[0] {
		case 16:
			words[isa.HWCAP] = uint64(kv[1])
		case 26:
			words[isa.HWCAP2] = uint64(kv[1])
		}
	}
	return words
}
