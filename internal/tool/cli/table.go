package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/table"
)

// columns is the width of the terminal that f is; 0 when it is none. COLUMNS says it where a shell exports it.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return int(size.Col)
}

// Lines is where tables go: lines are cut at the width of the terminal. What goes into a file or a pipe is whole.
func (a *App) Lines() io.Writer {
	if a.Columns < 20 {
		return a.Out
	}
	return &cut{w: a.Out, width: a.Columns}
}

// Table is a table on standard output.
func (a *App) Table() *table.Table { return table.New(a.Lines()) }

// cut ends lines that are wider than width with an ellipsis.
type cut struct {
	w      io.Writer
	width  int
	column int // characters of the line so far
}

func (c *cut) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b))
	for _, x := range b {
		switch {
		case x == '\n':
			c.column = 0
		case x&0xC0 != 0x80: // not the rest of a character
			c.column++
			if c.column == c.width {
				out = append(out, "…"...)
			}
		}
		if c.column < c.width {
			out = append(out, x)
		}
	}
	if _, err := c.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// JSON writes a value for programs. Strings keep what they hold; what would do something to a terminal is escaped in them.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	text := make([]byte, 0, b.Len())
	for _, r := range b.String() {
		if !excerpt.Hidden(r) {
			text = utf8.AppendRune(text, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			text = fmt.Appendf(text, `\u%04x`, unit)
		}
	}
	_, err := w.Write(text)
	return err
}

// Number is null in JSON where it is infinite or no number.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
