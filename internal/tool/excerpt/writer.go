package excerpt

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// A Writer passes text on with what Message escapes escaped, and cuts nothing: for programs and pages that are long by right.
type Writer struct {
	W    io.Writer
	rest []byte // the beginning of a character whose end is not written yet
}

func (w *Writer) Write(b []byte) (int, error) {
	text := b
	if len(w.rest) > 0 {
		text = append(w.rest, b...)
	}
	whole := len(text) - unfinished(text)
	w.rest = bytes.Clone(text[whole:])
	if _, err := io.WriteString(w.W, escaped(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes the beginning of a character that nothing follows.
func (w *Writer) Flush() error {
	rest := w.rest
	w.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := io.WriteString(w.W, escaped(string(rest)))
	return err
}

// unfinished is how many bytes at the end of b begin a character that may go on.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
