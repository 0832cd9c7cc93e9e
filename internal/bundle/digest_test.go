package bundle

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/toolchain"
)

// withoutDigests takes the digests out of a manifest, as packages of old were.
func withoutDigests(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "digests")
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A form is a package on disk, and the bytes of one of its files of which none may change unnoticed.
type form struct {
	name, open, file string
	from, to         int
}

// forms writes every form of a package to dir.
func forms(t *testing.T, dir string) []form {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := func(name, open, file string) form { return form{name, open, file, 0, len(read(file))} }
	write := func(path string, f func(string, *Contents) error, c *Contents) {
		if err := f(path, c); err != nil {
			t.Fatal(err)
		}
	}
	write(in("net.tar"), Write, sampleContents())
	write(in("net.so"), Write, sampleContents())
	complete := sampleContents()
	complete.Library, complete.Complete = completeLibrary(t), true
	write(in("alone.so"), Write, complete)
	write(in("packed.tar"), Write, complete)
	static := sampleContents()
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu"})
	if err != nil {
		t.Fatal(err)
	}
	object, err := m.Compile("define i32 @f() {\n  ret i32 0\n}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	static.Objects = [][]byte{object}
	write(in("static.tar"), WriteStatic, static)
	write(in("net.wasm"), WriteWasm, wasmContents("x"))

	list := []form{
		whole("triple, code", in("net.so"), in("net.so")), whole("triple, weights", in("net.so"), in("net.params")),
		whole("triple, graph", in("net.so"), in("net.json")), whole("complete", in("alone.so"), in("alone.so")), whole("wasm", in("net.wasm"), in("net.wasm")),
	}
	for _, tar := range []string{"net.tar", "packed.tar", "static.tar"} {
		b := read(in(tar))
		found, err := parseTar(b)
		if err != nil {
			t.Fatal(err)
		}
		for name, member := range found {
			if name == ManifestName || strings.HasPrefix(name, "lathe") { // what is read as text, and sources
				continue
			}
			if tar == "packed.tar" && name != LibraryName { // the library holds what is used
				continue
			}
			at := bytes.Index(b, member)
			list = append(list, form{tar + ", " + name, in(tar), in(tar), at, at + len(member)})
		}
	}
	unpacked := in("unpacked")
	if err := os.Mkdir(unpacked, 0o777); err != nil {
		t.Fatal(err)
	}
	found, err := parseTar(read(in("net.tar")))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range found {
		put(t, unpacked, name, b)
	}
	return append(list, whole("folder, code", unpacked, filepath.Join(unpacked, "mod.so")), whole("folder, weights", unpacked, filepath.Join(unpacked, "mod.params")))
}

// noticed opens and checks a package as lathe inspect --check does.
func noticed(path string) error {
	p, err := Inspect(path)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Check()
}

// TestDamageIsNoticed changes bytes all over every form of a package, and runs of bytes: one bit of a byte, zeros as of a hole in
// a file, and random ones. Opening or checking must say so in one line; small packages on opening already.
func TestDamageIsNoticed(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, f := range forms(t, t.TempDir()) {
		t.Run(f.name, func(t *testing.T) {
			if err := noticed(f.open); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(f.file)
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.OpenFile(f.file, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			try := func(what string, at int, bad []byte) {
				t.Helper()
				c := slices.Clone(b)
				copy(c[at:f.to], bad)
				if bytes.Equal(b, c) {
					return
				}
				if _, err := file.WriteAt(c[at:min(at+len(bad), f.to)], int64(at)); err != nil {
					t.Fatal(err)
				}
				defer file.WriteAt(b[at:min(at+len(bad), f.to)], int64(at))
				if err := noticed(f.open); err == nil {
					t.Errorf("%s at %d of [%d,%d) is not noticed", what, at, f.from, f.to)
				} else if strings.Contains(err.Error(), "\n") {
					t.Errorf("%s at %d: several lines: %v", what, at, err)
				}
			}
			step := 1 + (f.to-f.from)/2000
			for at := f.from; at < f.to; at++ {
				if at%step != 0 && at < f.to-64 { // the last ones are a seal
					continue
				}
				try("a bit", at, []byte{b[at] ^ 1<<r.IntN(8)})
			}
			for range 200 {
				at := f.from + r.IntN(f.to-f.from)
				bad := make([]byte, 1+r.IntN(600))
				try("a hole", at, bad)
				for i := range bad {
					bad[i] = byte(r.Uint32())
				}
				try("noise", at, bad)
			}
			if err := noticed(f.open); err != nil {
				t.Error(err)
			}
		})
	}
}

// Damage of code and of few weights is noticed by opening alone, that of many by checking.
func TestWhenDamageIsNoticed(t *testing.T) {
	dir := t.TempDir()
	so := filepath.Join(dir, "net.so")
	for _, size := range []int{CheckedAtOnce / 2, CheckedAtOnce} {
		c := sampleContents()
		c.Manifest.Params, c.Params = nil, []Param{{Name: "w", DType: "uint8", Shape: []int{size}, Data: make([]byte, size)}}
		if err := Write(so, c); err != nil {
			t.Fatal(err)
		}
		blob := mustParams(t, c.Params)
		blob[len(blob)-7] ^= 16
		put(t, dir, "net.params", blob)
		p, err := Open(so)
		if size < CheckedAtOnce {
			wantError(t, err, "net.so", "mod.params is damaged", "recompile")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, p.Check(), "net.so", "mod.params is damaged")
		p.Close()
	}
}

// A package without digests opens; nothing can be said about it.
func TestNoDigests(t *testing.T) {
	dir := t.TempDir()
	so := filepath.Join(dir, "net.so")
	if err := Write(so, sampleContents()); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "net.so", fakeLibrary())
	_, err := Open(so)
	wantError(t, err, "net.so has lost the digest", "copy it again")
	withoutDigests(t, filepath.Join(dir, "net.lathe.json"))
	p, err := Open(so)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	wantError(t, p.Check(), "holds no digests", "recompile")
}

// A manifest of another module, or with other sizes, is not the library's.
func TestCheckManifest(t *testing.T) {
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu"})
	if err != nil {
		t.Fatal(err)
	}
	c := sampleContents()
	want := c.Manifest.Digest()
	var text strings.Builder
	for _, b := range want {
		text.WriteString("\\" + string("0123456789ABCDEF"[b>>4]) + string("0123456789ABCDEF"[b&15]))
	}
	object, err := m.Compile("@lathe_default_manifest = constant [32 x i8] c\""+text.String()+"\"\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Library, err = toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Triple: "x86_64-linux-gnu", Exports: []string{"lathe_default_manifest"}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.tar")
	for _, workspace := range []int{4096, 8192} {
		c.Manifest.Workspace = workspace
		if err := Write(path, c); err != nil {
			t.Fatal(err)
		}
		if err := noticed(path); workspace == 4096 && err != nil {
			t.Error(err)
		} else if workspace != 4096 {
			wantError(t, err, "lathe.json was changed")
		}
	}
}
