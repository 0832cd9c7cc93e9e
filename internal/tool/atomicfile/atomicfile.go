// Package atomicfile writes files that appear complete or not at all, and files that never have a name: whenever the process
// ends, and however, nothing half-written stays.
package atomicfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeStep is how much is written before the context is looked at again.
const writeStep = 16 << 20

// File is a file that gets its name only when it is complete, so that readers see the old content or the new and
// an interrupted process leaves nothing half-written behind. Where the file system has it, the data stays in an unnamed
// inode, which the kernel frees when the process dies; elsewhere a hidden temporary file beside the target is used.
type File struct {
	*os.File
	Path string // final name, symbolic links resolved
	temp string // "" while the inode has no name
	ctx  context.Context
}

const procFiles = "/proc/self/fd"

// Create begins a file whose writing ends when ctx does. It refuses targets that are not plain files: renaming over a device
// would replace it.
func Create(ctx context.Context, path string) (*File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s exists and is not a plain file", path)
	}
	dir := filepath.Dir(path)
	if f := unnamed(dir, path); f != nil {
		return &File{File: f, Path: path, ctx: ctx}, nil
	}
	temp := tempName(path)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("cannot write in %s: %w", dir, err)
	}
	return &File{File: f, Path: path, temp: temp, ctx: ctx}, nil
}

// Check tells why a file could not be created, before the work whose result it is to hold. It leaves nothing behind.
func Check(path string) error {
	f, err := Create(context.Background(), path)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// Unnamed opens a file on a disk that has no name and ends with its descriptor. ProcPath is how others of this process open it.
func Unnamed() (*os.File, error) {
	dir := os.TempDir()
	if f := unnamed(dir, filepath.Join(dir, "unnamed")); f != nil {
		return f, nil
	}
	f, err := os.CreateTemp(dir, "lathe-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// ProcPath is a path of an open file of this process, whether or not it has a name.
func ProcPath(f *os.File) string { return fmt.Sprintf("%s/%d", procFiles, f.Fd()) }

// unnamed is nil where a folder's file system has no unnamed inodes, or nothing could reach them.
func unnamed(dir, name string) *os.File {
	if _, err := os.Stat(procFiles); err != nil {
		return nil
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}

func tempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:10]+".tmp")
}

// Write adds to the file.
func (f *File) Write(b []byte) (n int, err error) {
	for {
		if err := f.ctx.Err(); err != nil {
			return n, err
		}
		m, err := f.File.Write(b[n:min(n+writeStep, len(b))])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Commit gives the file its name. It does not look at the context: of several files that belong together all are named or none.
func (f *File) Commit() error {
	if f.temp == "" {
		temp := tempName(f.Path)
		if err := unix.Linkat(unix.AT_FDCWD, ProcPath(f.File), unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
			return fmt.Errorf("cannot name %s: %w", f.Path, err)
		}
		f.temp = temp
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.temp, f.Path); err != nil {
		return err
	}
	f.temp = ""
	return nil
}

// Discard removes what Commit has not named. It may follow a Commit.
func (f *File) Discard() {
	f.Close()
	if f.temp != "" {
		os.Remove(f.temp)
	}
}
