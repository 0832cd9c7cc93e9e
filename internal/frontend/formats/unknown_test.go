package formats

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/frontend"
)

// TestUnknown writes what no format knows under every name that a format has for its files and for its weights: the error
// says what the file is, and speaks of the format that the name is of and of no other.
func TestUnknown(t *testing.T) {
	contents := []struct{ name, data, want string }{
		{"empty", "", "the file is empty"},
		{"text", "hello, world\n", "it is a text file"},
		{"page", "<!DOCTYPE html><html>", "it is an HTML page"},
		{"pointer", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
		{"zeros", string(make([]byte, 5000)), "it consists of zeros"},
		{"picture", "\x89PNG\r\n\x1a\n", "it is a PNG picture"},
	}
	check := func(t *testing.T, name string, data []byte, wants ...string) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if f, err := Of(path); f != nil || err != nil {
			t.Fatalf("%s is known as %v (%v)", name, f, err)
		}
		err := Unknown(path)
		for _, want := range append(wants, path) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q is no single line", name, err)
		}
	}
	for _, c := range contents {
		check(t, "net", []byte(c.data), "not a model of any format", c.want)
		for _, f := range Table {
			for _, ext := range f.Extensions {
				check(t, "net"+strings.ToUpper(ext), []byte(c.data), "not a model of the format", f.Name, c.want)
			}
		}
	}
	for _, f := range Table {
		for _, end := range f.Companions {
			check(t, "net"+end, nil, "the file is empty")
			check(t, "net"+end, bytes.Repeat([]byte{0xfe, 0x7f}, 100), "weights of the format "+f.Name, f.Extensions[0], "--weights")
		}
	}
	dir := t.TempDir()
	if err := Unknown(dir); !strings.Contains(err.Error(), "it is a folder") {
		t.Error(err)
	}
	if err := Unknown(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
}

// TestOwnWeights gives weights to formats that keep them in the model's own file.
func TestOwnWeights(t *testing.T) {
	for _, f := range Table {
		if f.ReadWith != nil {
			continue
		}
		if _, err := f.Open("net", frontend.Weights{Path: "w.bin"}); err == nil || !strings.Contains(err.Error(), "files of the format "+f.Name+" hold their own") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
