package compile

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// loaded is a shared object as a dynamic linker lays it out at address 0.
type loaded struct {
	t       *testing.T
	file    *elf.File
	image   []byte
	pointer int
}

func load(t *testing.T, lib []byte) *loaded {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		t.Fatal(err)
	}
	l := &loaded{t: t, file: f, pointer: 4}
	if f.Class == elf.ELFCLASS64 {
		l.pointer = 8
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if n := int(p.Vaddr + p.Memsz); n > len(l.image) {
			l.image = append(l.image, make([]byte, n-len(l.image))...)
		}
		if _, err := p.ReadAt(l.image[p.Vaddr:p.Vaddr+p.Filesz], 0); err != nil {
			t.Fatal(err)
		}
	}
	l.relocate()
	return l
}

// relative are the relocations that add the load address and nothing else.
var relative = map[elf.Machine]uint64{
	elf.EM_X86_64: uint64(elf.R_X86_64_RELATIVE), elf.EM_AARCH64: uint64(elf.R_AARCH64_RELATIVE),
	elf.EM_RISCV: uint64(elf.R_RISCV_RELATIVE), elf.EM_ARM: uint64(elf.R_ARM_RELATIVE),
}

// relocate checks that every relocation is relative; those with an addend are applied, the others hold theirs in place.
func (l *loaded) relocate() {
	for _, s := range l.file.Sections {
		b, err := s.Data()
		if err != nil && s.Type != elf.SHT_NOBITS {
			l.t.Fatal(err)
		}
		le := binary.LittleEndian
		switch {
		case s.Type == elf.SHT_RELA && l.pointer == 8:
			for ; len(b) > 0; b = b[24:] {
				if typ := le.Uint64(b[8:]); typ != relative[l.file.Machine] {
					l.t.Errorf("relocation of type %d is not relative", typ)
				}
				le.PutUint64(l.image[le.Uint64(b):], le.Uint64(b[16:]))
			}
		case s.Type == elf.SHT_REL && l.pointer == 4:
			for ; len(b) > 0; b = b[8:] {
				if typ := le.Uint32(b[4:]); uint64(typ) != relative[l.file.Machine] {
					l.t.Errorf("relocation of type %d is not relative", typ)
				}
			}
		case s.Type == elf.SHT_RELA || s.Type == elf.SHT_REL:
			l.t.Errorf("relocations in section %s", s.Name)
		}
	}
}

// checkReadOnly checks that the library imports nothing and that all it may write becomes read-only after relocation.
func (l *loaded) checkReadOnly() {
	l.t.Helper()
	if libs, err := l.file.ImportedLibraries(); err != nil || len(libs) > 0 {
		l.t.Errorf("needs libraries %v, %v", libs, err)
	}
	symbols, err := l.file.DynamicSymbols()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			l.t.Errorf("imports %s", s.Name)
		}
	}
	if text, err := l.file.DynValue(elf.DT_TEXTREL); err != nil || len(text) > 0 {
		l.t.Errorf("relocations in code: %v", err)
	}
	for _, s := range l.file.Sections {
		if s.Flags&elf.SHF_WRITE == 0 || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if !slices.ContainsFunc(l.file.Progs, func(p *elf.Prog) bool {
			return p.Type == elf.PT_GNU_RELRO && p.Vaddr <= s.Addr && s.Addr+s.Size <= p.Vaddr+p.Memsz
		}) {
			l.t.Errorf("section %s stays writable", s.Name)
		}
	}
}

// symbol returns the address of an exported name.
func (l *loaded) symbol(name string) uint64 {
	symbols, err := l.file.DynamicSymbols()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	l.t.Fatalf("does not export %s", name)
	return 0
}

// reader reads fields as C lays them out.
type reader struct {
	*loaded
	at uint64
}

func (r *reader) i32() int {
	r.at = (r.at + 3) &^ 3
	r.at += 4
	return int(int32(binary.LittleEndian.Uint32(r.image[r.at-4:])))
}

func (r *reader) i64() int {
	r.at += 8
	return int(binary.LittleEndian.Uint64(r.image[r.at-8:]))
}

func (r *reader) word() int {
	if r.pointer == 8 {
		r.at = (r.at + 7) &^ 7
		return r.i64()
	}
	return int(uint32(r.i32()))
}

func (r *reader) string() string {
	return (&reader{r.loaded, uint64(r.word())}).cstring()
}

