package main

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/toolchain"
)

// accumulators is the number of independent sums of the peak's loop: more than latency times units of any CPU we know,
// and few enough for 16 registers.
const accumulators = 12

// peak runs nothing but multiply-adds of float32 vectors in registers.
type peak struct {
	entry, handle uintptr
	lanes         int
}

// newPeak compiles the loop for this machine's widest vectors.
func newPeak() (*peak, error) {
	cpu, features := toolchain.HostCPU()
	m, err := toolchain.Open(toolchain.Options{CPU: cpu, Features: features})
	if err != nil {
		return nil, err
	}
	p := &peak{lanes: 4}
	switch has := m.Features(); {
	case slices.Contains(has, "avx512f"):
		p.lanes = 16
	case slices.Contains(has, "avx"):
		p.lanes = 8
	}
	object, err := m.Compile(peakIR(p.lanes), "")
	if err != nil {
		return nil, err
	}
	lib, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Exports: []string{"peak"}})
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "lathe-peak-*.so")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(lib); err != nil {
		return nil, err
	}
	if p.handle, err = purego.Dlopen(f.Name(), purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return nil, err
	}
	p.entry, err = purego.Dlsym(p.handle, "peak")
	return p, err
}

// peakIR is the loop: void peak(i64 n, ptr sums).
func peakIR(lanes int) string {
	var b strings.Builder
	v := fmt.Sprintf("<%d x float>", lanes)
	fma := fmt.Sprintf("@llvm.fma.v%df32", lanes)
	fmt.Fprintf(&b, "declare %s %s(%s, %s, %s)\n", v, fma, v, v, v)
	fmt.Fprintf(&b, "define void @peak(i64 %%n, ptr %%sums) {\nentry:\n  %%x = load %s, ptr %%sums, align 4\n  br label %%loop\n", v)
	b.WriteString("loop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n")
	for k := range accumulators {
		fmt.Fprintf(&b, "  %%a%d = phi %s [ zeroinitializer, %%entry ], [ %%b%d, %%loop ]\n", k, v, k)
	}
	for k := range accumulators {
		fmt.Fprintf(&b, "  %%b%d = call %s %s(%s %%a%d, %s %%x, %s %%x)\n", k, v, fma, v, k, v, v)
	}
	b.WriteString("  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %n\n  br i1 %more, label %loop, label %done\ndone:\n")
	for k := range accumulators {
		fmt.Fprintf(&b, "  %%p%d = getelementptr %s, ptr %%sums, i64 %d\n  store %s %%b%d, ptr %%p%d, align 4\n", k, v, k, v, k, k)
	}
	b.WriteString("  ret void\n}\n")
	return b.String()
}

// gflops returns the best rate of threads that run the loop together, of a number of attempts.
func (p *peak) gflops(threads int) float64 {
	const turns = 1 << 20
	best := 0.0
	for range 20 {
		var wg sync.WaitGroup
		start := time.Now()
		for range threads {
			wg.Go(func() {
				goruntime.LockOSThread()
				defer goruntime.UnlockOSThread()
				sums := make([]float32, accumulators*p.lanes)
				for i := range sums {
					sums[i] = 0.5
				}
				purego.SyscallN(p.entry, turns, uintptr(unsafe.Pointer(&sums[0])))
				goruntime.KeepAlive(sums)
			})
		}
		wg.Wait()
		flop := float64(threads) * turns * accumulators * float64(p.lanes) * 2
		best = max(best, flop/float64(time.Since(start).Nanoseconds()))
	}
	return best
}

func (p *peak) close() error { return purego.Dlclose(p.handle) }
