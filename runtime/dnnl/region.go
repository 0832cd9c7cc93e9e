package dnnl

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"lathe/runtime/external"
)

// Name is that of the run-time module in packages.
const Name = "dnnl"

// Runtime opens regions by oneDNN.
var Runtime = external.Runtime{Name: Name, Open: open}

// A region is an open program. All of oneDNN is called in one thread of its own, which keeps the threads that oneDNN starts.
type region struct {
	api        *api
	program    *Program
	stream     uintptr
	executions []execution
	inputs     []*value
	outputs    []*value
	same       map[*value][]*value // the same memory under other descriptions
	memories   []uintptr
	primitives []uintptr
	descs      []uintptr
	kept       []any // what oneDNN reads until the region is closed
	failed     error
	calls      chan func()
}

func open(blob []byte, info external.Info) (external.Module, error) {
	a, err := opened()
	if err != nil {
		return nil, err
	}
	p, err := Parse(blob)
	if err != nil {
		return nil, err
	}
	if err := p.fits(info); err != nil {
		return nil, err
	}
	r := &region{api: a, program: p, same: map[*value][]*value{}, calls: make(chan func())}
	go r.thread()
	r.do(func() { err = r.start(info.Workers) })
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fits compares the tensors at the ends of a program with those that the package gives it.
func (p *Program) fits(info external.Info) error {
	same := func(role string, list []int, given []external.Tensor) error {
		if len(list) != len(given) {
			return fmt.Errorf("the program has %d %ss, and the region %d", len(list), role, len(given))
		}
		for i, v := range list {
			if t := given[i]; t.DType != "float32" || !slices.Equal(t.Shape, p.Tensors[v].Shape) {
				return fmt.Errorf("%s %d is %s%v in the package and float32%v in the program", role, i, t.DType, t.Shape, p.Tensors[v].Shape)
			}
		}
		return nil
	}
	if err := same("input", p.Inputs, info.Inputs); err != nil {
		return err
	}
	return same("output", p.Outputs, info.Outputs)
}

// thread does calls in a thread of its own until there are none any more.
func (r *region) thread() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for f := range r.calls {
		f()
	}
}

// do has the thread call f and waits.
func (r *region) do(f func()) {
	done := make(chan struct{})
	r.calls <- func() { defer close(done); f() }
	<-done
}

func (r *region) start(workers int) (err error) {
	defer func() {
		if r := recover(); r != nil { // shapes that fit no primitive
			err = fmt.Errorf("its program: %v", r)
		}
	}()
	r.threads(workers)
	if err := check(call(r.api.streamCreate, uintptr(unsafe.Pointer(&r.stream)), r.api.engine, 1)); err != nil {
		return fmt.Errorf("a stream: %w", err)
	}
	return r.build()
}

func (r *region) threads(n int) {
	if r.api.setThreads != 0 {
		call(r.api.setThreads, uintptr(n))
	}
}

// Run computes the region. Shapes are those that it was compiled for.
func (r *region) Run(in, out []external.Tensor, workers int) (err error) {
	info := external.Info{Inputs: in, Outputs: out}
	if err := r.program.fits(info); err != nil {
		return err
	}
	r.do(func() { err = r.run(in, out, workers) })
	return err
}

func (r *region) run(in, out []external.Tensor, workers int) error {
	r.threads(workers)
	for i, v := range r.inputs {
		r.set(v, in[i].Data)
		for _, w := range r.same[v] {
			r.set(w, in[i].Data)
		}
	}
	for i, v := range r.outputs {
		r.set(v, out[i].Data)
	}
	if r.failed != nil {
		return r.failed
	}
	return r.runAll(r.executions)
}

func (r *region) set(v *value, data unsafe.Pointer) {
	if err := check(call(r.api.memorySetHandle, v.memory, uintptr(data))); err != nil && r.failed == nil {
		r.failed = err
	}
}

// Close gives everything back.
func (r *region) Close() error {
	r.do(func() {
		for _, p := range r.primitives {
			call(r.api.primDelete, p)
		}
		for _, d := range r.descs {
			call(r.api.primitiveDescDestroy, d)
		}
		for _, m := range r.memories {
			if m != 0 {
				call(r.api.memoryDestroy, m)
			}
		}
		if r.stream != 0 {
			call(r.api.streamDestroy, r.stream)
		}
	})
	close(r.calls)
	return nil
}
