package evaluate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGridBrackets reads shapes as values: commas within brackets belong to them, those behind a bracket that nothing closes
// separate.
func TestGridBrackets(t *testing.T) {
	for text, want := range map[string][]string{
		`input-shapes=data:[1,3,32,32]`:                    {"data:[1,3,32,32]"},
		`input-shapes=a:[1,2] b:[3,4],a:[5,6] b:[7,8]`:     {"a:[1,2] b:[3,4]", "a:[5,6] b:[7,8]"},
		`input-shapes="a:[1,2],b:[3,4]",a:[5,6]; threads=`: {"a:[1,2],b:[3,4]", "a:[5,6]"},
		`input-shapes=a:[1,2`:                              {"a:[1", "2"},
		`input-shapes=],[,],x`:                             {"]", "[,]", "x"},
	} {
		axes, err := ParseGrid(text)
		if err != nil || !slices.Equal(axes[0].Values, want) {
			t.Errorf("%s: %q, %v", text, axes, err)
		}
	}
}

// TestFileSize counts the files of a folder at every depth, as a SavedModel has its variables.
func TestFileSize(t *testing.T) {
	dir, want := t.TempDir(), int64(0)
	for i, name := range []string{"saved_model.pb", "variables/variables.index", "assets/a/b/words.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 1<<(4*i)), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := fileSize(path); got != 1<<(4*i) {
			t.Errorf("%s: %d", name, got)
		}
		want += 1 << (4 * i)
	}
	if got := fileSize(dir); got != want {
		t.Errorf("folder of %d bytes instead of %d", got, want)
	}
	if got := fileSize(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("nothing has %d bytes", got)
	}
}
