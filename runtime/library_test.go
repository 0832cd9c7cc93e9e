package runtime

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lathe/internal/bundle"
)

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*bundle.Contents)
		want   []string
	}{
		{"architecture", func(c *bundle.Contents) {
			c.Library = slices.Clone(c.Library)
			binary.LittleEndian.PutUint16(c.Library[18:], 22)
			c.Manifest.Target.String = "llvm -mtriple=s390x-linux-gnu"
		}, []string{"machine 22", "llvm -mtriple=s390x-linux-gnu", "recompile"}},
		{"feature", func(c *bundle.Contents) { c.Manifest.Target.Features = []string{"warp-drive"} }, []string{"warp-drive", "recompile"}},
		{"symbol", func(c *bundle.Contents) { c.Manifest.Module = "other" }, []string{"mod.so", "lathe_other_run"}},
		{"memory", func(c *bundle.Contents) { c.Manifest.Workspace = 1 << 46 }, nil},
	} {
		m, err := Open(writeFixture(t, c.change))
		if c.want == nil {
			if err == nil {
				m.Close()
				continue // the kernel promises memory it does not have
			}
			c.want = []string{"no memory"}
		}
		wantError(t, err, append(c.want, "fixture.tar")...)
	}
	_, err := Open(filepath.Join(t.TempDir(), "none.tar"))
	wantError(t, err, "none.tar", "no such file")
}

// TestUnalignedParams puts a blob without padding, as TVM writes it, into a package.
func TestUnalignedParams(t *testing.T) {
	dir := t.TempDir()
	c := fixture(t)
	so := filepath.Join(dir, "x.so")
	if err := bundle.Write(so, c); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x.params")
	blob, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The parameter's name grows by one byte, and all data moves.
	i := bytes.Index(blob, []byte("__pad.0"))
	blob = slices.Insert(blob, i+7, 'x')
	blob[i-8]++
	if err := os.WriteFile(file, blob, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Open(so)
	wantError(t, err, "mod.params is damaged")
	about := filepath.Join(dir, "x.lathe.json")
	text, err := os.ReadFile(about)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(about, bytes.Replace(text, []byte(`"digests"`), []byte(`"none"`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Open(so)
	wantError(t, err, `"scale"`, "not aligned to 64")
}

// TestWithCheck opens packages whose weights are too many to be looked at on opening.
func TestWithCheck(t *testing.T) {
	so := filepath.Join(t.TempDir(), "x.so")
	c := fixture(t)
	c.Params = append(c.Params, bundle.Param{Name: "many", DType: "uint8", Shape: []int{bundle.CheckedAtOnce}, Data: make([]byte, bundle.CheckedAtOnce)})
	if err := bundle.Write(so, c); err != nil {
		t.Fatal(err)
	}
	params := filepath.Join(filepath.Dir(so), "x.params")
	for _, damage := range []bool{false, true} {
		m, err := Open(so, WithCheck())
		if damage {
			wantError(t, err, "mod.params is damaged")
		} else if err != nil {
			t.Fatal(err)
		} else {
			m.Close()
		}
		b, err := os.ReadFile(params)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-99] ^= 1
		if err := os.WriteFile(params, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Open(so)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestForms runs the package as a tar, as a triple and as a directory.
func TestForms(t *testing.T) {
	dir := t.TempDir()
	c := fixture(t)
	so := filepath.Join(dir, "net.so")
	if err := bundle.Write(so, c); err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(dir, "unpacked")
	if err := os.Mkdir(unpacked, 0o777); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"net.so": "mod.so", "net.json": "mod.json", "net.params": "mod.params", "net.lathe.json": "lathe.json"} {
		if err := os.Link(filepath.Join(dir, from), filepath.Join(unpacked, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{writeFixture(t, nil), so, unpacked} {
		m, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		x := setFixture(t, m, 1, 0)
		if err := m.Run(); err != nil {
			t.Fatal(err)
		}
		checkFixture(t, m, x)
		m.Close()
	}
}