// cstring is the C string that begins here.
func (r *reader) cstring() string {
	text, _, ended := bytes.Cut(r.image[r.at:], []byte{0})
	if !ended {
		r.t.Errorf("a string at %#x does not end", r.at)
	}
	return string(text)
}

// stringAt reads a C string whose place in the table of strings is the next number.
func (r *reader) stringAt(table int) string {
	at := uint64(table + r.i32())
	return (&reader{r.loaded, at}).cstring()
}

// rows calls read for n rows of the table that the next pointer names.
func (r *reader) rows(table uint64, n int, read func(*reader)) {
	row := &reader{r.loaded, table}
	for range n {
		read(row)
	}
}

func apply(t *testing.T, g *graph.Graph, d *op.Def, attrs any, in ...*graph.Value) *graph.Node {
	t.Helper()
	n, err := g.Apply(d, attrs, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDescriptor(t *testing.T) {
	for _, target := range []string{"llvm -mcpu=x86-64-v3", "llvm -mtriple=aarch64-linux-gnu", "llvm -mtriple=riscv64-linux-gnu", "llvm -mtriple=armv7-linux-gnueabihf"} {
		t.Run(strings.Fields(target)[1], func(t *testing.T) {
			var libs [][]byte
			var m *bundle.Manifest
			var res *Result
			for range 2 {
				// A name that needs escapes, an output whose extent depends on data, an output without axes, and constants.
				g := &graph.Graph{Name: "main"}
				x := g.Input("ein \"Bild\"\\\n", types.Of(types.F32, 2, 3))
				find := apply(t, g, ops.ArgWhere, op.None{}, x)
				at := apply(t, g, ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0}}, find.Out[0]).Out[0]
				count := find.Out[1]
				sum := apply(t, g, ops.Add, op.None{}, g.Inputs[0], graph.NewConst("", tensor.Of([]int{3}, []float32{1, 2, 3})))
				sum.Origin = []string{"first", "/second/ünd"}
				tall := apply(t, g, ops.Multiply, op.None{}, g.Inputs[0], graph.NewConst("w", tensor.Of([]int{2, 1}, []float32{1, 2})))
				g.Outputs = []*graph.Value{at, sum.Out[0], count, tall.Out[0]}
				for i, v := range g.Outputs {
					v.Name = fmt.Sprintf("out%d", i)
				}
				var err error
				if res, err = Compile(context.Background(), g, Options{
					Target: targettest.Resolve(t, target), Level: 3, Module: "net", Version: "1.2", Source: bundle.Source{File: "net.onnx"},
				}); err != nil {
					t.Fatal(err)
				}
				libs, m = append(libs, res.Contents.Library), res.Contents.Manifest
			}
			if !bytes.Equal(libs[0], libs[1]) {
				t.Error("two compilations give different libraries")
			}
			l := load(t, libs[0])
			l.checkReadOnly()
			if m.Symbols != 1 || len(m.Params) != 2 {
				t.Fatalf("%d symbols, constants %q: the test wants 1 and 2", m.Symbols, m.Params)
			}
			checkDescriptor(t, l, m, []int{12, 8})
			checkAlone(t, res)
		})
	}
}

