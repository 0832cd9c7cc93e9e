package executor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync/atomic"

	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"lathe/internal/bundle"
	"lathe/internal/cpu"
)

// library is a package whose code is loaded. Modules share it; the last release unloads it.
type library struct {
	pkg     *bundle.Package
	params  []bundle.Param // the package's, or copies in weights
	weights []byte         // a mapping; nil where the package's are used as they lie in the file
	entry   uintptr        // lathe_<module>_run
	handle  uintptr
	file    *os.File
	refs    atomic.Int32
	calls   atomic.Int32 // runs in progress
}

func openLibrary(path string, o Options) (*library, error) {
	pkg, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	if o.Check {
		if err := pkg.Check(); err != nil {
			pkg.Close()
			return nil, err
		}
	}
	l := &library{pkg: pkg, params: pkg.Params}
	l.refs.Store(1)
	if err := l.load(); err != nil {
		l.release()
		return nil, fmt.Errorf("package %s: %w", path, err)
	}
	if !o.Mapped {
		if err := l.resident(); err != nil {
			l.release()
			return nil, fmt.Errorf("package %s: %w", path, err)
		}
	}
	l.watch()
	return l, nil
}

// load checks architecture and CPU before any code of the package can run.
func (l *library) load() error {
	m := l.pkg.Manifest
	arch, err := bundle.LibraryArch(l.pkg.Library)
	if err != nil {
		return err
	}
	if arch != goruntime.GOARCH {
		return fmt.Errorf("compiled for %s (target %s), this machine is %s; recompile with --target for this machine",
			arch, m.Target.String, goruntime.GOARCH)
	}
	here, err := cpu.This()
	if err == nil {
		err = checkCPU(m.Target.Features, here)
	}
	if err == nil {
		err = here.Permit(m.Target.Features)
	}
	if err != nil {
		return err
	}
	from, to := l.pkg.Weights()
	if l.file, l.handle, err = loadCode(m.Module, code{l.pkg.Library, from, to}); err != nil {
		return fmt.Errorf("%s: %w", bundle.LibraryName, err)
	}
	if l.entry, err = purego.Dlsym(l.handle, m.RunSymbol()); err != nil {
		return fmt.Errorf("%s does not export %s", bundle.LibraryName, m.RunSymbol())
	}
	return l.checkManifest()
}

// checkManifest compares the manifest with the digest that the library holds: with other sizes than it was compiled for
// it would touch memory it was not given. A library without a digest, written by hand, is taken at its word.
func (l *library) checkManifest() error {
	m := l.pkg.Manifest
	at, err := purego.Dlsym(l.handle, m.DigestSymbol())
	if err != nil {
		return nil
	}
	digest := *(**byte)(unsafe.Pointer(&at)) // memory of the library, which the collector does not know
	if want := m.Digest(); !bytes.Equal(want[:], unsafe.Slice(digest, len(want))) {
		return fmt.Errorf("%s was changed since %s was compiled: its sizes do not fit; recompile the model", bundle.ManifestName, bundle.LibraryName)
	}
	return nil
}

func (l *library) release() error {
	if l.refs.Add(-1) > 0 {
		return nil
	}
	l.forget()
	var err error
	if l.handle != 0 {
		err = purego.Dlclose(l.handle)
	}
	if l.file != nil {
		l.file.Close()
	}
	if l.weights != nil {
		err = errors.Join(err, unix.Munmap(l.weights))
	}
	return errors.Join(err, l.pkg.Close())
}

// code is a library whose bytes [from, to) are weights: they are read where the package is mapped and left out of the
// copy that is executed, which has zeros there that take no memory.
type code struct {
	library  []byte
	from, to int
}

func (c code) writeTo(f *os.File) error {
	if _, err := f.WriteAt(c.library[:c.from], 0); err != nil {
		return err
	}
	if _, err := f.WriteAt(c.library[c.to:], int64(c.to)); err != nil {
		return err
	}
	return f.Truncate(int64(len(c.library)))
}

// loadCode gives the code to the dynamic linker through a memory file, so that it works from inside a tar and in a
// read-only directory. The linker takes a path it knows for the library it knows: the file stays open as long as the
// code is loaded, so that no other module gets the same number.
func loadCode(name string, c code) (*os.File, uintptr, error) {
	fd, err := unix.MemfdCreate("lathe-"+name+".so", unix.MFD_CLOEXEC)
	if err != nil {
		return loadFromTemp(c)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := c.writeTo(f); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("writing to a memory file: %w", err)
	}
	h, err := purego.Dlopen(fmt.Sprintf("/proc/self/fd/%d", fd), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		f.Close()
		return loadFromTemp(c)
	}
	return f, h, nil
}

// loadFromTemp is for systems without memory files or /proc. The file has no name any more once it is loaded.
func loadFromTemp(c code) (*os.File, uintptr, error) {
	f, err := os.CreateTemp("", "lathe-*.so")
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := c.writeTo(f); err != nil {
		return nil, 0, err
	}
	h, err := purego.Dlopen(f.Name(), purego.RTLD_NOW|purego.RTLD_LOCAL)
	return nil, h, err
}
