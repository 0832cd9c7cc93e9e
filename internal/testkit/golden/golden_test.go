package golden

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct{ got, want, text string }{
		{"a\nb\n", "a\nc\n", "line 2:\n  got  b\n  want c"},
		{"a\n", "a\nc\n", "line 2:\n  got  \n  want c"},
		{"a", "a\nc", "line 2: got 1 lines, want 2"},
	} {
		if text := difference([]byte(c.got), []byte(c.want)); text != c.text {
			t.Errorf("difference(%q, %q) = %q, want %q", c.got, c.want, text, c.text)
		}
	}
}

// fake records whether a check failed.
type fake struct {
	testing.TB
	failed bool
}

func (f *fake) Helper()               {}
func (f *fake) Errorf(string, ...any) { f.failed = true }

func TestCheck(t *testing.T) {
	f := &fake{TB: t}
	Check(f, "sample", []byte("one\ntwo\n"))
	if f.failed {
		t.Error("equal bytes were refused")
	}
	if *update {
		return
	}
	Check(f, "sample", []byte("one\nthree\n"))
	if !f.failed {
		t.Error("other bytes were accepted")
	}
}

// TestGrow: a list that is short is an error, and is completed in order with -update.
func TestGrow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(file, []byte("b\nd\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	defer func(old bool) { *update = old }(*update)
	for _, c := range []struct {
		update bool
		lines  []string
		failed bool
		want   string
	}{
		{false, nil, false, "b\nd\n"}, {false, []string{"c"}, true, "b\nd\n"}, {true, []string{"c", "a"}, false, "a\nb\nc\nd\n"}, {true, nil, false, "a\nb\nc\nd\n"},
	} {
		*update = c.update
		f := &fake{TB: t}
		Grow(f, file, c.lines)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f.failed != c.failed || string(got) != c.want {
			t.Errorf("with %q: failed is %t, the list %q", c.lines, f.failed, got)
		}
	}
}
