package executor

import (
	"fmt"
	"strings"

	"lathe/internal/cpu"
)

// checkCPU compares the features a library needs with the machine's. A feature that nobody knows counts as missing: running
// the code could end in an illegal instruction.
func checkCPU(needed []string, m *cpu.Machine) error {
	missing := m.Missing(needed)
	if missing == nil {
		return nil
	}
	return fmt.Errorf("needs the CPU features %s, which this CPU (%s) does not have; recompile %s", strings.Join(missing, " "), m.Name, m.Advice())
}
