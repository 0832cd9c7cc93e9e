// Package amxtest executes the instructions of AMX in tests, on any x86-64 machine: the processor does where it has them, and else a handler of illegal
// instructions does what they say.
package amxtest

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/testkit/cctest"
)

//go:embed emulator/amx.c
var source []byte

// Build makes the library that installs the handler in the process that loads it, and returns its path. A test on another architecture
// is skipped.
func Build(t testing.TB) string {
	t.Helper()
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("code for x86-64 does not run here")
	}
	dir := t.TempDir()
	from, to := filepath.Join(dir, "amx.c"), filepath.Join(dir, "libamx.so")
	if err := os.WriteFile(from, source, 0o666); err != nil {
		t.Fatal(err)
	}
	cctest.Run(t, dir, cctest.Compiler(t), "-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", to, from)
	return to
}

// Executed counts instructions that were executed.
type Executed struct{ Configurations, Loads, Products, Stores, Zeros, Releases uint64 }

var (
	once    sync.Once
	counts  *Executed
	native  bool
	failure error
)

// Native reports whether the processor executes them, after Install: then nothing is counted.
func Native() bool { return native }

// Install lets this process execute the instructions. It returns their counts, which grow.
func Install(t testing.TB) *Executed {
	t.Helper()
	once.Do(func() {
		failure = errors.New("the library was not built")
		handle, err := purego.Dlopen(Build(t), purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if failure = err; err != nil {
			return
		}
		var at uintptr
		if at, failure = purego.Dlsym(handle, "amx_executed"); failure == nil {
			counts = *(**Executed)(unsafe.Pointer(&at))
			at, failure = purego.Dlsym(handle, "amx_native")
		}
		if failure == nil {
			native = **(**uint64)(unsafe.Pointer(&at)) != 0
		}
	})
	if failure != nil {
		t.Fatal(failure)
	}
	return counts
}
