package dnnl

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A desc is a dnnl_memory_desc_t.
type desc *[descBytes]byte

func pointer(d desc) uintptr { return uintptr(unsafe.Pointer(d)) }

// A value is a tensor of a program as it lies in memory.
type value struct {
	desc   desc
	memory uintptr // dnnl_memory_t
	buffer []byte  // nil: the caller's
	data   unsafe.Pointer
}

// An argument of an execution is dnnl_exec_arg_t.
type argument struct {
	index  int32
	_      int32
	memory uintptr
}

// An execution is a primitive with its arguments.
type execution struct {
	primitive uintptr
	args      []argument
	step      int
}

// A builder makes the executions of a program.
type builder struct {
	*region
	step   int
	values []*value // by tensor; nil: not made yet
	uses   []int    // of each tensor, still to come
	free   [][]byte
	copies []*value // of operands of the step
}

// build makes what runs p. Constants lie in their tensors' bytes, or are brought into the order that a primitive likes.
func (r *region) build() error {
	p := r.program
	b := &builder{region: r, values: make([]*value, len(p.Tensors)), uses: make([]int, len(p.Tensors))}
	for _, s := range p.Steps {
		for _, v := range s.Operands {
			b.uses[v]++
		}
	}
	for _, list := range [][]int{p.Inputs, p.Outputs} {
		for _, v := range list {
			b.uses[v]++
		}
	}
	for i, t := range p.Tensors {
		if !t.Const {
			continue
		}
		v, err := b.wrap(b.dense(t.Shape), unsafe.Pointer(&p.data[t.Offset]))
		if err != nil {
			return err
		}
		b.values[i] = v
	}
	for _, i := range p.Inputs {
		v, err := b.wrap(b.dense(p.Tensors[i].Shape), nil)
		if err != nil {
			return err
		}
		b.values[i] = v
		r.inputs = append(r.inputs, v)
	}
	for i, s := range p.Steps {
		b.step = i
		if err := b.add(s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, s.Kind, err)
		}
		for _, c := range b.copies {
			b.free = append(b.free, c.buffer)
		}
		b.copies = nil
		for _, v := range s.Operands {
			b.used(v)
		}
	}
	for _, i := range p.Outputs {
		out, err := b.wrap(b.dense(p.Tensors[i].Shape), nil)
		if err != nil {
			return err
		}
		r.outputs = append(r.outputs, out)
		if err := b.reorder(b.values[i], out, len(p.Steps)); err != nil {
			return err
		}
	}
	return nil
}

// used gives the memory of a tensor back for later ones once nothing reads it any more.
func (b *builder) used(v int) {
	if b.uses[v]--; b.uses[v] > 0 || b.values[v] == nil {
		return
	}
	if buffer := b.values[v].buffer; buffer != nil {
		b.free = append(b.free, buffer)
		b.values[v] = nil
	}
}

// dense describes a tensor in row-major order; one of rank 0 has an axis of extent 1.
func (b *builder) dense(shape []int64) desc {
	strides := make([]int64, max(1, len(shape)))
	next := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = next
		next *= shape[i]
	}
	if len(shape) == 0 {
		shape, strides[0] = []int64{1}, 1
	}
	return b.strided(shape, strides)
}

func (b *builder) strided(shape, strides []int64) desc {
	d := desc(new([descBytes]byte))
	var dims, by [maxRank]int64
	copy(dims[:], shape)
	copy(by[:], strides)
	b.note(call(b.api.descByStrides, pointer(d), uintptr(len(shape)), uintptr(unsafe.Pointer(&dims)), float32Type, uintptr(unsafe.Pointer(&by))))
	b.kept = append(b.kept, d)
	return d
}

// open describes a tensor whose order the primitive chooses.
func (b *builder) open(shape []int64) desc {
	d := desc(new([descBytes]byte))
	var dims [maxRank]int64
	copy(dims[:], shape)
	b.note(call(b.api.descByTag, pointer(d), uintptr(len(shape)), uintptr(unsafe.Pointer(&dims)), float32Type, anyFormat))
	b.kept = append(b.kept, d)
	return d
}

