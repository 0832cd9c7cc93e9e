package bundle

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Digests notice damage: a bad disk, a cut download, an editor's line endings. They are no signature, for who can change a
// package can change its digests. All are CRC-32C: a run of up to four wrong bytes never escapes it, processors compute it,
// and it is a screen of C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CheckedAtOnce is the size of mod.params up to which opening a package compares its digest. Larger ones, which opening does
// not read otherwise, are compared by Check.
const CheckedAtOnce = 4 << 20

// A library file ends with a seal behind the ELF file, which loaders do not look at. It is the digest of all bytes before
// its last four but those of the weights that the library holds, [from, to): these have a digest of their own.
const (
	sealMagic = "lathe\x00\x0dc" // what transfers as text change is in it
	sealSize  = 8 + 8 + 8 + 4 + 4
)

// sealOf is what to append to a library that has its weights at [from, to).
func sealOf(lib []byte, from, to int) []byte {
	le := binary.LittleEndian
	s := le.AppendUint64([]byte(sealMagic), uint64(from))
	s = le.AppendUint64(s, uint64(to))
	s = le.AppendUint32(s, 0)
	sum := crc32.Update(crc32.Checksum(lib[:from], castagnoli), castagnoli, lib[to:])
	return le.AppendUint32(s, crc32.Update(sum, castagnoli, s))
}

// unseal checks the seal of a library file and returns the library without it. A file without one is returned as it is:
// packages had none once.
func unseal(b []byte) (lib []byte, sealed bool, err error) {
	n := len(b) - sealSize
	if n < 0 || string(b[n:n+len(sealMagic)]) != sealMagic {
		return b, false, nil
	}
	lib = b[:n:n]
	from, to := binary.LittleEndian.Uint64(b[n+8:]), binary.LittleEndian.Uint64(b[n+16:])
	if from > to || to > uint64(n) || !bytes.Equal(sealOf(lib, int(from), int(to)), b[n:]) {
		return lib, true, damaged(LibraryName)
	}
	return lib, true, nil
}

// damaged is the error about a member that does not have its digest.
func damaged(member string) error {
	return fmt.Errorf("%s is damaged: its bytes do not have the digest that was written with them; copy the package again, or recompile the model", member)
}

// digestText is how lathe.json spells a digest.
func digestText(sum uint32) string { return fmt.Sprintf("crc32c:%08x", sum) }

// ParamsDigest is the CRC-32C of mod.params, as the descriptor of a library holds it. It is computed once.
func (c *Contents) ParamsDigest() (uint32, error) {
	if c.Draft != nil {
		return c.Draft.digest()
	}
	if c.paramsDigest == nil {
		h := crc32.New(castagnoli)
		if err := WriteParams(h, c.Params); err != nil {
			return 0, err
		}
		sum := h.Sum32()
		c.paramsDigest = &sum
	}
	return *c.paramsDigest, nil
}

// Digests returns what lathe.json says about the members beside the library.
func (c *Contents) Digests() (map[string]string, error) {
	graph, err := c.Graph.Marshal()
	if err != nil {
		return nil, err
	}
	params, err := c.ParamsDigest()
	if err != nil {
		return nil, err
	}
	return map[string]string{GraphName: digestText(crc32.Checksum(graph, castagnoli)), ParamsName: digestText(params)}, nil
}

// checkMember compares a member with what the manifest says; members it says nothing about pass.
func (p *Package) checkMember(name string) error {
	want, ok := p.Manifest.Digests[name]
	if !ok {
		return nil
	}
	b, ok := p.members[name]
	if !ok {
		return fmt.Errorf("%s is missing", name)
	}
	if digestText(crc32.Checksum(b, castagnoli)) != want {
		return damaged(name)
	}
	return nil
}

// Check compares every byte that has a digest with it, and the manifest with the library it describes. Opening did so for the
// code already. A package without digests is an error: nothing can be said about it.
func (p *Package) Check() error {
	err := p.check()
	if err != nil {
		return fmt.Errorf("package %s: %w", p.Path, err)
	}
	return nil
}

func (p *Package) check() error {
	if p.wasm != nil {
		return checkWasm(p.wasm)
	}
	if len(p.Manifest.Digests) == 0 {
		return fmt.Errorf("holds no digests: lathe %s, which compiled it, wrote none; recompile the model", quoteVersion(p.Manifest.Lathe))
	}
	for name := range p.Manifest.Digests {
		if err := p.checkMember(name); err != nil {
			return err
		}
	}
	return p.checkManifest()
}

// checkManifest compares the digest of the manifest that the library holds. A library written by hand may have none.
func (p *Package) checkManifest() error {
	f, err := elf.NewFile(bytes.NewReader(p.Library))
	if err != nil {
		return nil // an archive
	}
	symbols, _ := f.DynamicSymbols()
	for _, s := range symbols {
		if s.Name != p.Manifest.DigestSymbol() || int(s.Section) >= len(f.Sections) {
			continue
		}
		section, want, got := f.Sections[s.Section], p.Manifest.Digest(), [32]byte{}
		if _, err := section.ReadAt(got[:], int64(s.Value-section.Addr)); err != nil && !errors.Is(err, io.EOF) || got != want {
			return fmt.Errorf("%s was changed since %s was compiled", ManifestName, LibraryName)
		}
	}
	return nil
}

// wasmDigest is the custom section that ends a WebAssembly module: the digest of all bytes before its four.
const wasmDigest = "lathe.crc32c"

// checkWasm compares a module with the digest at its end.
func checkWasm(b []byte) error {
	parts, err := wasmParts(b)
	if err != nil {
		return err
	}
	name, body, ok := parts[len(parts)-1].named()
	if !ok || name != wasmDigest || len(body) != 4 {
		return errors.New("holds no digest: an older lathe compiled it; recompile the model")
	}
	if crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(body) {
		return damaged("the module")
	}
	return nil
}
