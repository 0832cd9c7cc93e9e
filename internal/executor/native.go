package executor

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/bundle"
	"lathe/runtime/external"
)

// native runs regions that a generator gave as machine code: a library with one function,
//
//	void symbol(const void *const *in, void *const *out, int32_t worker, int32_t workers)
//
// which is called with one worker.
var native = external.Runtime{Name: bundle.NativeRuntime, Open: openNative}

type nativeRegion struct {
	file    *os.File
	handle  uintptr
	entry   uintptr
	in, out []unsafe.Pointer
}

func openNative(blob []byte, info external.Info) (external.Module, error) {
	arch, err := bundle.LibraryArch(blob)
	if err != nil {
		return nil, err
	}
	if arch != goruntime.GOARCH {
		return nil, fmt.Errorf("its code is for %s, this machine is %s", arch, goruntime.GOARCH)
	}
	r := &nativeRegion{in: make([]unsafe.Pointer, len(info.Inputs)+1), out: make([]unsafe.Pointer, len(info.Outputs)+1)}
	if r.file, r.handle, err = loadCode("region", code{blob, len(blob), len(blob)}); err != nil {
		return nil, err
	}
	if r.entry, err = purego.Dlsym(r.handle, info.Symbol); err != nil {
		return nil, errors.Join(fmt.Errorf("its code does not export %s", info.Symbol), r.Close())
	}
	return r, nil
}

// Run calls the function. Its tables of addresses are on Go's heap, whose objects stay where they are.
func (r *nativeRegion) Run(in, out []external.Tensor, _ int) error {
	for i, t := range in {
		r.in[i] = t.Data
	}
	for i, t := range out {
		r.out[i] = t.Data
	}
	purego.SyscallN(r.entry, uintptr(unsafe.Pointer(&r.in[0])), uintptr(unsafe.Pointer(&r.out[0])), 0, 1)
	return nil
}

func (r *nativeRegion) Close() error {
	err := purego.Dlclose(r.handle)
	if r.file != nil {
		r.file.Close()
	}
	return err
}
