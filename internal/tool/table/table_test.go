package table

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// Whatever cells hold, a row is one line, as short as its cells are few, and does nothing to a terminal.
func TestRow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	bad := []string{"\x1b[2J", "\x1b]0;title\a", "\n", "\r", "\t", "\x00", "\u202e", "\u200b", "\x9b1m", "\xff", strings.Repeat("n", 1<<20), strings.Repeat("1 ", 1<<16), "plain"}
	for range 200 {
		var got strings.Builder
		table := New(&got)
		if r.IntN(2) == 0 {
			table = NewRight(&got)
		}
		rows := 1 + r.IntN(4)
		for range rows {
			cells := make([]any, 3)
			for i := range cells {
				cells[i] = "a" + bad[r.IntN(len(bad))] + bad[r.IntN(len(bad))]
			}
			table.Row(cells...)
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		if len(lines) != rows {
			t.Fatalf("%d rows are %d lines", rows, len(lines))
		}
		for _, line := range lines {
			if len(line) > 3*5000 || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("a line of %d bytes: %.200q", len(line), line)
			}
		}
	}
}

func TestAlign(t *testing.T) {
	var b strings.Builder
	left := New(&b)
	left.Row("a", "b")
	left.Row("long", 1.5)
	left.Row()
	left.Rowf("x", "%d of %d", 1, 2)
	right := NewRight(&b)
	right.Row("a", "b", "")
	right.Row("long", 10, "")
	if err := errors.Join(left.Flush(), right.Flush()); err != nil {
		t.Fatal(err)
	}
	if want := "a     b\nlong  1.5\n\nx  1 of 2\n     a   b\n  long  10\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// A row that is lost is an error, whenever it was written.
func TestLost(t *testing.T) {
	table := New(full{})
	for range 3 {
		table.Row("a", "b")
		table.Row()
	}
	if err := table.Flush(); err == nil {
		t.Error("no error")
	}
}
