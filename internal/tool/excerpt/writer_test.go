package excerpt

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever the pieces in which text is written, what comes out is the whole text, escaped once.
func TestWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	parts := []string{"plain text\n", "\ttab", "größe 日本語 😀", "\x1b[31m", "\u202e", "\xff", "\xe2\x80", "\x00", strings.Repeat("n", 5000), "\r"}
	for range 500 {
		var text, got strings.Builder
		for range r.IntN(9) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		w := &Writer{W: &got}
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+r.IntN(6))
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := escaped(text.String()); got.String() != want {
			t.Fatalf("%q became %q, want %q", text.String(), got.String(), want)
		}
	}
}
