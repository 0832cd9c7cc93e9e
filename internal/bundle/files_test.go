package bundle

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func textFile(suffix, text string) File {
	return File{suffix, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }}
}

// TestWriteBeside: all files are there with their content, or, where one fails, the old ones and nothing else.
func TestWriteBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "net.c")
	check := func(when, source, header string, files int) {
		t.Helper()
		for name, want := range map[string]string{"net.c": source, "net.h": header} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if string(b) != want || (err != nil) != (want == "") {
				t.Errorf("%s: %s holds %q, %v", when, name, b, err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != files {
			t.Errorf("%s: %d files instead of %d: %v", when, len(entries), files, err)
		}
	}
	bad := File{".h", func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return errors.New("broken")
	}}
	if err := WriteFiles(path, &Contents{Files: []File{textFile(".c", "a"), bad}}); err == nil {
		t.Error("an error of a file is lost")
	}
	check("after a failure", "", "", 0)
	if err := WriteFiles(path, &Contents{Files: []File{textFile(".c", "a"), textFile(".h", "b")}}); err != nil {
		t.Fatal(err)
	}
	check("after writing", "a", "b", 2)
	if err := WriteFiles(path, &Contents{Files: []File{textFile(".c", "A"), bad}}); err == nil {
		t.Error("an error of a file is lost")
	}
	check("after a second failure", "a", "b", 2)
	if err := WriteFiles(filepath.Join(dir, "other"), &Contents{Files: []File{textFile(".c", "x"), textFile(".h", "y")}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", "other.h"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
