package toolchain

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// lld takes and makes files only, by path. Files on a disk cost several times what the link does and can be left behind;
// those here have paths under /proc/self/fd and end with the call.

// memoryFiles are input files that live in memory.
type memoryFiles struct {
	files []*os.File
	err   error // the first failure of add
}

// add returns the path of a new file that holds data; name is what to call it in messages. The error is kept in m.err.
func (m *memoryFiles) add(name string, data []byte) (path string) {
	path, err := m.write(name, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		m.fail(err)
	}
	return path
}

// write returns the path of a new file that holds what a function writes.
func (m *memoryFiles) write(name string, data func(io.Writer) error) (path string, err error) {
	fd, err := unix.MemfdCreate("lathe-link", unix.MFD_CLOEXEC)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	m.files = append(m.files, f)
	return fdPath(f), data(f)
}

func (m *memoryFiles) fail(err error) {
	if m.err == nil {
		m.err = fmt.Errorf("link: no file in memory: %w", err)
	}
}

// name replaces the paths in a message by the names of their files.
func (m *memoryFiles) name(message string) string {
	order := slices.Clone(m.files)
	// The path of file 12 begins with that of file 1.
	slices.SortFunc(order, func(a, b *os.File) int { return int(b.Fd()) - int(a.Fd()) })
	for _, f := range order {
		message = strings.ReplaceAll(message, fdPath(f), f.Name())
	}
	return message
}

func (m *memoryFiles) close() {
	for _, f := range m.files {
		f.Close()
	}
}

// pipeReader collects what is written to its path. A pipe, unlike a file, is written in place: lld would make any other
// output under a temporary name beside the path and rename it.
type pipeReader struct {
	w    *os.File
	done chan error
	data []byte
}

func newPipeReader() (*pipeReader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	p := &pipeReader{w: w, done: make(chan error, 1)}
	go func() {
		defer r.Close()
		var err error
		p.data, err = io.ReadAll(r)
		p.done <- err
	}()
	return p, nil
}

func (p *pipeReader) path() string { return fdPath(p.w) }

// finish returns everything that was written; call it when nothing writes any more.
func (p *pipeReader) finish() ([]byte, error) {
	p.w.Close()
	err := <-p.done
	return p.data, err
}

// close releases the pipe and ends the reading, whether or not finish was called.
func (p *pipeReader) close() { p.w.Close() }

func fdPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
