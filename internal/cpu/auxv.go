//go:build arm64 || riscv64

package cpu

import "golang.org/x/sys/unix"

// auxiliary returns AT_HWCAP and AT_HWCAP2.
func auxiliary() []uint64 {
	words := make([]uint64, 3)
	auxv, _ := unix.Auxv()
	for _, kv := range auxv {
		switch kv[0] {
		case 16:
			words[hwcap] = uint64(kv[1])
		case 26:
			words[hwcap2] = uint64(kv[1])
		}
	}
	return words
}
