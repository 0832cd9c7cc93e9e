package runtime

import (
	"fmt"
	"slices"
	"strings"
)

// cpu is what checkCPU wants to know about a machine. Features have LLVM's names.
type cpu struct {
	model    string
	features []feature
	has      func(f feature) bool
	harmless func(name string) bool // features that code may be compiled with and never depends on
	advice   func() string          // how to compile for this machine
}

// feature is a row of an architecture's table. The flag is the kernel's name or number of it.
type feature struct {
	llvm string
	flag string
	bit  uint
	auxv uintptr
	alt  *bool // golang.org/x/sys/cpu's answer, where /proc tells nothing
}

// checkCPU compares the features a library needs with the machine's. A feature that is in no table counts as missing:
// running the code could only end in an illegal instruction.
func checkCPU(needed []string, c cpu) error {
	var missing []string
	for _, name := range needed {
		name = strings.TrimPrefix(name, "+")
		i := slices.IndexFunc(c.features, func(f feature) bool { return f.llvm == name })
		if i < 0 && c.harmless(name) || i >= 0 && c.has(c.features[i]) {
			continue
		}
		missing = append(missing, name)
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
