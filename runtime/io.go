package runtime

import (
	"fmt"
	"slices"
	"strings"

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
	if err := m.code.SetInput(i, t.Data); err != nil {
		return fmt.Errorf("input %q: %w", want.Name, err)
	}
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
	if err := m.enter(); err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	defer m.leave()
	if err := m.code.BindInput(i, data); err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	return nil
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
	shape, data, err := m.code.Output(i)
	if err != nil {
		return Tensor{}, fmt.Errorf("output %q: %w", info.Name, err)
	}
	return Tensor{DType: info.DType, Shape: shape, Data: data}, nil
}

func (m *Module) inputIndex(name string) (int, error) {
	if i := bundle.Named(m.info.Inputs, name); i >= 0 {
		return i, nil
	}
	names := make([]string, len(m.info.Inputs))
	for i, t := range m.info.Inputs {
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
