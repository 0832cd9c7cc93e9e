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

// LibraryArch checks that b is a complete little-endian ELF shared object and returns its architecture by Go's name, or
// "machine N" for one that Go does not have. The check is against truncation, not against malice: a library is code that
// its user trusts.
func LibraryArch(b []byte) (string, error) {
	arch, err := libraryArch(b)
	if err != nil {
		return "", fmt.Errorf("%s: %w", LibraryName, err)
	}
	return arch, nil
}

// elfClass is where a class of ELF files, 32-bit or 64-bit, keeps what is read here.
type elfClass struct {
	header        int
	phoff, phsize int // in the header: offset of the program headers, size of one (their number follows it)
	segment       int // size of a program header
	offset, bytes int // in a program header: where the segment lies in the file
	wide          bool
}

var elfClasses = map[byte]elfClass{
	1: {header: 52, phoff: 28, phsize: 42, segment: 32, offset: 4, bytes: 16},
	2: {header: 64, phoff: 32, phsize: 54, segment: 56, offset: 8, bytes: 32, wide: true},
}

// word reads an offset or a size.
func (c elfClass) word(b []byte) uint64 {
	if c.wide {
		return binary.LittleEndian.Uint64(b)
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

func libraryArch(b []byte) (string, error) {
	const shortest = 52
	if len(b) < shortest || string(b[:4]) != "\x7fELF" {
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
	class, ok := elfClasses[b[4]]
	if !ok || b[5] != 1 || len(b) < class.header {
		return "", fmt.Errorf("is not a little-endian library (%s); other targets have no runtime", arch)
	}
	if le.Uint16(b[16:]) != 3 {
		return "", errors.New("is an ELF file, but not a shared library")
	}
	table, size, count := class.word(b[class.phoff:]), le.Uint16(b[class.phsize:]), le.Uint16(b[class.phsize+2:])
	if int(size) != class.segment || !within(table, uint64(size)*uint64(count), len(b)) {
		return "", errors.New("is truncated or damaged (program headers)")
	}
	for i := range uint64(count) {
		seg := b[table+i*uint64(size):]
		if le.Uint32(seg) == 1 && !within(class.word(seg[class.offset:]), class.word(seg[class.bytes:]), len(b)) {
			return "", errors.New("is truncated: a segment ends beyond the file")
		}
	}
	return arch, nil
}

// within reports whether [off, off+n) lies in [0, size).
func within(off, n uint64, size int) bool {
	return off <= uint64(size) && n <= uint64(size)-off
}
