package executor

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"lathe/internal/bundle"
)

// A Variant is other code for some steps of a module, which reads and writes the module's memory: what a tuner times in the place
// of the package's own. It is compiled against the package's plan of memory; with any other it would touch what is not its own. It is
// unloaded when the module is closed: a worker that comes late may still look into it.
type Variant struct {
	m         *Module
	handle    uintptr
	run, part uintptr
	b         []byte // a run context, and scratch for each worker with a page behind it that cannot be touched
	callee    *callee
}

// VariantInfo says what a library of a variant is.
type VariantInfo struct {
	Path      string // of a shared object
	Run, Part string // symbols: called as the package's run function is, and for a worker's part of a step; "": there are no parts
	Scratch   int    // bytes for each worker
}

// OpenVariant loads a variant.
func (m *Module) OpenVariant(info VariantInfo) (*Variant, error) {
	v := &Variant{m: m}
	if err := v.load(info); err != nil {
		return nil, errors.Join(fmt.Errorf("variant %s: %w", info.Path, err), v.unload())
	}
	m.variants = append(m.variants, v)
	return v, nil
}

func (v *Variant) load(info VariantInfo) (err error) {
	if v.handle, err = purego.Dlopen(info.Path, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return err
	}
	if v.run, err = purego.Dlsym(v.handle, info.Run); err != nil {
		return err
	}
	if info.Part != "" {
		if v.part, err = purego.Dlsym(v.handle, info.Part); err != nil {
			return err
		}
	}
	return v.place(info.Scratch)
}

// place makes the run context: that of the module with other scratch, of which each worker's ends where a page cannot be touched.
func (v *Variant) place(scratch int) error {
	page := unix.Getpagesize()
	up := func(n, to int) int { return (n + to - 1) / to * to }
	scratch = up(scratch, cacheLine)
	workers, stride := v.m.Workers(), up(scratch, page)+page
	b, err := unix.Mmap(-1, 0, page+workers*stride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("no memory for scratch: %w", err)
	}
	v.b = b
	for w := range workers {
		if err := unix.Mprotect(b[page+(w+1)*stride-page:page+(w+1)*stride], unix.PROT_NONE); err != nil {
			return err
		}
	}
	own := &memory{b: b}
	copy(b, v.m.mem.b[:ctx.Size])
	own.u64(ctx.Scratch, uint64(own.address(page+stride-page-scratch)))
	own.u64(ctx.ScratchStride, uint64(stride))
	v.callee = &callee{v.run, own.context()}
	return nil
}

func (v *Variant) unload() error {
	var err error
	if v.b != nil {
		err = unix.Munmap(v.b)
	}
	if v.handle != 0 {
		err = errors.Join(err, purego.Dlclose(v.handle))
	}
	v.b, v.handle = nil, 0
	return err
}

// Run runs the steps [first, last) of the variant with all workers and returns the time that it took.
func (v *Variant) Run(first, last int) (took time.Duration, err error) {
	err = v.call(func() {
		start := time.Now()
		v.m.pool.runOf(v.callee, first, last, v.m.pool.workers)
		took = time.Since(start)
	})
	return took, err
}

// Part runs, in the calling thread alone and with the scratch of the first worker, what each of the parts from first to last - 1 of
// so many workers does of a step. It returns the processor time that the thread spent.
func (v *Variant) Part(step, first, last, workers int) (took time.Duration, err error) {
	err = v.call(func() {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		start := threadTime()
		for part := first; part < last; part++ {
			purego.SyscallN(v.part, v.callee.context, 0, uintptr(workers), uintptr(step), uintptr(part))
		}
		took = threadTime() - start
	})
	return took, err
}

// call runs f as a run of the module.
func (v *Variant) call(f func()) error {
	if err := v.m.ready(); err != nil {
		return err
	}
	own := &memory{b: v.b}
	own.u32(ctx.Status, 0)
	defer v.m.lib.running()()
	f()
	if s := own.status(); s != 0 {
		return fmt.Errorf("run: the variant reports status %d: %s", s, bundle.StatusText(s))
	}
	return nil
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// MemoryAt returns the memory of the module's run context at a place that a step writes, or of a constant, which must not be written, for who
// runs steps one by one: what lies there changes with every run.
func (m *Module) MemoryAt(at bundle.Place) ([]byte, error) {
	r := region{size: at.Bytes}
	switch {
	case at.Bytes < 0 || at.Offset < 0 || at.Index < 0:
		return nil, fmt.Errorf("a place of %d bytes at %d", at.Bytes, at.Offset)
	case at.Kind == bundle.InWorkspace && at.Offset+at.Bytes <= m.mem.workspace.size:
		r.off = m.mem.workspace.off + at.Offset
	case at.Kind == bundle.InOutput && at.Index < len(m.mem.outputs) && at.Offset+at.Bytes <= m.mem.outputs[at.Index].size:
		r.off = m.mem.outputs[at.Index].off + at.Offset
	case at.Kind == bundle.InParam && at.Index < len(m.lib.params) && at.Offset+at.Bytes <= len(m.lib.params[at.Index].Data):
		return m.lib.params[at.Index].Data[at.Offset : at.Offset+at.Bytes : at.Offset+at.Bytes], nil
	case at.Kind == bundle.InSymbols && 8*at.Index+at.Bytes <= m.mem.symbols.size:
		r.off = m.mem.symbols.off + 8*at.Index
	default:
		return nil, fmt.Errorf("place %d of kind %d is not written by steps, or smaller than %d bytes", at.Index, at.Kind, at.Bytes)
	}
	return m.mem.bytes(r), nil
}
