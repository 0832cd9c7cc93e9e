// Package crosstest runs compiled libraries of other architectures under qemu-user. It is for tests only.
package crosstest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"

	"lathe/internal/isa"
	"lathe/internal/target"
)

// Missing says what running code for an architecture needs and this machine lacks; nil where nothing is.
func Missing(a *isa.ISA) error {
	m := a.Emulator
	if m.Program == "" {
		return fmt.Errorf("no emulator for %s", a.Arch)
	}
	for _, tool := range []string{m.Compiler, m.Program} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing (apt-get install %s)", tool, m.Packages)
		}
	}
	if _, err := os.Stat(m.Sysroot); err != nil {
		return fmt.Errorf("%s is missing (apt-get install %s)", m.Sysroot, m.Packages)
	}
	return nil
}

// processor is the emulator's name of the plainest processor that has all of t's features.
func processor(t *target.Target) string {
	m := t.ISA().Emulator
	switch {
	case slices.Contains(m.CPUs, t.CPU):
		return t.CPU
	case m.CPU != nil:
		return m.CPU(t.Has, t.VectorBits)
	}
	return "max"
}
