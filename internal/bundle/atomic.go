package bundle

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// pendingFile is a file that gets its name only when it is complete, so that readers see the old content or the new and
// an interrupted process leaves nothing half-written behind. Where the file system has it, the data stays in an unnamed
// inode, which the kernel frees when the process dies; elsewhere a hidden temporary file beside the target is used.
type pendingFile struct {
	*os.File
	path string // final name, symbolic links resolved
	temp string // "" while the inode has no name
}

const procFiles = "/proc/self/fd"

// createPending refuses targets that are not plain files: renaming over a device would replace it.
func createPending(path string) (*pendingFile, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s exists and is not a plain file", path)
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(procFiles); err == nil { // naming the inode needs it
		if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666); err == nil {
			return &pendingFile{File: os.NewFile(uintptr(fd), path), path: path}, nil
		}
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
	return &pendingFile{File: f, path: path, temp: temp}, nil
}

func tempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:10]+".tmp")
}

// commit gives the file its name.
func (f *pendingFile) commit() error {
	if f.temp == "" {
		temp := tempName(f.path)
		proc := fmt.Sprintf("%s/%d", procFiles, f.Fd())
		if err := unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
			return fmt.Errorf("cannot name %s: %w", f.path, err)
		}
		f.temp = temp
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.temp, f.path); err != nil {
		return err
	}
	f.temp = ""
	return nil
}

// discard removes what commit has not named. It may follow a commit.
func (f *pendingFile) discard() {
	f.Close()
	if f.temp != "" {
		os.Remove(f.temp)
	}
}
