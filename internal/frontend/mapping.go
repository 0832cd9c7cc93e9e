package frontend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"lathe/internal/tool/spelling"
)

// Map maps the file at path for reading. The file must not shrink while the mapping is in use.
func Map(path string) ([]byte, error) {
	f, err := OpenRegular(func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return MapFile(f)
}

// OpenRegular opens a file for reading if it is a regular one; opening a pipe or device must not block.
func OpenRegular(open func(flag int) (*os.File, error)) (*os.File, error) {
	f, err := open(os.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("no such file")
	case err != nil:
		return nil, Cause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, errors.Join(Cause(err), f.Close())
	}
	return f, nil
}

// MapFile maps a whole file for reading. The file must not shrink while the mapping is in use.
func MapFile(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, Cause(err)
	}
	size := info.Size()
	if size == 0 {
		return nil, nil
	}
	if size != int64(int(size)) {
		return nil, fmt.Errorf("%s are more than this machine can address", spelling.Count(size, "byte"))
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", spelling.Count(size, "byte"), err)
	}
	return data, nil
}

// Unmap ends a mapping.
func Unmap(data []byte) error {
	if data == nil {
		return nil
	}
	return unix.Munmap(data)
}

// Cause drops the operation and path of a file error, which the caller's message already has.
func Cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
