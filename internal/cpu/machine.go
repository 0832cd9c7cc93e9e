// Package cpu says what this machine has of the features that package isa lists: it is asked by the compiler for its native
// target, and by the Go runtime whether it can run a package. The C runtime has a copy of the tables that a test holds to them.
// What a machine has is a pure function of what CPUID (with XCR0) or the kernel's auxiliary vector say, so that tests ask for
// machines that are recorded.
package cpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/isa"
)

// A Machine is what a processor and its system say of themselves. What they do not say is zero.
type Machine struct {
	*isa.Table
	Name     string // for people
	Family   string // maker and family, such as "Intel 06"; empty where cores differ or nobody says
	Model    int    // in the family; a virtual machine may say any
	Caches   Caches
	Clock    int  // MHz to expect under load
	Datapath int  // bits of a vector that arithmetic takes at once
	Guest    bool // of a hypervisor, whose L3 other guests use too
	features isa.Set
}

// Caches are in KiB: L1 data and L2 of a core, and its share of L3, which is 0 where there is none.
type Caches struct{ L1, L2, L3 int }

// newMachine reads the table's rows from words. A feature without what it needs, which no processor has but a virtual
// machine may show, is none.
func newMachine(t *isa.Table, words []uint64, xcr0 uint64) *Machine {
	m := &Machine{Table: t, features: isa.Set{}}
	for _, f := range t.Rows {
		if f.Word < len(words) && words[f.Word]>>f.Bit&1 != 0 && f.State&xcr0 == f.State {
			m.features[f.Name] = true
		}
	}
	for _, f := range t.Rows {
		for n := range strings.FieldsSeq(f.Needs) {
			if m.features[f.Name] && !m.features[n] {
				t.Disable(m.features, f.Name)
			}
		}
	}
	return m
}

// Has reports whether the machine has a feature of the table.
func (m *Machine) Has(name string) bool { return m.features[name] }

// Set is a copy of what the machine has.
func (m *Machine) Set() isa.Set { return maps.Clone(m.features) }

// Features lists what the machine has, sorted.
func (m *Machine) Features() []string { return slices.Sorted(maps.Keys(m.features)) }

// Without is the machine without features, written "-avx512f,-amx-tile", and all that need them.
func (m *Machine) Without(features string) (*Machine, error) {
	less := *m
	less.features = maps.Clone(m.features)
	for word := range strings.FieldsFuncSeq(features, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, minus := strings.CutPrefix(word, "-")
		if !minus || m.Row(name) == nil {
			return nil, fmt.Errorf("%q is no feature of %s to take away (write it as in -avx2,-fma)", word, m.Arch)
		}
		m.Disable(less.features, name)
	}
	return &less, nil
}

// Missing lists the features of a package that the machine lacks, or that the table does not know: running its code could
// end in an illegal instruction.
func (m *Machine) Missing(needed []string) []string {
	var missing []string
	for _, name := range needed {
		if !m.Has(name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// Advice says how to compile for this machine.
func (m *Machine) Advice() string {
	if len(m.Levels) > 0 {
		return `with --target "llvm -mcpu=` + m.LevelOf(m.Has) + `"`
	}
	return fmt.Sprintf(`on this machine, or with --target "llvm -mtriple=%s -mcpu=%s"`, m.Triple, m.Generic)
}
