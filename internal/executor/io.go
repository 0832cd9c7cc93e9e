package executor

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"unsafe"

	"lathe/internal/bundle"
	"lathe/internal/tool/spelling"
)

// SetInput copies data, dense and in row-major order, into an input.
func (m *Module) SetInput(i int, data []byte) error {
	if err := m.fits(i, data); err != nil {
		return err
	}
	own := m.mem.inputs[i]
	m.mem.bindings[i].release()
	m.mem.pointer(m.mem.inTable.off+8*i, own)
	copy(m.mem.bytes(own), data)
	m.set[i] = true
	return nil
}

// BindInput lets runs read an input from data, without copying, until the input is set or bound again or the module is closed.
// The module pins data and keeps it alive; the caller must not write it during a run. Its address is a multiple of the element size.
func (m *Module) BindInput(i int, data []byte) error {
	if err := m.fits(i, data); err != nil {
		return err
	}
	if len(data) > 0 {
		size, err := bundle.DTypeSize(m.info.Inputs[i].DType)
		if err != nil {
			return err
		}
		addr := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		if addr%uintptr(size) != 0 {
			return fmt.Errorf("the data is not aligned to its %d-byte elements", size)
		}
		m.mem.bindings[i].bind(data)
		m.mem.u64(m.mem.inTable.off+8*i, uint64(addr))
	}
	m.set[i] = true
	return nil
}

// fits is an error when an input has another number of bytes.
func (m *Module) fits(i int, data []byte) error {
	if size := m.mem.inputs[i].size; len(data) != size {
		return fmt.Errorf("it takes %s, the data has %d", spelling.Count(size, "byte"), len(data))
	}
	return nil
}

// binding keeps a caller's slice where it is.
type binding struct {
	data []byte
	pin  goruntime.Pinner
}

func (b *binding) bind(data []byte) {
	b.release()
	b.data = data
	b.pin.Pin(unsafe.SliceData(data))
}

func (b *binding) release() {
	b.pin.Unpin()
	b.data = nil
}

// Output returns shape and elements of an output of the last run. The elements are in the module's memory: the next run overwrites
// them and Close takes them away.
func (m *Module) Output(i int) (shape []int, data []byte, err error) {
	info := m.info.Outputs[i]
	if !m.ran {
		return nil, nil, errors.New("the model has not run yet")
	}
	shape = slices.Clone(info.Shape)
	for d, s := range info.Symbols {
		if s < 0 {
			continue
		}
		n := m.mem.symbol(s)
		if n < 0 || n > int64(shape[d]) {
			return nil, nil, fmt.Errorf("dimension %d is %d, outside 0..%d", d, n, shape[d])
		}
		shape[d] = int(n)
	}
	size, err := bundle.ByteSize(info.DType, shape)
	if err != nil {
		return nil, nil, err
	}
	return shape, m.mem.bytes(m.mem.outputs[i])[:size:size], nil
}
