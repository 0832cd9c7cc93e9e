package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"unsafe"

	"lathe/internal/bundle"
	"lathe/internal/tool/spelling"
)

// SetInput copies t into the named input. Element type and shape must be the model's.
func (m *Module) SetInput(name string, t Tensor) error {
	i, err := m.inputIndex(name)
	if err != nil {
		return err
	}
	return m.SetInputIndex(i, t)
}

// SetInputIndex is SetInput by position.
func (m *Module) SetInputIndex(i int, t Tensor) error {
	if err := m.checkInput(i); err != nil {
		return err
	}
	want := m.info.Inputs[i]
	if t.DType != want.DType || !slices.Equal(t.Shape, want.Shape) {
		return mismatch(want, t)
	}
	if err := m.enter(); err != nil {
		return fmt.Errorf("input %q: %w", want.Name, err)
	}
	defer m.leave()
	own := m.mem.inputs[i]
	if len(t.Data) != own.size {
		return fmt.Errorf("input %q: %s%s takes %s, the data has %d", want.Name, t.DType, shapeText(t.Shape), spelling.Count(own.size, "byte"), len(t.Data))
	}
	m.mem.bindings[i].release()
	m.mem.pointer(m.mem.inTable.off+8*i, own)
	copy(m.mem.bytes(own), t.Data)
	m.set[i] = true
	return nil
}

// BindInput lets runs read the named input from data, without copying, until the input is set or bound again or the
// module is closed. The module pins data and keeps it alive; the caller must not write it during a run. It holds the
// input's bytes, dense and in row-major order, at an address that is a multiple of the element size.
func (m *Module) BindInput(name string, data []byte) error {
	i, err := m.inputIndex(name)
	if err != nil {
		return err
	}
	want := m.info.Inputs[i]
	size, err := bundle.DTypeSize(want.DType)
	if err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	if err := m.enter(); err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	defer m.leave()
	own := m.mem.inputs[i]
	if len(data) != own.size {
		return fmt.Errorf("input %q: %s%s takes %s, the data has %d", name, want.DType, shapeText(want.Shape), spelling.Count(own.size, "byte"), len(data))
	}
	if len(data) > 0 {
		addr := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		if addr%uintptr(size) != 0 {
			return fmt.Errorf("input %q: the data is not aligned to its %d-byte elements", name, size)
		}
		m.mem.bindings[i].bind(data)
		m.mem.u64(m.mem.inTable.off+8*i, uint64(addr))
	}
	m.set[i] = true
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

// Output returns output i of the last run. Its Data is a view of the module's memory: the next run overwrites it and
// Close takes it away; Tensor.Clone makes a copy that lasts.
func (m *Module) Output(i int) (Tensor, error) {
	if i < 0 || i >= len(m.info.Outputs) {
		return Tensor{}, fmt.Errorf("output %d: the model has %s", i, spelling.Count(len(m.info.Outputs), "output"))
	}
	info := m.info.Outputs[i]
	if err := m.enter(); err != nil {
		return Tensor{}, fmt.Errorf("output %q: %w", info.Name, err)
	}
	defer m.leave()
	if !m.ran {
		return Tensor{}, fmt.Errorf("output %q: the model has not run yet", info.Name)
	}
	shape := slices.Clone(info.Shape)
	for d, s := range info.Symbols {
		if s < 0 {
			continue
		}
		n := m.mem.symbol(s)
		if n < 0 || n > int64(shape[d]) {
			return Tensor{}, fmt.Errorf("output %q: dimension %d is %d, outside 0..%d", info.Name, d, n, shape[d])
		}
		shape[d] = int(n)
	}
	size, err := bundle.ByteSize(info.DType, shape)
	if err != nil {
		return Tensor{}, fmt.Errorf("output %q: %w", info.Name, err)
	}
	return Tensor{DType: info.DType, Shape: shape, Data: m.mem.bytes(m.mem.outputs[i])[:size:size]}, nil
}

func (m *Module) inputIndex(name string) (int, error) {
	names := make([]string, len(m.info.Inputs))
	for i, t := range m.info.Inputs {
		if t.Name == name {
			return i, nil
		}
		names[i] = fmt.Sprintf("%q", t.Name)
	}
	return 0, fmt.Errorf("unknown input %q: the model expects %s", name, strings.Join(names, ", "))
}

func (m *Module) checkInput(i int) error {
	if i < 0 || i >= len(m.info.Inputs) {
		return fmt.Errorf("input %d: the model has %s", i, spelling.Count(len(m.info.Inputs), "input"))
	}
	return nil
}
