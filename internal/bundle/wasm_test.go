package bundle

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linked is a module as the linker leaves it: a memory, and data if there is some.
func linked(data string) []byte {
	b := []byte(wasmHeader + "\x05\x03\x01\x00\x02")
	if data != "" {
		body := append([]byte{1, 0, 0x41, 0, 0x0b, byte(len(data))}, data...)
		b = append(append(b, wasmData, byte(len(body))), body...)
	}
	return append(b, "\x00\x04\x03foo"...)
}

func wasmContents(data string) *Contents {
	c := sampleContents()
	c.Library = linked(data)
	return c
}

// Everything has a place of its own, aligned, in the order stack, context, constants, the rest.
func TestWasmLayout(t *testing.T) {
	m, params := sampleManifest(), sampleParams()
	l, err := LayOutWasm(m, params)
	if err != nil {
		t.Fatal(err)
	}
	type region struct{ start, size int }
	at := []region{{0, WasmStack}, {l.Context, ContextOf(4).Size}, {l.tables, 4 * 7}, {l.Symbols, 8}}
	for i, p := range params {
		at = append(at, region{l.params[i], len(p.Data)})
	}
	at = append(at, region{l.Inputs[0], 12}, region{l.Outputs[0], 56}, region{l.workspace, 4096}, region{l.scratch, 128})
	for i, r := range at {
		if r.start%Alignment != 0 || i > 0 && r.start < at[i-1].start+at[i-1].size {
			t.Errorf("region %d is %+v, after %+v", i, r, at[max(i-1, 0)])
		}
	}
	if last := at[len(at)-1]; l.Bytes < last.start+last.size {
		t.Errorf("the code's data begins at %d", l.Bytes)
	}
	c := l.context(m)
	for i, want := range slices.Concat(l.Inputs, l.Outputs, l.params) {
		if got := binary.LittleEndian.Uint32(c[l.tables-l.Context+4*i:]); int(got) != want {
			t.Errorf("pointer %d is %d, want %d", i, got, want)
		}
	}
	m.Workspace = 1 << 32
	if _, err := LayOutWasm(m, params); err == nil || !strings.Contains(err.Error(), "4096 MB") {
		t.Errorf("more memory than there is: %v", err)
	}
}

func TestWasmModule(t *testing.T) {
	for _, data := range []string{"", "table of the code"} {
		c := wasmContents(data)
		pieces, err := c.wasmPieces()
		if err != nil {
			t.Fatal(err)
		}
		module := bytes.Join(pieces, nil)
		parts, err := wasmParts(module)
		if err != nil {
			t.Fatal(err)
		}
		var ids []byte
		for _, p := range parts {
			ids = append(ids, p.id)
		}
		if want := []byte{5, wasmData, wasmCustom, wasmCustom, wasmCustom}; !bytes.Equal(ids, want) {
			t.Errorf("sections %v, want %v", ids, want)
		}
		for _, p := range c.Params {
			if !bytes.Contains(parts[1].body, p.Data) {
				t.Errorf("%s is not in the data", p.Name)
			}
		}
		if !bytes.Contains(parts[1].body, []byte(data)) {
			t.Error("the code's data is lost")
		}
		m, err := wasmManifest(module)
		if err != nil || m.Module != "default" || len(m.Steps) != 1 || m.Source != c.Manifest.Source {
			t.Errorf("manifest %+v, %v", m, err)
		}
	}
}

func TestSignedVarint(t *testing.T) {
	for v, want := range map[int64]string{0: "\x00", 63: "\x3f", 64: "\xc0\x00", 65536: "\x80\x80\x04", -1: "\x7f", -65: "\xbf\x7f", -1 << 31: "\x80\x80\x80\x80\x78"} {
		if got := string(signedVarint(v)); got != want {
			t.Errorf("%d is % x, want % x", v, got, want)
		}
	}
}

func TestWriteWasm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's.wasm")
	if err := WriteWasm(path, wasmContents("x")); err != nil {
		t.Fatal(err)
	}
	loader, err := os.ReadFile(strings.TrimSuffix(path, ".wasm") + ".mjs")
	if err != nil || !strings.Contains(string(loader), "new URL('./it%27s.wasm', import.meta.url)") || strings.Contains(string(loader), "NAME") {
		t.Errorf("the loader does not name its module: %v", err)
	}
	if len(loader) > 10<<10 {
		t.Errorf("the loader has %d bytes", len(loader))
	}
	if _, err := os.Stat(strings.TrimSuffix(path, ".wasm") + ".d.mts"); err != nil {
		t.Error(err)
	}
	p, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Manifest.Module != "default" || len(p.Library) == 0 {
		t.Errorf("inspected %+v", p.Manifest)
	}
	_, err = Open(path)
	wantError(t, err, "is a WebAssembly module", "loader")
	wantError(t, WriteWasm(filepath.Join(t.TempDir(), "net.tar"), wasmContents("")), "must end in .wasm")
	bad := wasmContents("")
	bad.Library = []byte("\x7fELF")
	wantError(t, WriteWasm(path, bad), "is not a WebAssembly module")
}

func TestInspectWasmErrors(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"empty":   {"", "is not a WebAssembly module"},
		"foreign": {string(linked("")), "not one that Lathe wrote"},
		"short":   {wasmHeader + "\x05\x7f", "ends beyond the file"},
		"json":    {wasmHeader + "\x00\x08\x05lathe{}", "package format 0"},
	} {
		path := filepath.Join(dir, name+".wasm")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Inspect(path)
		wantError(t, err, path, c.want)
	}
}

func FuzzWasmManifest(f *testing.F) {
	pieces, err := wasmContents("data").wasmPieces()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join(pieces, nil))
	f.Add(linked(""))
	f.Add([]byte(wasmHeader + "\x00\x08\x05lathe{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wasmManifest(b)
		if err != nil {
			return
		}
		c := &Contents{Manifest: m, Library: b, Graph: sampleGraph()}
		if pieces, err := c.wasmPieces(); err == nil {
			if _, err := wasmManifest(bytes.Join(pieces, nil)); err != nil {
				t.Errorf("what was written is not read: %v", err)
			}
		}
	})
}
