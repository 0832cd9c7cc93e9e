package cli

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"lathe/internal/tool/excerpt"
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

// What JSON says is what was given, in characters that a terminal shows.
func TestJSONText(t *testing.T) {
	for _, s := range []string{"plain é 日本語", "<a>&", "\x1b[2J\x7f\u009b", "\u202e\u2066\ufeff", "\U000e0001😀", "tab\tline\n\u2028"} {
		var b strings.Builder
		if err := JSON(&b, map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back[s] != s || len(back) != 1 {
			t.Errorf("%q became %s, which is %q, %v", s, b.String(), back, err)
		}
		if at := strings.IndexFunc(b.String(), excerpt.Hidden); at >= 0 {
			t.Errorf("%q became %q", s, b.String())
		}
	}
}
