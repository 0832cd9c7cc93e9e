package llvm_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/toolchain"
)

// A library holds the code of functions, compiled for this machine with the driver's LLVM passes.
type library struct {
	symbols []uintptr
	scratch []int
}

func load(t *testing.T, funcs []*loop.Func) *library {
	t.Helper()
	return loadFor(t, native(t), funcs, llvm.Options{VectorBits: 256})
}

// native is this machine as a target.
func native(t *testing.T) *target.Target {
	t.Helper()
	here, err := toolchain.Native()
	if err != nil {
		t.Fatal(err)
	}
	return here
}

// loadFor is load for another target, whose code this process can execute.
func loadFor(t *testing.T, tgt *target.Target, funcs []*loop.Func, o llvm.Options) *library {
	t.Helper()
	m, err := toolchain.Open(toolchain.For(tgt))
	if err != nil {
		t.Fatal(err)
	}
	l := &library{}
	texts, names := make([]string, len(funcs)), make([]string, len(funcs))
	for i, f := range funcs {
		names[i] = fmt.Sprintf("k%d", i)
		o.Symbol = names[i]
		k, err := llvm.Emit(f, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, f)
		}
		texts[i] = strings.Replace(k.Text, "define hidden", "define", 1)
		l.scratch = append(l.scratch, k.Scratch)
	}
	objects, errs := make([]toolchain.Object, len(texts)), make([]error, len(texts))
	var group sync.WaitGroup
	for first := range runtime.NumCPU() {
		group.Go(func() {
			for i := first; i < len(texts); i += runtime.NumCPU() {
				objects[i], errs[i] = m.Compile(texts[i], "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)")
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	so, err := toolchain.Link(objects, toolchain.LinkOptions{Exports: names})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kernels.so")
	if err := os.WriteFile(file, so, 0o777); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { purego.Dlclose(handle) })
	for _, n := range names {
		s, err := purego.Dlsym(handle, n)
		if err != nil {
			t.Fatal(err)
		}
		l.symbols = append(l.symbols, s)
	}
	return l
}

const (
	alignment = 64
	canary    = 0xc5
)

// aligned is n bytes at a multiple of 64, with canaries before and after.
func aligned(n int) (all, data []byte) {
	all = make([]byte, n+4*alignment)
	for i := range all {
		all[i] = canary
	}
	skip := alignment + int(-uintptr(unsafe.Pointer(&all[0]))%alignment)
	return all, all[skip : skip+n : skip+n]
}

// run calls kernel i for each worker in turn on copies of args that are aligned as the workspace is, and copies them
// back. It reports writes beyond their ends.
func (l *library) run(i int, args []*tensor.Tensor, workers int) error {
	return l.share(i, args, 0, workers, workers)
}

// share is run for the workers from first to behind - 1 of so many.
func (l *library) share(i int, args []*tensor.Tensor, first, behind, workers int) error {
	words := make([]uintptr, 0, len(args)+3)
	var blocks, data [][]byte
	add := func(n int) []byte {
		all, b := aligned(n)
		blocks, data = append(blocks, all), append(data, b)
		words = append(words, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
		return b
	}
	for _, a := range args {
		copy(add(len(a.Bytes())), a.Bytes())
	}
	add(l.scratch[i])
	for w := first; w < behind; w++ {
		purego.SyscallN(l.symbols[i], append(words, uintptr(w), uintptr(workers))...)
	}
	for j, b := range blocks {
		skip := int(uintptr(unsafe.Pointer(unsafe.SliceData(data[j]))) - uintptr(unsafe.Pointer(&b[0])))
		for k, x := range b {
			if x != canary && (k < skip || k >= skip+len(data[j])) {
				return errors.New("it writes outside of its operands")
			}
		}
	}
	for j, a := range args {
		copy(a.Bytes(), data[j])
	}
	runtime.KeepAlive(blocks)
	return nil
}

// asInterpreted runs kernel i, which is f and stores to its last argument, and compares all elements of that with the interpreter's.
func (l *library) asInterpreted(t *testing.T, i int, f *loop.Func, args []*tensor.Tensor) {
	t.Helper()
	want, got := args[len(args)-1], slices.Clone(args)
	out := tensor.New(want.DType, want.Shape...)
	got[len(got)-1] = out
	if err := interp.Run(f, args, 1); err != nil {
		t.Fatal(err)
	}
	if err := l.run(i, got, 1); err != nil {
		t.Errorf("%v: %v", f, err)
	}
	for e := range want.Len() {
		if a, b := want.Float(e), out.Float(e); a != b && (a == a || b == b) {
			t.Errorf("element %d: %v instead of %v\n%v", e, b, a, f)
			return
		}
	}
}
