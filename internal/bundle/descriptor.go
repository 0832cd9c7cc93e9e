package bundle

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// describedBy reads the descriptor of a library, the lathe_library of include/lathe.h, as far as it says what lathe.json does: a
// package whose lathe.json was left behind runs all the same, as it does in C. nil without an error is a library that has none.
// What only lathe.json knows (operators and work of the steps, options, notes) is left out.
func describedBy(lib []byte) (*Manifest, error) {
	d := loadDescriptor(lib)
	if d == nil {
		return nil, nil
	}
	m := d.manifest()
	if d.bad {
		return nil, fmt.Errorf("%s: the descriptor points to where nothing is", LibraryName)
	}
	if m.ABI != ABIVersion {
		return nil, fmt.Errorf("%s: ABI %d, written by lathe %s; this build calls ABI %d: recompile the model", LibraryName, m.ABI, quoteVersion(m.Lathe), ABIVersion)
	}
	if d.needsModules {
		return nil, fmt.Errorf("%s is missing, and what the library lacks (--external-fallback=false) is in files that it names", ManifestName)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", LibraryName, err)
	}
	return m, nil
}

// A descriptorReader reads fields as C lays them out, at addresses of a library that is not loaded. After a read from nowhere
// bad is set and every read gives zero.
type descriptorReader struct {
	*libraryImage
	at uint64
}

type libraryImage struct {
	lib      []byte
	segments []elf.ProgHeader
	pointer  uint64            // bytes of one
	moved    map[uint64]uint64 // pointers, by their place, where the file does not hold them
	bad      bool
	strings  int // bytes of strings that were read: they may overlap

	needsModules bool // a region cannot be computed without its module
}

// loadDescriptor finds the descriptor; nil where there is none.
func loadDescriptor(lib []byte) *descriptorReader {
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		return nil
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == LibraryAlias })
	if i < 0 {
		return nil
	}
	image := &libraryImage{lib: lib, pointer: 8, moved: map[uint64]uint64{}}
	if f.Class == elf.ELFCLASS32 {
		image.pointer = 4
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			image.segments = append(image.segments, p.ProgHeader)
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || image.pointer != 8 || !within(s.Offset, s.Size, len(lib)) {
			continue
		}
		// Every relocation is relative: an address of the library in place of nothing.
		for b := lib[s.Offset:][:s.Size]; len(b) >= 24; b = b[24:] {
			image.moved[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[16:])
		}
	}
	return &descriptorReader{image, symbols[i].Value}
}

// bytes returns the file's bytes from an address to the end of its segment.
func (l *libraryImage) bytes(at uint64) []byte {
	for _, p := range l.segments {
		if at >= p.Vaddr && at-p.Vaddr < p.Filesz && within(p.Off, p.Filesz, len(l.lib)) {
			return l.lib[p.Off+(at-p.Vaddr) : p.Off+p.Filesz]
		}
	}
	return nil
}

func (r *descriptorReader) number(size uint64) uint64 {
	r.at = (r.at + size - 1) / size * size
	b := r.bytes(r.at)
	r.at += size
	if r.bad = r.bad || uint64(len(b)) < size; r.bad {
		return 0
	}
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *descriptorReader) i32() int     { return int(int32(r.number(4))) }
func (r *descriptorReader) size() int    { return int(r.number(r.pointer)) }
func (r *descriptorReader) i64() int     { return int(r.number(8)) }
func (r *descriptorReader) text() string { return r.textAt(r.address()) }

// address reads a pointer.
func (r *descriptorReader) address() uint64 {
	v := r.number(r.pointer)
	if to, ok := r.moved[r.at-r.pointer]; ok {
		return to
	}
	return v
}

// textAt is the C string at an address.
func (l *libraryImage) textAt(at uint64) string {
	s, _, ended := bytes.Cut(l.bytes(at), []byte{0})
	l.strings += len(s)
	if l.bad = l.bad || !ended || l.strings > len(l.lib); l.bad {
		return ""
	}
	return string(s)
}

