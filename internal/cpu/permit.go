package cpu

import (
	"fmt"
	"slices"
)

// Permit asks the system for the registers that features need and that it gives to no process unasked. What it gave once, all threads of
// this process have for as long as it runs.
func (m *Machine) Permit(needed []string) error {
	for _, f := range m.Rows {
		if f.State&m.OnRequest == 0 || !slices.Contains(needed, f.Name) {
			continue
		}
		if err := permit(f.State & m.OnRequest); err != nil {
			return fmt.Errorf("needs registers for %s, which the system does not give to this process: %w; recompile with -mattr=-%s in the target", f.Name, err, f.Name)
		}
	}
	return nil
}
