package bundle

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// WasmMemory is where things lie in the memory of a WebAssembly module, in bytes from its beginning. The stack comes
// first, then what is listed here, then the data of the code.
type WasmMemory struct {
	Context int   `json:"context"` // the run context, filled in
	Status  int   `json:"status"`  // its status
	Inputs  []int `json:"inputs"`
	Outputs []int `json:"outputs"`
	Symbols int   `json:"symbols"`
	Bytes   int   `json:"bytes"` // where the data of the code begins; the whole is little larger

	params             []int
	tables             int // of pointers to inputs, outputs, params
	workspace, scratch int
}

// WasmStack is the size of the stack of a WebAssembly module. Kernels keep arrays in scratch; what an engine spills is not
// in memory.
const WasmStack = 64 << 10

// wasmPointer is the size of a pointer.
const wasmPointer = 4

// LayOutWasm gives everything a model needs its place in a memory. The constants follow the context without a gap other
// than alignment: they are initialised together.
func LayOutWasm(m *Manifest, params []Param) (*WasmMemory, error) {
	ctx := ContextOf(wasmPointer)
	l := &WasmMemory{Context: WasmStack, Status: WasmStack + ctx.Status}
	at := l.Context + ctx.Size
	place := func(size int) int {
		start := (at + Alignment - 1) / Alignment * Alignment
		at = start + size
		return start
	}
	l.tables = place(wasmPointer * (len(m.Inputs) + len(m.Outputs) + len(params)))
	l.Symbols = place(8 * m.Symbols)
	for _, p := range params {
		l.params = append(l.params, place(p.Size()))
	}
	for _, side := range []struct {
		tensors []TensorInfo
		to      *[]int
	}{{m.Inputs, &l.Inputs}, {m.Outputs, &l.Outputs}} {
		*side.to = []int{}
		for _, t := range side.tensors {
			n, err := t.ByteSize()
			if err != nil {
				return nil, err
			}
			*side.to = append(*side.to, place(n))
		}
	}
	l.workspace = place(m.Workspace)
	l.scratch = place(m.Scratch)
	l.Bytes = place(0)
	if l.Bytes > 1<<32-1<<20 {
		return nil, fmt.Errorf("the model needs %d MB of memory, and WebAssembly with 32-bit addresses has 4096 MB", l.Bytes>>20)
	}
	return l, nil
}

// context is the content of memory from l.Context on, up to the constants.
func (l *WasmMemory) context(m *Manifest) []byte {
	end := l.Symbols + 8*m.Symbols
	b := make([]byte, end-l.Context)
	put := func(off, v int) { binary.LittleEndian.PutUint32(b[off:], uint32(v)) }
	ctx := ContextOf(wasmPointer)
	inputs := l.tables
	outputs := inputs + wasmPointer*len(l.Inputs)
	params := outputs + wasmPointer*len(l.Outputs)
	for _, f := range [][2]int{
		{ctx.ABI, ABIVersion}, {ctx.Bytes, ctx.Size}, {ctx.Inputs, inputs}, {ctx.Outputs, outputs}, {ctx.Params, params},
		{ctx.Workspace, l.workspace}, {ctx.Scratch, l.scratch}, {ctx.ScratchStride, (m.Scratch + Alignment - 1) / Alignment * Alignment},
		{ctx.Symbols, l.Symbols},
	} {
		put(f[0], f[1])
	}
	for i, p := range slices.Concat(l.Inputs, l.Outputs, l.params) {
		put(l.tables-l.Context+wasmPointer*i, p)
	}
	return b
}

// Sections of a WebAssembly module.
const (
	wasmCustom    = 0
	wasmData      = 11
	wasmDataCount = 12
	wasmHeader    = "\x00asm\x01\x00\x00\x00"
	wasmSection   = "lathe" // the custom section with the manifest
)

type wasmPart struct {
	id   byte
	body []byte
}

// wasmParts takes a module apart. The bodies lie in b.
func wasmParts(b []byte) ([]wasmPart, error) {
	if !strings.HasPrefix(string(b[:min(len(b), len(wasmHeader))]), wasmHeader) {
		return nil, errors.New("is not a WebAssembly module of version 1")
	}
	var parts []wasmPart
	for rest := b[len(wasmHeader):]; len(rest) > 0; {
		id := rest[0]
		n, width := binary.Uvarint(rest[1:])
		if width <= 0 || n > uint64(len(rest)-1-width) {
			return nil, errors.New("is truncated or damaged: a section ends beyond the file")
		}
		end := 1 + width + int(n)
		parts = append(parts, wasmPart{id, rest[1+width : end]})
		rest = rest[end:]
	}
	return parts, nil
}

// named cuts the name off the body of a custom section.
func (p wasmPart) named() (name string, body []byte, ok bool) {
	n, width := binary.Uvarint(p.body)
	if p.id != wasmCustom || width <= 0 || n > uint64(len(p.body)-width) {
		return "", nil, false
	}
	return string(p.body[width : width+int(n)]), p.body[width+int(n):], true
}

