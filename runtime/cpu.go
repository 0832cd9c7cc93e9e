package runtime

import (
	"fmt"
	"slices"
	"strings"
)

// cpu is what checkCPU wants to know about a machine. Features have LLVM's names.
type cpu struct {
	model    string
	has      func(name string) (has, known bool)
	harmless func(name string) bool // features that code may be compiled with and never depends on
	advice   func() string          // how to compile for this machine
}

// checkCPU compares the features a library needs with the machine's. A feature that nobody knows counts as missing:
// running the code could end in an illegal instruction.
func checkCPU(needed []string, c cpu) error {
	var missing []string
	for _, name := range needed {
		name = strings.TrimPrefix(name, "+")
		has, known := c.has(name)
		if !has && (known || !c.harmless(name)) {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("needs the CPU features %s, which this CPU (%s) does not have; recompile %s",
		strings.Join(missing, " "), c.model, c.advice())
}

// matches reports whether name is in names or starts with one of prefixes.
func matches(name string, names, prefixes []string) bool {
	return slices.Contains(names, name) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
