package runtime

import "fmt"

// Run computes the outputs from the inputs. Every input must have been set once.
func (m *Module) Run() error { return m.RunSteps(0, len(m.info.Steps)) }

// RunSteps runs the steps [first, last) of Info().Steps only. Steps read what earlier ones left in the work space, so
// this is meaningful after a run, in order: for profiling and debugging.
func (m *Module) RunSteps(first, last int) error {
	if err := m.enter(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer m.leave()
	return m.code.RunSteps(first, last)
}