// wasmManifest returns the manifest in a module that Lathe wrote.
func wasmManifest(b []byte) (*Manifest, error) {
	parts, err := wasmParts(b)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if name, body, ok := p.named(); ok && name == wasmSection {
			return ParseManifest(body)
		}
	}
	return nil, errors.New("is a WebAssembly module, but not one that Lathe wrote")
}

// wasmPieces are the bytes of a whole module: c.Library, the linked code, with the run context and the constants as a
// segment of data and the manifest as a custom section.
func (c *Contents) wasmPieces() ([][]byte, error) {
	parts, err := wasmParts(c.Library)
	if err != nil {
		return nil, err
	}
	l, err := LayOutWasm(c.Manifest, c.Params)
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(struct {
		*Manifest
		Inputs  []TensorInfo `json:"inputs"`
		Outputs []TensorInfo `json:"outputs"`
		Memory  *WasmMemory  `json:"memory"`
	}{c.Manifest, shaped(c.Manifest.Inputs), shaped(c.Manifest.Outputs), l})
	if err != nil {
		return nil, err
	}

	segment := [][]byte{l.context(c.Manifest)}
	at := l.Context + len(segment[0])
	for i, p := range c.Params {
		var data bytes.Buffer
		if err := p.Fill(&data); err != nil {
			return nil, err
		}
		segment = append(segment, make([]byte, l.params[i]-at), data.Bytes())
		at = l.params[i] + data.Len()
	}
	const i32Const, end = 0x41, 0x0b
	head := append([]byte{0, i32Const}, signedVarint(int64(int32(uint32(l.Context))))...)
	head = append(head, end)
	head = binary.AppendUvarint(head, uint64(at-l.Context))
	data := append([][]byte{nil, head}, segment...)

	out := [][]byte{[]byte(wasmHeader)}
	section := func(id byte, body ...[]byte) {
		n := 0
		for _, b := range body {
			n += len(b)
		}
		out = append(out, binary.AppendUvarint([]byte{id}, uint64(n)))
		out = append(out, body...)
	}
	written := false
	for _, p := range parts {
		switch {
		case p.id == wasmDataCount:
			return nil, errors.New("linked with a count of data segments")
		case p.id == wasmData:
			n, width := binary.Uvarint(p.body)
			data[0] = binary.AppendUvarint(nil, n+1)
			section(wasmData, append(data, p.body[width:])...)
			written = true
		case p.id == wasmCustom: // after the data, in any order
		default:
			section(p.id, p.body)
		}
	}
	if !written {
		data[0] = []byte{1}
		section(wasmData, data...)
	}
	for _, p := range parts {
		if p.id == wasmCustom {
			section(wasmCustom, p.body)
		}
	}
	section(wasmCustom, binary.AppendUvarint(nil, uint64(len(wasmSection))), []byte(wasmSection), about)
	section(wasmCustom, binary.AppendUvarint(nil, uint64(len(wasmDigest))), []byte(wasmDigest), make([]byte, 4))
	sum := uint32(0)
	for _, b := range out[:len(out)-1] {
		sum = crc32.Update(sum, castagnoli, b)
	}
	binary.LittleEndian.PutUint32(out[len(out)-1], sum)
	return out, nil
}

// shaped gives scalars an empty shape where lathe.json has null: JavaScript iterates over it.
func shaped(ts []TensorInfo) []TensorInfo {
	list := append([]TensorInfo{}, ts...)
	for i := range list {
		list[i].Shape = nonNil(list[i].Shape)
	}
	return list
}

// signedVarint is v in signed LEB128.
func signedVarint(v int64) []byte {
	var b []byte
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

var (
	//go:embed loader.mjs
	wasmLoader string
	//go:embed loader.d.mts
	wasmLoaderTypes string
)

// WriteWasm writes c, whose library is a linked WebAssembly module, as NAME.wasm with everything in it, and beside it the
// JavaScript that loads it, NAME.mjs, with its types, NAME.d.mts. Files appear complete or not at all.
func WriteWasm(path string, c *Contents) error {
	stem, ok := strings.CutSuffix(path, ".wasm")
	if !ok {
		return fmt.Errorf("writing %s: the name of a WebAssembly module must end in .wasm", path)
	}
	pieces, err := c.wasmPieces()
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// As a part of a URL between quotes; that is also harmless in a comment.
	name := strings.ReplaceAll(url.PathEscape(filepath.Base(stem)), "'", "%27")
	text := func(suffix, content string) File {
		return File{suffix, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.ReplaceAll(content, "NAME", name))
			return err
		}}
	}
	return WriteFiles(path, &Contents{Ctx: c.Ctx, Files: []File{
		{".wasm", func(w io.Writer) error {
			for _, b := range pieces {
				if _, err := w.Write(b); err != nil {
					return err
				}
			}
			return nil
		}},
		text(".mjs", wasmLoader),
		text(".d.mts", wasmLoaderTypes),
	}})
}