// checkAlone opens NAME.so with NAME.params and nothing else, as users of TVM copy them: the descriptor says what lathe.json does,
// but what is for people.
func checkAlone(t *testing.T, res *Result) {
	t.Helper()
	so := filepath.Join(t.TempDir(), "net.so")
	if err := res.Write(t.Context(), so); err != nil {
		t.Fatal(err)
	}
	whole, err := bundle.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	stem := strings.TrimSuffix(so, ".so")
	for _, suffix := range []string{".lathe.json", ".json"} {
		if err := os.Remove(stem + suffix); err != nil {
			t.Fatal(err)
		}
		p, err := bundle.Open(so)
		if err != nil {
			t.Fatal(err)
		}
		got, want := *p.Manifest, *whole.Manifest // Digest is that of names, types, shapes and sizes
		if got.Digest() != want.Digest() || got.Digests[bundle.ParamsName] != want.Digests[bundle.ParamsName] || !reflect.DeepEqual(p.Params, whole.Params) ||
			!slices.Equal(got.Target.Features, want.Target.Features) ||
			got.Target.String != want.Target.String || got.Target.Triple != want.Target.Triple || got.MaxWorkers != want.MaxWorkers || got.Lathe != want.Lathe {
			t.Errorf("without %s: module %s, inputs %v, outputs %v, digests %v, target %v", suffix, got.Module, got.Inputs, got.Outputs, got.Digests, got.Target)
		}
		for i, s := range want.Steps {
			if got.Steps[i].Name != s.Name || !slices.Equal(got.Steps[i].Nodes, s.Nodes) {
				t.Errorf("step %d is %+v, want %+v", i, got.Steps[i], s)
			}
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		p.Close()
	}
	if err := os.Remove(stem + ".params"); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Open(so); err == nil || !strings.Contains(err.Error(), "net.params is missing: it holds the weights") {
		t.Error(err)
	}
}

// checkDescriptor compares the descriptor of a library with its manifest; params are the bytes of the constants.
func checkDescriptor(t *testing.T, l *loaded, m *bundle.Manifest, params []int) {
	t.Helper()
	at := l.symbol(m.LibrarySymbol())
	if l.symbol(bundle.LibraryAlias) != at {
		t.Error("the alias is another constant")
	}
	d := &reader{l, at}
	equal := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	equal("abi", d.i32(), m.ABI)
	equal("size", d.i32(), bundle.DescriptorSize(l.pointer))
	equal("module", d.string(), m.Module)
	equal("compiler", d.string(), "lathe "+m.Lathe)
	equal("source", d.string(), m.Source.File)
	equal("target", d.string(), m.Target.String)
	equal("features", d.string(), strings.Join(m.Target.Features, " "))
	inputs, outputs, paramTable, steps := uint64(d.word()), uint64(d.word()), uint64(d.word()), uint64(d.word())
	texts := d.word()
	equal("inputs", d.i32(), len(m.Inputs))
	equal("outputs", d.i32(), len(m.Outputs))
	equal("params", d.i32(), len(m.Params))
	equal("steps", d.i32(), len(m.Steps))
	equal("symbols", d.i32(), m.Symbols)
	equal("max_workers", d.i32(), m.MaxWorkers)
	equal("workspace", d.word(), m.Workspace)
	equal("scratch", d.word(), m.Scratch)
	equal("weights", d.word(), 0)
	size := d.word()
	equal("run", uint64(d.word()), l.symbol(m.RunSymbol()))
	equal("flags", d.i32(), bundle.FlagSealed|bundle.FlagParamsDigest)
	equal("params_digest", fmt.Sprintf("crc32c:%08x", uint32(d.i32())), m.Digests[bundle.ParamsName])
	equal("regions", d.word(), 0)
	equal("number of regions", d.i32(), 0)
	equal("reserved", d.i32(), 0)
	equal("bytes of the descriptor", int(d.at-at), bundle.DescriptorSize(l.pointer))

	for _, table := range []struct {
		at   uint64
		want []bundle.TensorInfo
	}{{inputs, m.Inputs}, {outputs, m.Outputs}} {
		i := 0
		d.rows(table.at, len(table.want), func(r *reader) {
			want := table.want[i]
			i++
			equal("name", r.string(), want.Name)
			shape, symbols := uint64(r.word()), uint64(r.word())
			bytes, _ := want.ByteSize()
			equal("bytes", r.word(), bytes)
			equal("rank", r.i32(), len(want.Shape))
			code, _ := bundle.DTypeCode(want.DType)
			equal("dtype", r.i32(), code)
			if r.pointer == 8 {
				r.at = (r.at + 7) &^ 7
			}
			k := 0
			r.rows(shape, len(want.Shape), func(r *reader) { equal("extent", r.i64(), want.Shape[k]); k++ })
			equal("has symbols", symbols != 0, len(want.Symbols) > 0)
			k = 0
			r.rows(symbols, len(want.Symbols), func(r *reader) { equal("symbol", r.i32(), want.Symbols[k]); k++ })
		})
	}
	i, end := 0, 0
	d.rows(paramTable, len(m.Params), func(r *reader) {
		equal("param", r.stringAt(texts), m.Params[i])
		equal("bytes", r.word(), params[i])
		offset := r.word()
		if offset%bundle.Alignment != 0 || offset < end {
			t.Errorf("param %d at %d, the one before ends at %d", i, offset, end)
		}
		end = offset + params[i]
		i++
	})
	equal("weights_size", size, end)
	i = 0
	d.rows(steps, len(m.Steps), func(r *reader) {
		equal("step", r.stringAt(texts), m.Steps[i].Name)
		equal("nodes", r.stringAt(texts), strings.Join(m.Steps[i].Nodes, "\n"))
		i++
	})
}
