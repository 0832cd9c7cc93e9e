package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func checkPackage(t *testing.T, path string) { checkContents(t, path, fakeLibrary()) }

func checkContents(t *testing.T, path string, library []byte) {
	t.Helper()
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Manifest.Digests) < 2 {
		t.Errorf("%s: digests %v", path, p.Manifest.Digests)
	}
	p.Manifest.Digests = nil
	if !reflect.DeepEqual(p.Manifest, sampleManifest()) {
		t.Errorf("%s: manifest %+v", path, p.Manifest)
	}
	if !reflect.DeepEqual(p.Params, sampleParams()) {
		t.Errorf("%s: params %+v", path, p.Params)
	}
	if !bytes.Equal(p.Library, library) {
		t.Errorf("%s: another library", path)
	}
	if g, err := p.Graph(); err != nil || len(g.Nodes) != 4 {
		t.Errorf("%s: graph %+v, %v", path, g, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenForms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"net.tar", "without-extension", "net.so"} {
		if err := Write(filepath.Join(dir, name), sampleContents()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"net.tar", "without-extension", "net.so", "net.json", "net.params", "net.lathe.json", "net"} {
		checkPackage(t, filepath.Join(dir, name))
	}
	unpacked := t.TempDir()
	found, err := parseTar(sampleTar(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range found {
		put(t, unpacked, name, b)
	}
	checkPackage(t, unpacked)
	checkPackage(t, filepath.Join(unpacked, "mod.so"))
	os.Remove(filepath.Join(unpacked, "mod.params"))
	_, err = Open(unpacked)
	wantError(t, err, unpacked, "mod.params is missing")
}

// TestOpenForeign opens what users have instead of a package.
func TestOpenForeign(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) *tar.Header { return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 5} }
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(sampleTar(t))
	z.Close()
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"tvm.tar", makeTar(t, file("mod.so"), file("mod.json"), file("mod.params")), "package of Apache TVM (no lathe.json), whose library needs TVM's runtime; recompile the model with lathe compile"},
		{"tvm2.tar", makeTar(t, file("mod.tar"), file("mod.json"), file("mod.params")), "package of Apache TVM"},
		{"vm.tar", makeTar(t, file("lib.so")), "package of Apache TVM"},
		{"mlf.tar", makeTar(t, file("metadata.json"), file("src/relay.txt")), "Model Library Format archive of Apache TVM"},
		{"other.tar", makeTar(t, file("README")), "not a package of lathe"},
		{"gzip.tar", zipped.Bytes(), "compressed with gzip"},
		{"lfs.tar", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "Git LFS pointer"},
		{"page.tar", []byte("\n<!DOCTYPE html>\n<html>"), "HTML page"},
		{"page2.tar", []byte("<HTML><body>404"), "HTML page"},
		{"zip.tar", []byte("PK\x03\x04rest"), "zip archive"},
		{"model.onnx", []byte("\x08\x07\x12\x07pytorch"), "is a model, not a package: compile it first"},
		{"MODEL.TFLITE", []byte("\x1c\x00\x00\x00TFL3"), "is a model, not a package"},
		{"text.tar", []byte("hello"), "neither a tar archive nor a shared library"},
		{"empty.tar", nil, "is empty"},
		{"lone.so", fakeLibrary(), "no NAME.lathe.json"},
	} {
		_, err := Open(put(t, dir, c.name, c.b))
		t.Run(c.name, func(t *testing.T) { wantError(t, err, c.name, c.want) })
	}
	put(t, dir, "lone.json", []byte(tvmGraph))
	_, err := Open(filepath.Join(dir, "lone.so"))
	wantError(t, err, "package of Apache TVM")
	_, err = Open(filepath.Join(dir, "none"))
	wantError(t, err, "no such file")
	_, err = Open("/dev/null")
	wantError(t, err, "not a plain file")
	_, err = Open(t.TempDir())
	wantError(t, err, "no lathe.json inside")
}

// TestOpenParamNames opens a package whose manifest and blob disagree.
func TestOpenParamNames(t *testing.T) {
	dir := t.TempDir()
	so := filepath.Join(dir, "net.so")
	if err := Write(so, sampleContents()); err != nil {
		t.Fatal(err)
	}
	withoutDigests(t, filepath.Join(dir, "net.lathe.json"))
	put(t, dir, "net.params", mustParams(t, sampleParams()[1:]))
	_, err := Open(so)
	wantError(t, err, `parameter "p0" is missing`)
	reversed := sampleParams()
	slices.Reverse(reversed)
	put(t, dir, "net.params", mustParams(t, reversed))
	p, err := Open(so)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Params, sampleParams()) {
		t.Errorf("params %+v", p.Params)
	}
	p.Close()
}

func TestLibraryArch(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		change func(b []byte) []byte
		arch   string
		want   string
	}{
		{func(b []byte) []byte { return b }, "amd64", ""},
		{func(b []byte) []byte { le.PutUint16(b[18:], 183); return b }, "arm64", ""},
		{func(b []byte) []byte { le.PutUint16(b[18:], 9999); return b }, "machine 9999", ""},
		{func(b []byte) []byte { return b[:150] }, "", "truncated: a segment"},
		{func(b []byte) []byte { return b[:100] }, "", "program headers"},
		{func(b []byte) []byte { return b[:20] }, "", "not an ELF"},
		{func(b []byte) []byte { return nil }, "", "is empty"},
		{func(b []byte) []byte { return []byte("version https://git-lfs.github.com/spec/v1") }, "", "Git LFS pointer"},
		{func(b []byte) []byte { b[4] = 1; return b }, "", "program headers"},
		{func(b []byte) []byte { b[5] = 2; return b }, "", "not a little-endian"},
		{func(b []byte) []byte { le.PutUint16(b[16:], 2); return b }, "", "not a shared library"},
		{func(b []byte) []byte { le.PutUint64(b[32:], 1<<63); return b }, "", "program headers"},
		{func(b []byte) []byte { le.PutUint64(b[elf64.header+8:], 1<<64-1); return b }, "", "a segment ends beyond"},
	} {
		arch, err := LibraryArch(c.change(fakeLibrary()))
		if c.want != "" {
			wantError(t, err, "mod.so", c.want)
		} else if arch != c.arch || err != nil {
			t.Errorf("%s, %v; want %s", arch, err, c.arch)
		}
	}
}
