package onnx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// wireExternal builds a model whose initializer w of two floats lies where the keys and values of at say.
func wireExternal(at ...string) pb {
	w := wireTensor("w", Float, []int64{2}, pb{}.int(14, 1))
	for i := 0; i < len(at); i += 2 {
		w = w.sub(13, pb{}.str(1, at[i]).str(2, at[i+1]))
	}
	return wireModel(wireGraph("x", "y", wireNodes("Add x w -> y"), pb{}.sub(5, w)))
}

func writeFile(t *testing.T, data []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, []byte("0123456789abcdef"), dir, "sub", "w.bin")
	for _, c := range []struct {
		at   []string
		want string
	}{
		{[]string{"location", "sub/w.bin"}, "01234567"},
		{[]string{"location", "sub/w.bin", "offset", "8"}, "89abcdef"},
		{[]string{"location", "sub/../sub/w.bin", "offset", "3", "length", "8", "checksum", "?"}, "3456789a"},
	} {
		writeFile(t, wireExternal(c.at...), dir, "m.onnx")
		m, err := ReadFile(filepath.Join(dir, "m.onnx"))
		if err != nil {
			t.Errorf("%v: %v", c.at, err)
			continue
		}
		if got := m.Graph.Initializers[0].Data; string(got) != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExternalDataErrors(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "model")
	writeFile(t, make([]byte, 16), dir, "secret")
	writeFile(t, make([]byte, 16), inside, "w")
	writeFile(t, nil, inside, "empty")
	for name, to := range map[string]string{"out": "../secret", "absolute": filepath.Join(dir, "secret"), "folder": "..", "good": "w"} {
		if err := os.Symlink(to, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(wireExternal("location", "good"), inside); err != nil {
		t.Errorf("a link inside the folder: %v", err)
	}
	for _, c := range []struct {
		want string
		at   []string
	}{
		{"leads out of the model's folder", []string{"location", "../secret"}},
		{"leads out of the model's folder", []string{"location", filepath.Join(dir, "secret")}},
		{"leads out of the model's folder", []string{"location", "a/../../secret"}},
		{"path escapes from parent", []string{"location", "out"}},
		{"path escapes from parent", []string{"location", "absolute"}},
		{"path escapes from parent", []string{"location", "folder/secret"}},
		{`external data file "gone": no such file`, []string{"location", "gone"}},
		{"not a regular file", []string{"location", "pipe"}},
		{"not a regular file", []string{"location", "."}},
		{"needs 8 bytes from 0 on, the file has 0", []string{"location", "empty"}},
		{"needs 8 bytes from 9 on, the file has 16", []string{"location", "w", "offset", "9"}},
		{"needs 8 bytes from 9223372036854775807 on", []string{"location", "w", "offset", "9223372036854775807"}},
		{`offset "9223372036854775808" is not a size`, []string{"location", "w", "offset", "9223372036854775808"}},
		{`offset "-1" is not a size`, []string{"location", "w", "offset", "-1"}},
		{"takes 8 bytes, external data has 16", []string{"location", "w", "length", "16"}},
		{`length "x" is not a size`, []string{"location", "w", "length", "x"}},
		{"without a location", []string{"offset", "0"}},
	} {
		t.Run(fmt.Sprint(c.at), func(t *testing.T) {
			_, err := Read(wireExternal(c.at...), inside)
			wantError(t, err, c.want)
			if err != nil && bytes.Count([]byte(err.Error()), []byte("\n")) > 0 {
				t.Errorf("%q is more than one line", err)
			}
		})
	}
	_, err := Read(wireExternal("location", "w"), "")
	wantError(t, err, "read from a folder")
	huge := wireTensor("w", Float, []int64{1 << 40}, pb{}.int(14, 1), pb{}.sub(13, pb{}.str(1, "location").str(2, "w")))
	_, err = Read(wireModel(wireGraph("", "", pb{}.sub(5, huge))), inside)
	wantError(t, err, "needs 4398046511104 bytes")
}

// TestExternalOver2GB reads an initializer that no protobuf message could hold, from a file without blocks on disk.
func TestExternalOver2GB(t *testing.T) {
	dir := t.TempDir()
	const size = 3 << 30
	f, err := os.Create(filepath.Join(dir, "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size + 8); err != nil {
		t.Skipf("no room for a sparse file: %v", err)
	}
	if _, err := f.WriteAt([]byte{42}, size+7); err != nil {
		t.Fatal(err)
	}
	at := pb{}.int(14, 1).sub(13, pb{}.str(1, "location").str(2, "w")).sub(13, pb{}.str(1, "offset").str(2, "8"))
	m, err := Read(wireModel(wireGraph("", "w", pb{}.sub(5, wireTensor("w", Uint8, []int64{size}, at)))), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if w := m.Graph.Initializers[0]; len(w.Data) != size || w.Data[size-1] != 42 {
		t.Errorf("%d bytes, want %d", len(w.Data), size)
	}
}
