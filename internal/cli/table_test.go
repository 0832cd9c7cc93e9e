package cli

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever the pieces in which text is written, no line is wider than the terminal, short ones are whole, and long ones
// are their beginning.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		width := 20 + r.IntN(20)
		var text, got strings.Builder
		for range r.IntN(8) {
			for range r.IntN(60) {
				text.WriteRune([]rune("abcde µ€")[r.IntN(8)])
			}
			text.WriteByte('\n')
		}
		c := (&App{Out: &got, Columns: width}).Lines()
		for rest := text.String(); rest != ""; {
			n := 1 + r.IntN(len(rest))
			c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		want, have := strings.Split(text.String(), "\n"), strings.Split(got.String(), "\n")
		if len(want) != len(have) {
			t.Fatalf("%q became %q", text.String(), got.String())
		}
		for i := range want {
			begin, long := strings.CutSuffix(have[i], "…")
			if n := utf8.RuneCountInString(have[i]); n > width || !utf8.ValidString(have[i]) || !strings.HasPrefix(want[i], begin) ||
				long != (utf8.RuneCountInString(want[i]) >= width) {
				t.Fatalf("width %d: %q became %q", width, want[i], have[i])
			}
		}
	}
}
