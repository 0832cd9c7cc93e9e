package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// A Writer appends records to a file, each by one write, so that several processes may do so at once and nothing but the last line is
// cut when one of them ends.
type Writer struct {
	f     *os.File
	start []byte // what ends a line that was cut
}

// Append opens a file for more records, or makes it.
func Append(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if st.Mode().IsRegular() && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if last[0] != '\n' {
			w.start = []byte("\n")
		}
	}
	return w, nil
}

// Write appends a record.
func (w *Writer) Write(r Record) error {
	line, err := Line(r)
	if err != nil {
		return err
	}
	_, err = w.f.Write(append(w.start, line...))
	w.start = nil
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// Line is a record as a line of a file.
func Line(r Record) ([]byte, error) {
	r.Version = Version
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return b.Bytes(), err
}

// Write writes records as a file.
func Write(w io.Writer, list []Record) error {
	for _, r := range list {
		line, err := Line(r)
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
