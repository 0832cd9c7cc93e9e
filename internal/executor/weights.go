package executor

import (
	"fmt"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/internal/bundle"
	"lathe/internal/host"
)

// hugePage is the size and alignment of the pages that the kernel may give where it is asked to.
const hugePage = 2 << 20

// A processor knows where some 1500 pages lie, 6 MB of small ones, and looks up the others in tables, which takes longer in virtual
// machines. Fewer weights than leastResident stay mapped.
const leastResident = 8 << 20

// resident moves the weights from the file into memory of their own, in huge pages. They stay where they are where the system has no
// such pages, or where they and their copy would not be in memory at once.
func (l *library) resident() error {
	size := 0
	for _, p := range l.params {
		size += roundUp(len(p.Data), cacheLine)
	}
	if available, _ := host.AvailableMemory(); size < leastResident || int64(size) > available/2 || !host.HugePages() {
		return nil
	}
	b, err := hugeMemory(size)
	if err != nil {
		return nil // mapped they can be used, too
	}
	l.weights = b
	params := make([]bundle.Param, len(l.params))
	at := 0
	for i, p := range l.params {
		params[i] = p
		params[i].Data = b[at : at+len(p.Data) : at+len(p.Data)]
		if err := copyMapped(params[i].Data, p.Data); err != nil {
			return fmt.Errorf("weight %q: %w", p.Name, err)
		}
		at += roundUp(len(p.Data), cacheLine)
	}
	l.params = params
	l.pkg.Forget()
	return nil
}

// copyMapped copies from a file that is mapped, which is an error where the file has become shorter meanwhile.
func copyMapped(to, from []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the file was shortened while it was read")
		}
	}()
	for len(from) > 0 {
		n := min(len(from), hugePage)
		populate(from[:n])
		copy(to, from[:n])
		to, from = to[n:], from[n:]
	}
	return nil
}

// populate has the kernel map all pages of b at once, not one at a time as they are read; one that cannot does not.
func populate(b []byte) {
	page := uintptr(unix.Getpagesize())
	at := uintptr(unsafe.Pointer(&b[0]))
	from, to := at&^(page-1), (at+uintptr(len(b))+page-1)&^(page-1)
	const populateRead = 22 // MADV_POPULATE_READ
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, populateRead)
}

// hugeMemory maps zeroed memory, for unix.Munmap, which lies in huge pages if it is large and the kernel gives them.
func hugeMemory(size int) ([]byte, error) {
	if size < hugePage {
		return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	}
	// A mapping of whole huge pages is placed at a multiple of their size.
	b, err := unix.Mmap(-1, 0, roundUp(size, hugePage), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // advice: without it pages are small
	return b, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
