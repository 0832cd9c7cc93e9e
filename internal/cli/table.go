package cli

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"

	"golang.org/x/sys/unix"
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

// Table aligns cells that end in tabs.
func (a *App) Table() *tabwriter.Writer { return tabwriter.NewWriter(a.Lines(), 0, 0, 2, ' ', 0) }

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

// JSON writes a value for programs.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Number is null in JSON where it is infinite or no number.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
