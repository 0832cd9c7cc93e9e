// Package table prints tables of text for people. What a cell quotes from a model is an excerpt on one line, so that no name
// can break a table or do something to a terminal.
package table

import (
	"fmt"
	"io"
	"text/tabwriter"

	"lathe/internal/tool/excerpt"
)

// A Table aligns the cells of its rows.
type Table struct {
	w   *tabwriter.Writer
	err error
}

// New returns a table whose cells begin at the same column; the last of a row is as long as it is.
func New(w io.Writer) *Table { return &Table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// NewRight returns a table whose cells end at the same column, but for the last of a row.
func NewRight(w io.Writer) *Table {
	return &Table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)}
}

// Row adds a row of cells. No cells are an empty line, which ends columns.
func (t *Table) Row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			t.write("\t")
		}
		t.write(excerpt.Line(fmt.Sprint(c)))
	}
	t.write("\n")
}

// Rowf adds a row whose first cell is a heading and whose second is formatted.
func (t *Table) Rowf(heading, format string, args ...any) {
	t.Row(heading, fmt.Sprintf(format, args...))
}

func (t *Table) write(s string) {
	if _, err := io.WriteString(t.w, s); err != nil && t.err == nil {
		t.err = err
	}
}

// Flush prints the rows so far. It returns the first error of writing any of them.
func (t *Table) Flush() error {
	if err := t.w.Flush(); err != nil && t.err == nil {
		t.err = err
	}
	return t.err
}
