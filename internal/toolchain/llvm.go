package toolchain

/*
#cgo CFLAGS: -I/usr/lib/llvm-22/include
#cgo CXXFLAGS: -I/usr/lib/llvm-22/include -std=c++17 -fno-exceptions -fno-rtti -O2 -D_GNU_SOURCE -Wno-deprecated-declarations
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// This file and link.go are all that calls C. What the C functions promise is written in shim.h.

type stage = C.int

const (
	stageOK     stage = C.LATHE_OK
	stageParse  stage = C.LATHE_PARSE
	stageVerify stage = C.LATHE_VERIFY
	stagePasses stage = C.LATHE_PASSES
	stageFatal  stage = C.LATHE_FATAL
)

const (
	emitObject   = C.LATHE_OBJECT
	emitAssembly = C.LATHE_ASSEMBLY
	listCPUs     = C.LATHE_CPUS
	listFeatures = C.LATHE_FEATURES
)

// using is held for reading by what uses LLVM and for writing by the linker (see shim.h).
var using sync.RWMutex

// start registers the back ends and installs the crash guard.
var start = sync.OnceFunc(func() { C.lathe_start() })

// emit runs one compilation in an LLVM context of its own.
func (m *Machine) emit(ir, passes string, kind C.int) ([]byte, []Loop, error) {
	start()
	if passes == "" {
		passes = DefaultPasses
	}
	var free cStrings
	defer free.all()
	job := C.lathe_job{
		triple:   free.add(m.triple),
		cpu:      free.add(m.cpu),
		features: free.add(m.features),
		level:    C.int(m.level),
		ir:       free.add(ir),
		ir_size:  C.size_t(len(ir)),
		passes:   free.add(passes),
		kind:     kind,
	}
	if m.asWritten {
		job.as_written = 1
	}
	var out C.lathe_answer
	using.RLock()
	C.lathe_compile(&job, &out)
	using.RUnlock()
	if out.stage != stageOK {
		return nil, nil, stageError(out.stage, takeString(out.message), ir)
	}
	defer C.free(unsafe.Pointer(out.data))
	defer C.free(unsafe.Pointer(out.loops))
	loops := make([]Loop, out.loop_count)
	for i, l := range unsafe.Slice(out.loops, out.loop_count) {
		loops[i] = Loop{float64(l.iterations), float64(l.cycles), int(l.instructions), int(l.spills), int(l.reloads), l.innermost != 0}
	}
	return copied(unsafe.Pointer(out.data), out.size), loops, nil
}

// copied returns a copy of C memory; C.GoBytes would limit its length to an int32.
func copied(p unsafe.Pointer, n C.size_t) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(p), n)...)
}

func llvmVersion() string {
	var v [3]C.uint
	C.lathe_version(&v[0], &v[1], &v[2])
	return strconv.Itoa(int(v[0])) + "." + strconv.Itoa(int(v[1])) + "." + strconv.Itoa(int(v[2]))
}

func hostTriple() string { return takeString(C.lathe_host_triple()) }

// checkTriple returns why LLVM cannot generate code for a triple, or "".
func checkTriple(triple string) string {
	start()
	var free cStrings
	defer free.all()
	using.RLock()
	defer using.RUnlock()
	return takeString(C.lathe_check_triple(free.add(triple)))
}

func list(triple string, what C.int) []string {
	start()
	var free cStrings
	defer free.all()
	using.RLock()
	defer using.RUnlock()
	return strings.Fields(takeString(C.lathe_list(free.add(triple), what)))
}

// enabled returns the features of a CPU after changes; the names must have been checked.
func enabled(triple, cpu, changes string) []string {
	start()
	var free cStrings
	defer free.all()
	using.RLock()
	defer using.RUnlock()
	return strings.Fields(takeString(C.lathe_enabled(free.add(triple), free.add(cpu), free.add(changes))))
}

// takeString copies a string that C allocated, and frees it.
func takeString(s *C.char) string {
	defer C.free(unsafe.Pointer(s))
	return C.GoString(s)
}

// cStrings are the C copies of a call's arguments.
type cStrings []*C.char

func (c *cStrings) add(s string) *C.char {
	p := C.CString(s)
	*c = append(*c, p)
	return p
}

func (c *cStrings) all() {
	for _, p := range *c {
		C.free(unsafe.Pointer(p))
	}
}
