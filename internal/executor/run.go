package executor

import (
	"fmt"
	goruntime "runtime"

	"lathe/internal/bundle"
)

// Run runs all steps.
func (m *Module) Run() error { return m.RunSteps(0, len(m.info.Steps)) }

// RunSteps runs the steps [first, last) of Info().Steps. Steps read what earlier ones left in the work space.
func (m *Module) RunSteps(first, last int) error {
	if first < 0 || last < first || last > len(m.info.Steps) {
		return fmt.Errorf("run: steps [%d,%d) of a model with %d", first, last, len(m.info.Steps))
	}
	if err := m.ready(); err != nil {
		return err
	}
	return m.call(first, last, nil)
}

// RunLaps runs all steps, each when the one before is done, and calls lap with -1 and then with each step when it is finished.
func (m *Module) RunLaps(lap func(step int)) error {
	if err := m.ready(); err != nil {
		return err
	}
	return m.call(0, len(m.info.Steps), lap)
}

// ready is an error while an input was never set.
func (m *Module) ready() error {
	for i, set := range m.set {
		if !set {
			return fmt.Errorf("run: input %q was never set", m.info.Inputs[i].Name)
		}
	}
	return nil
}

// call runs steps with all workers and returns the status that the generated code left. With a lap the steps are called one
// by one, and lap when each is finished, after one call with first-1.
func (m *Module) call(first, last int, lap func(step int)) error {
	m.mem.u32(ctx.Status, 0)
	defer m.lib.running()()
	if lap == nil {
		if err := m.steps(first, last); err != nil {
			return err
		}
	} else {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		lap(first - 1)
		for step := first; step < last; step++ {
			if err := m.steps(step, step+1); err != nil {
				return err
			}
			lap(step)
		}
	}
	m.ran = true
	if s := m.mem.status(); s != 0 {
		return fmt.Errorf("run: the model reports status %d: %s", s, bundle.StatusText(s))
	}
	return nil
}
