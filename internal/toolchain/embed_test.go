package toolchain

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
	"testing"
)

// Data of an embedded section is in the library as it was given, at its alignment, and what is not loaded is compressed.
func TestEmbed(t *testing.T) {
	weights := bytes.Repeat([]byte{1, 2, 3, 0xff, '"'}, 1001)
	note := []byte(strings.Repeat("what it is; ", 100))
	sections := []Section{
		{Name: "mod.weights", Loaded: true, Align: 64, Symbol: "weights", Write: func(w io.Writer) error { _, err := w.Write(weights); return err }},
		{Name: "note.json", Write: func(w io.Writer) error { _, err := w.Write(note); return err }},
	}
	const user = "@weights = external hidden constant [0 x i8]\n@at = constant ptr @weights\n"
	for _, triple := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "armv7-linux-gnueabihf"} {
		t.Run(triple, func(t *testing.T) {
			m := open(t, Options{Triple: triple})
			var libs [][]byte
			for range 2 {
				object, err := m.Embed(sections)
				if err != nil {
					t.Fatal(err)
				}
				lib, err := Link(append(compileFor(t, m, user), object), LinkOptions{Exports: []string{"at"}, Triple: triple, Compress: []string{"note.json"}})
				if err != nil {
					t.Fatal(err)
				}
				libs = append(libs, lib)
			}
			if !bytes.Equal(libs[0], libs[1]) {
				t.Error("the same sections give other bytes")
			}
			f, err := elf.NewFile(bytes.NewReader(libs[0]))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name  string
				want  []byte
				flags elf.SectionFlag
			}{{"mod.weights", weights, elf.SHF_ALLOC}, {"note.json", note, elf.SHF_COMPRESSED}} {
				s := f.Section(c.name)
				if s == nil {
					t.Fatalf("no section %s", c.name)
				}
				if got, err := s.Data(); err != nil || !bytes.Equal(got, c.want) || s.Flags != c.flags {
					t.Errorf("%s: %v, %v; its data are right: %t", c.name, s.Flags, err, bytes.Equal(got, c.want))
				}
			}
			if s := f.Section("mod.weights"); s.Offset%64 != 0 || s.Addr%64 != 0 {
				t.Errorf("weights at %#x in the file, %#x in memory", s.Offset, s.Addr)
			}
		})
	}
}

func TestEmbedErrors(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu"})
	broken := func(io.Writer) error { return errors.New("disk on fire") }
	_, err := m.Embed([]Section{{Name: "a", Write: broken}})
	wantError(t, err, "a: disk on fire")
	_, err = m.Embed([]Section{{Name: "a\"b", Write: broken}})
	wantError(t, err, "must be letters")
	_, err = m.Embed([]Section{{Name: "a", Symbol: "b.c", Write: broken}})
	wantError(t, err, "must be letters")
	if n := openMemoryFiles(t); n != 0 {
		t.Errorf("%d files are still open", n)
	}
}
