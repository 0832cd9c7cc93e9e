// Package cctest builds C sources with the system's compiler in tests, and calls them.
package cctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Strict are the flags with which generated C compiles without a warning.
var Strict = []string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"}

// Trapping are flags with which undefined behaviour ends the process.
var Trapping = []string{"-fsanitize=undefined,float-cast-overflow", "-fsanitize-undefined-trap-on-error"}

// Compiler is the C compiler of this machine; a test without one is skipped, or fails where LATHE_DEPLOY says that
// everything is installed.
func Compiler(t testing.TB) string {
	t.Helper()
	return Tool(t, "cc")
}

// Tool is the path of a program that a test needs.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("LATHE_DEPLOY") != "" {
			t.Fatalf("%s is missing: run scripts/install-test-deps.sh", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

// Run runs a program in a folder and ends the test where it fails.
func Run(t testing.TB, dir string, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		const most = 4000
		if len(out) > most {
			out = out[:most]
		}
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// A Library is a C source that is loaded into the test.
type Library struct{ handle uintptr }

// Build compiles a source to a shared object and loads it.
func Build(t testing.TB, source string, flags ...string) *Library {
	t.Helper()
	cc := Compiler(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "source.c"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	Run(t, dir, cc, append(flags, "-fPIC", "-c", "source.c")...)
	return Link(t, dir, []string{"source.o"})
}

// Link makes a shared object of objects in a folder and loads it.
func Link(t testing.TB, dir string, objects []string) *Library {
	t.Helper()
	Run(t, dir, Compiler(t), append(objects, "-shared", "-o", "source.so")...)
	handle, err := purego.Dlopen(filepath.Join(dir, "source.so"), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { purego.Dlclose(handle) })
	return &Library{handle}
}

// Aligned is n bytes at a multiple of 8.
func Aligned(n int) []byte {
	words := make([]uint64, (n+7)/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// Call calls a function with the addresses of buffers, of which none is empty.
func (l *Library) Call(t testing.TB, symbol string, buffers ...[]byte) int32 {
	t.Helper()
	f, err := purego.Dlsym(l.handle, symbol)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uintptr, len(buffers))
	for i, b := range buffers {
		words[i] = uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	}
	r, _, _ := purego.SyscallN(f, words...)
	runtime.KeepAlive(buffers)
	return int32(r)
}
