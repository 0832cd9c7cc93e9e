package golden

import "testing"

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