// rows calls read count times on the table at an address.
func (r *descriptorReader) rows(at uint64, count int, read func(*descriptorReader)) {
	if count < 0 || count > len(r.lib) {
		r.bad = true
	}
	row := &descriptorReader{r.libraryImage, at}
	for i := 0; i < count && !r.bad; i++ {
		read(row)
	}
}

func (r *descriptorReader) tensors(at uint64, count int) (list []TensorInfo) {
	r.rows(at, count, func(r *descriptorReader) {
		t := TensorInfo{Name: r.text(), Shape: []int{}}
		shape, symbols := r.address(), r.address()
		r.size()
		rank, code := r.i32(), r.i32()
		r.at = (r.at + r.pointer - 1) / r.pointer * r.pointer
		r.rows(shape, rank, func(r *descriptorReader) { t.Shape = append(t.Shape, r.i64()) })
		if symbols != 0 {
			r.rows(symbols, rank, func(r *descriptorReader) { t.Symbols = append(t.Symbols, r.i32()) })
		}
		d, err := dtypeByCode(uint8(code>>8), uint8(code), 1)
		r.bad = r.bad || err != nil
		t.DType = d.name
		list = append(list, t)
	})
	return list
}

// regions notes whether one of them needs its module, which only lathe.json leads to.
func (r *descriptorReader) regions(at uint64, count int) {
	r.rows(at, count, func(r *descriptorReader) {
		for range 6 { // symbol, runtime, member, inputs, outputs, bytes
			r.size()
		}
		r.i32() // digest
		r.needsModules = r.needsModules || r.i32()&FlagNoFallback != 0
		for range 5 { // version, numbers of operands, steps
			r.i32()
		}
		r.at = (r.at + r.pointer - 1) / r.pointer * r.pointer
	})
}

// manifest reads the whole descriptor.
func (r *descriptorReader) manifest() *Manifest {
	m := &Manifest{Format: FormatVersion, ABI: r.i32()}
	end := r.at - 4 + uint64(max(0, r.i32()))
	m.Module, m.Lathe, m.Source.File = r.text(), strings.TrimPrefix(r.text(), "lathe "), r.text()
	m.Target.String, m.Target.Features = r.text(), strings.Fields(r.text())
	for _, word := range strings.Fields(m.Target.String) {
		if v, ok := strings.CutPrefix(word, "-mtriple="); ok {
			m.Target.Triple = v
		}
		if v, ok := strings.CutPrefix(word, "-mcpu="); ok {
			m.Target.CPU = v
		}
	}
	inputs, outputs, params, steps, texts := r.address(), r.address(), r.address(), r.address(), r.address()
	inputCount, outputCount, paramCount, stepCount := r.i32(), r.i32(), r.i32(), r.i32()
	m.Symbols, m.MaxWorkers = r.i32(), r.i32()
	m.Workspace, m.Scratch = r.size(), r.size()
	r.address() // weights
	r.size()
	r.address() // run
	if r.at+8 <= end {
		if flags, digest := r.i32(), uint32(r.i32()); flags&FlagParamsDigest != 0 {
			m.Digests = map[string]string{ParamsName: digestText(digest)}
		}
	}
	if r.at+r.pointer+8 <= end {
		r.regions(r.address(), r.i32())
	}
	m.Inputs, m.Outputs = r.tensors(inputs, inputCount), r.tensors(outputs, outputCount)
	r.rows(params, paramCount, func(r *descriptorReader) {
		m.Params = append(m.Params, r.textAt(texts+r.number(4)))
		r.size()
		r.size()
	})
	r.rows(steps, stepCount, func(r *descriptorReader) {
		s := Step{Name: r.textAt(texts + r.number(4))}
		if nodes := r.textAt(texts + r.number(4)); nodes != "" {
			s.Nodes = strings.Split(nodes, "\n")
		}
		m.Steps = append(m.Steps, s)
	})
	m.Notes = []string{ManifestName + " is missing: this is what the library says of itself"}
	return m
}
