package bundle

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"
)

// sampleTar is a package as Write writes it.
func sampleTar(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := Write(path, sampleContents()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// makeTar writes any members.
func makeTar(t testing.TB, headers ...*tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTar(t *testing.T) {
	b := sampleTar(t)
	found, err := parseTar(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 4 || !bytes.HasPrefix(found[LibraryName], fakeLibrary()) {
		t.Errorf("%d members", len(found))
	}
	blob := found[ParamsName]
	if off := uintptr(unsafe.Pointer(&blob[0])) - uintptr(unsafe.Pointer(&b[0])); off%Alignment != 0 || int(off) >= len(b) {
		t.Errorf("mod.params at offset %d", off)
	}
	r := tar.NewReader(bytes.NewReader(b))
	for _, name := range members {
		h, err := r.Next()
		if err != nil || h.Name != name || h.Mode != 0o644 || h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("member %+v, %v; want %s", h, err, name)
		}
	}
	if !bytes.Equal(b, sampleTar(t)) {
		t.Error("equal contents give different bytes")
	}
}

func TestTarTruncated(t *testing.T) {
	b := sampleTar(t)
	// What follows the data of the last member is padding, which may be missing.
	end := bytes.LastIndexByte(b, '}')
	for n := 512; n < end; n += 7 {
		found, err := parseTar(b[:n])
		if err == nil {
			err = new(Package).complete(found)
		}
		if err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(b))
		}
	}
	_, err := parseTar(b[:700])
	wantError(t, err, "truncated", "copy it again")
}

func TestTarErrors(t *testing.T) {
	file := func(name string) *tar.Header { return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 3} }
	many := make([]*tar.Header, maxTarMembers+1)
	for i := range many {
		many[i] = file(fmt.Sprint(i))
	}
	for _, c := range []struct {
		want    string
		headers []*tar.Header
	}{
		{"mod.so twice", []*tar.Header{file("mod.so"), file("mod.json"), file("mod.so")}},
		{"mod.so twice", []*tar.Header{file("mod.so"), file("./mod.so")}},
		{`suspicious path "../mod.so"`, []*tar.Header{file("../mod.so")}},
		{`suspicious path "/etc/passwd"`, []*tar.Header{file("/etc/passwd")}},
		{`suspicious path "a/../../mod.so"`, []*tar.Header{file("a/../../mod.so")}},
		{"not a plain file", []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "mod.so", Linkname: "/etc/passwd"}}},
		{"not a plain file", []*tar.Header{{Typeflag: tar.TypeLink, Name: "mod.so", Linkname: "x"}}},
		{"not a plain file", []*tar.Header{{Typeflag: tar.TypeFifo, Name: "mod.so"}}},
		{"more than 4096 members", many},
	} {
		_, err := parseTar(makeTar(t, c.headers...))
		wantError(t, err, c.want)
	}
	// A header that claims more than there is, up to sizes that overflow.
	for _, size := range []int64{1 << 20, 1 << 40, 1<<63 - 1} {
		var b bytes.Buffer
		tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "mod.params", Size: size})
		_, err := parseTar(append(b.Bytes(), make([]byte, 100)...))
		wantError(t, err, "truncated")
	}
	noise := sampleTar(t)
	noise[150]++ // checksum of the first header
	_, err := parseTar(noise)
	wantError(t, err, "damaged tar archive")
}

// TestRepacked accepts what "tar cf x.tar ." makes of an unpacked package: a directory entry, "./" and another order.
func TestRepacked(t *testing.T) {
	b := makeTar(t, &tar.Header{Typeflag: tar.TypeDir, Name: "./"}, &tar.Header{Typeflag: tar.TypeReg, Name: "./lathe.json", Size: 9},
		&tar.Header{Typeflag: tar.TypeReg, Name: "./mod.so", Size: 700})
	found, err := parseTar(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(found["lathe.json"]) != 9 || len(found["mod.so"]) != 700 {
		t.Errorf("%v", found)
	}
}

func FuzzTar(f *testing.F) {
	f.Add(sampleTar(f))
	f.Add(makeTar(f, &tar.Header{Typeflag: tar.TypeDir, Name: "./"}, &tar.Header{Typeflag: tar.TypeReg, Name: "./mod.so", Size: 7}))
	f.Add(makeTar(f, &tar.Header{Typeflag: tar.TypeReg, Name: "mod.so", Size: 7, PAXRecords: map[string]string{"lathe.x": "y"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseTar(b)
		if err != nil {
			return
		}
		r := tar.NewReader(bytes.NewReader(b))
		for h, err := r.Next(); err == nil; h, err = r.Next() {
			if h.Typeflag != tar.TypeReg {
				continue
			}
			var want bytes.Buffer
			if _, err := want.ReadFrom(r); err != nil {
				t.Fatal(err)
			}
			name, _ := memberName(h)
			if !slices.Equal(found[name], want.Bytes()) {
				t.Errorf("%s: %d bytes, the reader of archive/tar has %d", name, len(found[name]), want.Len())
			}
		}
		p := new(Package)
		_ = p.parseAny(found)
	})
}
