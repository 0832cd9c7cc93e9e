package interp

import (
	"encoding/binary"
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/loop"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A memory is the storage of a buffer.
type memory struct {
	buffer  *loop.Buffer
	strides []int
	data    []byte
	written []bool // nil: all of it is defined
	get     func(i int) uint64
	set     func(i int, v uint64)
}

// newMemory views data as b's elements: get widens one to its compute type, set narrows it.
func newMemory(b *loop.Buffer, data []byte, written []bool) *memory {
	m := &memory{buffer: b, strides: b.Strides(), data: data, written: written}
	le := binary.LittleEndian
	switch b.DType {
	case types.Bool:
		m.get = func(i int) uint64 {
			if data[i] != 0 {
				return 1
			}
			return 0
		}
	case types.I8:
		m.get = func(i int) uint64 { return uint64(int8(data[i])) }
	case types.U8:
		m.get = func(i int) uint64 { return uint64(data[i]) }
	case types.I4:
		m.get = func(i int) uint64 { return uint64(int8(data[i/2]<<(4-4*(i%2))) >> 4) }
	case types.U4:
		m.get = func(i int) uint64 { return uint64(data[i/2] >> (4 * (i % 2)) & 15) }
	case types.I16:
		m.get = func(i int) uint64 { return uint64(int16(le.Uint16(data[2*i:]))) }
	case types.U16:
		m.get = func(i int) uint64 { return uint64(le.Uint16(data[2*i:])) }
	case types.F16:
		m.get = func(i int) uint64 { return uint64(math.Float32bits(tensor.F16ToF32(le.Uint16(data[2*i:])))) }
	case types.BF16:
		m.get = func(i int) uint64 { return uint64(le.Uint16(data[2*i:])) << 16 }
	case types.I32:
		m.get = func(i int) uint64 { return uint64(int32(le.Uint32(data[4*i:]))) }
	case types.U32, types.F32:
		m.get = func(i int) uint64 { return uint64(le.Uint32(data[4*i:])) }
	default:
		m.get = func(i int) uint64 { return le.Uint64(data[8*i:]) }
	}
	switch b.DType {
	case types.F16:
		m.set = func(i int, v uint64) { le.PutUint16(data[2*i:], tensor.F32ToF16(math.Float32frombits(uint32(v)))) }
	case types.BF16:
		m.set = func(i int, v uint64) { le.PutUint16(data[2*i:], tensor.F32ToBF16(math.Float32frombits(uint32(v)))) }
	default:
		switch b.DType.Size() {
		case 1:
			m.set = func(i int, v uint64) { data[i] = byte(v) }
		case 2:
			m.set = func(i int, v uint64) { le.PutUint16(data[2*i:], uint16(v)) }
		case 4:
			m.set = func(i int, v uint64) { le.PutUint32(data[4*i:], uint32(v)) }
		default:
			m.set = func(i int, v uint64) { le.PutUint64(data[8*i:], v) }
		}
	}
	return m
}

// forget makes all elements undefined.
func (m *memory) forget() { clear(m.written) }

// element is the code of the place of an element: its index checked against the shape.
func (m *memory) element(index []eval.Code) func(slots []uint64) int {
	shape, strides := m.buffer.Shape, m.strides
	bad := func(slots []uint64) {
		at := make([]int64, len(index))
		for k, x := range index {
			at[k] = int64(x(slots))
		}
		failf("%s%v is outside of its shape %v", m.buffer.Name, at, shape)
	}
	switch len(index) {
	case 1:
		x, n, s := index[0], uint64(shape[0]), strides[0]
		return func(slots []uint64) int {
			i := x(slots)
			if i >= n {
				bad(slots)
			}
			return int(i) * s
		}
	case 2:
		x, n, s := index[0], uint64(shape[0]), strides[0]
		y, k, t := index[1], uint64(shape[1]), strides[1]
		return func(slots []uint64) int {
			i, j := x(slots), y(slots)
			if i >= n || j >= k {
				bad(slots)
			}
			return int(i)*s + int(j)*t
		}
	}
	return func(slots []uint64) int {
		at := 0
		for k, x := range index {
			i := x(slots)
			if i >= uint64(shape[k]) {
				bad(slots)
			}
			at += int(i) * strides[k]
		}
		return at
	}
}

// load is the code of a load, for the compiler of expressions.
func (m *machine) load(l *expr.Load, index []eval.Code) (eval.Code, error) {
	b, ok := l.From.(*loop.Buffer)
	if !ok {
		return nil, fmt.Errorf("load from %s, which is no buffer", l.From.Label())
	}
	mem := m.memory[b]
	if mem == nil {
		return nil, fmt.Errorf("buffer %s is not in scope", b.Name)
	}
	element, get := mem.element(index), mem.get
	if mem.written == nil {
		return func(s []uint64) uint64 { return get(element(s)) }, nil
	}
	return func(s []uint64) uint64 {
		i := element(s)
		if !mem.written[i] {
			at := make([]int64, len(index))
			for k, x := range index {
				at[k] = int64(x(s))
			}
			failf("%s%v is read before it is written", b.Name, at)
		}
		return get(i)
	}, nil
}

func (m *machine) store(s *loop.Store) (step, error) {
	mem := m.memory[s.To]
	if mem == nil {
		return nil, fmt.Errorf("buffer %s is not in scope", s.To.Name)
	}
	index := make([]eval.Code, len(s.Index))
	for i, x := range s.Index {
		var err error
		if index[i], err = m.compiler.Compile(x); err != nil {
			return nil, err
		}
	}
	value, err := m.compiler.Compile(s.Value)
	if err != nil {
		return nil, err
	}
	element, set, written := mem.element(index), mem.set, mem.written
	return func(slots []uint64) {
		v := value(slots)
		i := element(slots)
		set(i, v)
		if written != nil {
			written[i] = true
		}
	}, nil
}
