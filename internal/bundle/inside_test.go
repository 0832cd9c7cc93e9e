package bundle

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/toolchain"
)

// completeLibrary is a library of the sample package with the other members inside.
func completeLibrary(t testing.TB) []byte {
	t.Helper()
	c := sampleContents()
	var err error
	if c.Manifest.Digests, err = c.Digests(); err != nil {
		t.Fatal(err)
	}
	manifest, err := c.Manifest.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	graph, err := c.Graph.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	section := func(name string, b []byte) toolchain.Section {
		return toolchain.Section{Name: name, Write: func(w io.Writer) error { _, err := w.Write(b); return err }}
	}
	weights := section(ParamsName, mustParams(t, c.Params))
	weights.Loaded, weights.Align = true, Alignment
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Compile("define i32 @lathe_default_run() {\n  ret i32 0\n}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	members, err := m.Embed([]toolchain.Section{weights, section(GraphName, graph), section(ManifestName, manifest)})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := toolchain.Link([]toolchain.Object{run, members}, toolchain.LinkOptions{
		Triple: "x86_64-linux-gnu", Exports: []string{"lathe_default_run"}, Compress: []string{GraphName, ManifestName},
	})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// A complete library is a package alone, under any name, and in a tar without mod.params. What stands beside it is not
// looked at.
func TestCompleteLibrary(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "net.so")
	other := sampleContents()
	other.Manifest.Module = "other"
	if err := Write(old, other); err != nil {
		t.Fatal(err)
	}
	c := sampleContents()
	c.Library, c.Complete = completeLibrary(t), true
	for _, name := range []string{"net.so", "alone.so", "packed.tar"} {
		path := filepath.Join(dir, name)
		if err := Write(path, c); err != nil {
			t.Fatal(err)
		}
		checkContents(t, path, c.Library)
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		from, to := p.Weights()
		if p.Manifest.Module != "default" || !bytes.Equal(p.Library[from:to], mustParams(t, c.Params)) {
			t.Errorf("%s: module %s, weights [%d,%d)", name, p.Manifest.Module, from, to)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := golden.Names(t, dir); got != "alone.so net.json net.lathe.json net.params net.so packed.tar" {
		t.Errorf("files: %s", got)
	}
}

func FuzzLibraryMembers(f *testing.F) {
	lib := completeLibrary(f)
	f.Add(lib)
	f.Add(lib[:len(lib)/2])
	f.Add(fakeLibrary())
	f.Fuzz(func(t *testing.T, b []byte) {
		inside, weights, err := libraryMembers(b)
		if err != nil || inside == nil {
			return
		}
		if !bytes.Equal(b[weights[0]:weights[1]], inside[ParamsName]) {
			t.Errorf("weights [%d,%d) are not mod.params", weights[0], weights[1])
		}
		_ = new(Package).parse(map[string][]byte{LibraryName: b})
	})
}

func TestStaticHeader(t *testing.T) {
	c := sampleContents()
	c.Manifest.Inputs[0].Name = "ein \"Bild\"\\ ü??/"
	c.Manifest.Source.File = "a*/b.onnx"
	golden.Check(t, "static-header", c.header())
	c.Complete = true
	golden.Check(t, "static-header-complete", c.header())
	wantError(t, WriteStatic(filepath.Join(t.TempDir(), "x.tar"), c), "x.tar", "no objects")
}

// A static library is no package to run, and the error says what it is.
func TestStaticIsNoPackage(t *testing.T) {
	c := sampleContents()
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		o, err := m.Compile(fmt.Sprintf("define i32 @f%d() {\n  ret i32 0\n}\n", i), "")
		if err != nil {
			t.Fatal(err)
		}
		c.Objects = append(c.Objects, o)
	}
	path, again := filepath.Join(t.TempDir(), "x.tar"), filepath.Join(t.TempDir(), "y.tar")
	for _, p := range []string{path, again} {
		if err := WriteStatic(p, c); err != nil {
			t.Fatal(err)
		}
	}
	a, errA := os.ReadFile(path)
	b, errB := os.ReadFile(again)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("equal contents give other bytes: %v, %v", errA, errB)
	}
	_, err = Open(path)
	wantError(t, err, "static library for C programs")
	p, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Manifest.Module != "default" || !bytes.HasPrefix(p.Library, []byte(arMagic)) {
		t.Errorf("module %q, library %.8q", p.Manifest.Module, p.Library)
	}
}
