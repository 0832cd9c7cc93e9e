package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// PathVariable lists the folders in which Load looks for libraries, separated by colons. There are no others.
const PathVariable = "LATHE_EXTERNAL_PATH"

// LibraryName is the file name of the library of a run-time module.
func LibraryName(name string) string { return "liblathe_ext_" + name + ".so" }

// abi is that of include/lathe_external.h.
const abi = 1

// Load opens the library of a run-time module, which stays open as long as the process lives.
func Load(name string) (*Runtime, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return nil, fmt.Errorf("a run-time module cannot be called %q", name)
	}
	var tried []string
	for _, dir := range filepath.SplitList(os.Getenv(PathVariable)) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // nothing is loaded from where a process happens to stand
		}
		path := filepath.Join(dir, LibraryName(name))
		if _, err := os.Stat(path); err != nil {
			tried = append(tried, dir)
			continue
		}
		l, err := open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return &Runtime{Name: name, Open: l.open}, nil
	}
	if tried == nil {
		return nil, fmt.Errorf("there is no run-time module %q here (%s names no folder with %s)", name, PathVariable, LibraryName(name))
	}
	return nil, fmt.Errorf("there is no %s in %s (%s)", LibraryName(name), strings.Join(tried, ", "), PathVariable)
}

// A library has the functions of lathe_external.h.
type library struct {
	opened, run, closed, failed uintptr
}

func open(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	var version uintptr
	l := &library{}
	for name, to := range map[string]*uintptr{
		"lathe_external_abi": &version, "lathe_external_open": &l.opened, "lathe_external_run": &l.run,
		"lathe_external_close": &l.closed, "lathe_external_last_error": &l.failed,
	} {
		if *to, err = purego.Dlsym(handle, name); err != nil {
			return nil, fmt.Errorf("it does not export %s", name)
		}
	}
	if v, _, _ := purego.SyscallN(version); uint32(v) != abi {
		return nil, fmt.Errorf("it is made for version %d of lathe_external.h, and this runtime calls version %d", uint32(v), abi)
	}
	return l, nil
}

// cTensor is lathe_external_tensor.
type cTensor struct {
	data   unsafe.Pointer
	shape  *int64
	bytes  uint64
	dtype  *byte
	rank   int32
	unused int32
}

// cInfo is lathe_external_info.
type cInfo struct {
	size            uint32
	workers         int32
	blob            unsafe.Pointer
	bytes           uint64
	symbol          *byte
	inputs, outputs *cTensor
	numIn, numOut   int32
}

// A module is an open region of a library. tensors are what calls are made with, which the collector must not move.
type module struct {
	library *library
	handle  uintptr
	in, out []cTensor
	pin     runtime.Pinner
}

func (l *library) open(blob []byte, info Info) (Module, error) {
	m := &module{library: l}
	m.in, m.out = m.tensors(info.Inputs), m.tensors(info.Outputs)
	c := &cInfo{
		workers: int32(info.Workers), blob: unsafe.Pointer(unsafe.SliceData(blob)), bytes: uint64(len(blob)), symbol: m.text(info.Symbol),
		inputs: unsafe.SliceData(m.in), outputs: unsafe.SliceData(m.out), numIn: int32(len(m.in)), numOut: int32(len(m.out)),
	}
	c.size = uint32(unsafe.Sizeof(*c))
	m.pin.Pin(c)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	purego.SyscallN(l.opened, uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&m.handle)))
	if m.handle == 0 {
		m.pin.Unpin()
		return nil, l.failure()
	}
	return m, nil
}

func (m *module) tensors(list []Tensor) []cTensor {
	made := make([]cTensor, len(list))
	for i, t := range list {
		shape := append(make([]int64, 0, len(t.Shape)+1), t.Shape...)[:len(t.Shape):len(t.Shape)]
		made[i] = cTensor{bytes: uint64(t.Bytes), dtype: m.text(t.DType), rank: int32(len(shape)), shape: unsafe.SliceData(shape)}
		m.pin.Pin(made[i].shape)
	}
	if len(made) > 0 {
		m.pin.Pin(unsafe.SliceData(made))
	}
	m.pin.Pin(&m.handle)
	return made
}

// text is a string as C has it.
func (m *module) text(s string) *byte {
	b := append([]byte(s), 0)
	m.pin.Pin(&b[0])
	return &b[0]
}

func (m *module) Run(in, out []Tensor, workers int) error {
	set := func(to []cTensor, from []Tensor) {
		for i, t := range from {
			to[i].data, to[i].bytes = t.Data, uint64(t.Bytes)
			copy(unsafe.Slice(to[i].shape, to[i].rank), t.Shape)
		}
	}
	set(m.in, in)
	set(m.out, out)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status, _, _ := purego.SyscallN(m.library.run, m.handle, uintptr(unsafe.Pointer(unsafe.SliceData(m.in))), uintptr(unsafe.Pointer(unsafe.SliceData(m.out))), uintptr(workers))
	if int32(status) != 0 {
		return fmt.Errorf("status %d: %w", int32(status), m.library.failure())
	}
	return nil
}

func (m *module) Close() error {
	purego.SyscallN(m.library.closed, m.handle)
	m.pin.Unpin()
	return nil
}

// failure is what the library says of the last call of this thread that failed.
func (l *library) failure() error {
	at, _, _ := purego.SyscallN(l.failed)
	if at == 0 {
		return errors.New("the module does not say why")
	}
	const most = 500
	text := *(**byte)(unsafe.Pointer(&at)) // memory of the library, which the collector does not know
	var b []byte
	for i := range most {
		c := *(*byte)(unsafe.Add(unsafe.Pointer(text), i))
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	return errors.New(strings.Join(strings.Fields(string(b)), " "))
}
