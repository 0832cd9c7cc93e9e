package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lathe/internal/tool/atomicfile"
)

// NotOver refuses to write to out when that is one of the files the command reads, under any name.
func NotOver(out string, read ...string) error {
	to, err := os.Stat(out)
	if err != nil || !to.Mode().IsRegular() {
		return nil
	}
	for _, path := range read {
		if from, err := os.Stat(path); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("writing %s: the command reads this file; name another for the output", out)
		}
	}
	return nil
}

// Writable refuses a file that WriteFile could not write, before the work whose result it is to hold.
func Writable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil || st.Mode().IsRegular():
		err = atomicfile.Check(path)
	case st.IsDir():
		err = unix.EISDIR
	default:
		err = unix.Access(path, unix.W_OK)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WritablePlain is Writable for files that are never written to devices and pipes.
func WritablePlain(paths ...string) error {
	for _, path := range paths {
		if err := atomicfile.Check(path); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// loss remembers the first write that failed, so that output which got lost is an error of the command.
type loss struct {
	io.Writer
	err error
}

func (l *loss) Write(b []byte) (int, error) {
	n, err := l.Writer.Write(b)
	if l.err == nil {
		l.err = err
	}
	return n, err
}

// WriteFile gives path its new content when all of it is written; until then readers see the old one. Devices and pipes
// are written directly.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, Cause(err))
		}
		defer f.Close()
		return write(f)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, Cause(err))
		}
	}()
	f, err := atomicfile.Create(context.Background(), path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}

// Cause is err without the name of the file, which may be a temporary one.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
