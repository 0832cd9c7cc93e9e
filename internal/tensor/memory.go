package tensor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size and alignment of what the kernel gives at once where it may.
const hugePage = 2 << 20

// Bytes returns n zero bytes. Many of them lie in huge pages: the kernel gives memory page by page, and takes it back so when a
// process ends, which is what a user who interrupts it waits for.
func Bytes(n int) []byte {
	b := make([]byte, n)
	if n < 2*hugePage {
		return b
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	from := (at+hugePage-1)&^(hugePage-1) - at
	to := (at+uintptr(n))&^(hugePage-1) - at
	_ = unix.Madvise(b[from:to], unix.MADV_HUGEPAGE) // advice: without it pages are small
	return b
}