// note remembers the first status that is an error.
func (b *builder) note(status int32) {
	if b.failed == nil {
		b.failed = check(status)
	}
}

// wrap makes memory of a description; data may be set before each run.
func (b *builder) wrap(d desc, data unsafe.Pointer) (*value, error) {
	v := &value{desc: d, data: data}
	b.note(call(b.api.memoryCreate, uintptr(unsafe.Pointer(&v.memory)), pointer(d), b.api.engine, uintptr(data)))
	b.memories = append(b.memories, v.memory)
	return v, b.failed
}

// allocate makes memory of the region's own.
func (b *builder) allocate(d desc, forever bool) (*value, error) {
	bytes, _, _ := purego.SyscallN(b.api.descSize, pointer(d))
	size := int(bytes)
	if b.failed != nil || size <= 0 {
		return nil, fmt.Errorf("a tensor of %d bytes: %w", size, b.failed)
	}
	best := -1
	for i, f := range b.free {
		if !forever && len(f) >= size && len(f) <= 4*size && (best < 0 || len(f) < len(b.free[best])) {
			best = i
		}
	}
	var buffer []byte
	if best >= 0 {
		buffer = b.free[best]
		b.free = append(b.free[:best:best], b.free[best+1:]...)
	} else {
		raw := make([]byte, size+alignment)
		skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & (alignment - 1)
		buffer = raw[skip : skip+size : skip+size]
		b.kept = append(b.kept, raw)
	}
	v, err := b.wrap(d, unsafe.Pointer(&buffer[0]))
	if err == nil && !forever {
		v.buffer = buffer
	}
	return v, err
}

func (b *builder) equal(x, y desc) bool { return call(b.api.descEqual, pointer(x), pointer(y)) != 0 }

// reorder adds the execution that writes from's elements to to.
func (b *builder) reorder(from, to *value, step int) error {
	var pd uintptr
	if err := check(call(b.api.reorder, uintptr(unsafe.Pointer(&pd)), pointer(from.desc), b.api.engine, pointer(to.desc), b.api.engine, 0)); err != nil {
		return err
	}
	b.step = step
	return b.execute(pd, argument{index: argSource, memory: from.memory}, argument{index: argDestination, memory: to.memory})
}

// execute adds the execution of a primitive.
func (b *builder) execute(pd uintptr, args ...argument) error {
	b.descs = append(b.descs, pd)
	var primitive uintptr
	if err := check(call(b.api.primitive, uintptr(unsafe.Pointer(&primitive)), pd)); err != nil {
		return err
	}
	b.primitives = append(b.primitives, primitive)
	b.executions = append(b.executions, execution{primitive, args, b.step})
	return nil
}

// queried copies a description out of a primitive's.
func (b *builder) queried(pd uintptr, what, index uintptr) desc {
	d := desc(new([descBytes]byte))
	b.kept = append(b.kept, d)
	at, _, _ := purego.SyscallN(b.api.queryMD, pd, what, index)
	if at == 0 {
		b.failed = errors.New("oneDNN does not say how a tensor of a primitive lies")
		return d
	}
	*d = **(**[descBytes]byte)(unsafe.Pointer(&at)) // memory of the library, which the collector does not know
	return d
}

// as is tensor v in the order d. Constants are brought into it once, when the region is opened.
func (b *builder) as(v int, from *value, d desc) (*value, error) {
	if b.equal(from.desc, d) {
		return from, nil
	}
	constant := b.program.Tensors[v].Const
	to, err := b.allocate(d, constant)
	if err != nil {
		return nil, err
	}
	first := len(b.executions)
	if err := b.reorder(from, to, b.step); err != nil {
		return nil, err
	}
	if constant {
		once := b.executions[first:]
		b.executions = b.executions[:first]
		return to, b.runAll(once)
	}
	b.copies = append(b.copies, to)
	return to, nil
}
