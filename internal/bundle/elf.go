package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// machines maps ELF's e_machine to Go's name of the architecture.
var machines = []struct {
	code uint16
	arch string
}{
	{62, "amd64"}, {183, "arm64"}, {243, "riscv64"}, {40, "arm"}, {3, "386"}, {258, "loong64"}, {21, "ppc64le"},
}

// LibraryArch checks that b is a complete 64-bit little-endian ELF shared object and returns its architecture by Go's
// name, or "machine N" for one that Go does not have. The check is against truncation, not against malice: a library is
// code that its user trusts.
func LibraryArch(b []byte) (string, error) {
	arch, err := libraryArch(b)
	if err != nil {
		return "", fmt.Errorf("%s: %w", LibraryName, err)
	}
	return arch, nil
}

const (
	elfHeader  = 64
	elfSegment = 56
)

func libraryArch(b []byte) (string, error) {
	if len(b) < elfHeader || string(b[:4]) != "\x7fELF" {
		if what := identify(b); what != "" {
			return "", errors.New(what)
		}
		return "", errors.New("is not an ELF shared library")
	}
	le := binary.LittleEndian
	code := le.Uint16(b[18:])
	arch := fmt.Sprintf("machine %d", code)
	for _, m := range machines {
		if m.code == code {
			arch = m.arch
		}
	}
	if b[4] != 2 || b[5] != 1 {
		return "", fmt.Errorf("is not a 64-bit little-endian library (%s); other targets have no runtime", arch)
	}
	if le.Uint16(b[16:]) != 3 {
		return "", errors.New("is an ELF file, but not a shared library")
	}
	table, size, count := le.Uint64(b[32:]), le.Uint16(b[54:]), le.Uint16(b[56:])
	if size != elfSegment || !within(table, uint64(size)*uint64(count), len(b)) {
		return "", errors.New("is truncated or damaged (program headers)")
	}
	for i := range uint64(count) {
		seg := b[table+i*elfSegment:]
		if le.Uint32(seg) == 1 && !within(le.Uint64(seg[8:]), le.Uint64(seg[32:]), len(b)) {
			return "", errors.New("is truncated: a segment ends beyond the file")
		}
	}
	return arch, nil
}

// within reports whether [off, off+n) lies in [0, size).
func within(off, n uint64, size int) bool {
	return off <= uint64(size) && n <= uint64(size)-off
}
