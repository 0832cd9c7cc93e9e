package excerpt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestMessage: whatever a message holds, what is left is short, is valid text, has its beginning and its end, and does
// nothing to a terminal. Usual messages stay as they are.
func TestMessage(t *testing.T) {
	for _, s := range []string{"", "node \"conv1\" (Conv): the kernel is larger than its operand", "a\nb\tc", "größe 日本語"} {
		if got := Message(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		var b strings.Builder
		for range r.IntN(40) {
			switch r.IntN(4) {
			case 0:
				b.WriteString(strings.Repeat("n", r.IntN(20_000)))
			case 1:
				for range r.IntN(300) {
					b.WriteByte(byte(r.IntN(256)))
				}
			case 2:
				b.WriteString(strings.Repeat("1 ", r.IntN(2000)))
			default:
				b.WriteRune(rune(r.IntN(0x3000)))
			}
		}
		s := "first " + b.String() + " last"
		got := Message(s)
		if len(got) > MaxMessage+40 || !utf8.ValidString(got) || !strings.HasPrefix(got, "first") || !strings.HasSuffix(got, "last") {
			t.Fatalf("%d bytes became %d: %.100q ... valid %t", len(s), len(got), got, utf8.ValidString(got))
		}
		for _, c := range got {
			if unicode.IsControl(c) && c != '\n' && c != '\t' {
				t.Fatalf("control character %q in %q", c, got)
			}
		}
	}
}

func TestError(t *testing.T) {
	cause := errors.New("cause")
	if err := Error(fmt.Errorf("short: %w", cause)); err.Error() != "short: cause" || !errors.Is(err, cause) {
		t.Error(err)
	}
	long := Error(fmt.Errorf("%q: %w", strings.Repeat("n", 1<<20), cause))
	if len(long.Error()) > 300 || !errors.Is(long, cause) || !strings.HasSuffix(long.Error(), ": cause") {
		t.Error(long)
	}
	if Error(nil) != nil {
		t.Error("nil")
	}
}
